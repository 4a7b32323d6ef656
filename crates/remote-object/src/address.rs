//! Where a remote is: the service, the bucket or container, and the prefix of the names of its objects.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::{ClientOptions, RetryConfig};
use url::Url;
use uwf_protocol::config::RemoteConfig;
use uwf_protocol::endpoint::is_loopback;
use uwf_remote::RemoteError;

use crate::Object;
use crate::clock::Dates;
use crate::http::Http;

const AWS_REGION: &str = "AWS_REGION";
/// The region that servers without regions expect.
const ANY_REGION: &str = "us-east-1";

/// Where a remote is. It holds no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    service: Service,
    /// The bucket or container.
    bucket: String,
    prefix: String,
    /// The URL of the server, if it is not that of the service itself.
    endpoint: Option<String>,
    shown: String,
}

/// Which service keeps the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Service {
    S3 { region: Option<String> },
    Azure { account: String },
}

impl Service {
    /// Returns the names of the variables that have its key.
    fn key(&self) -> &'static str {
        match self {
            Self::S3 { .. } => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            Self::Azure { .. } => RemoteConfig::AZURE_KEY,
        }
    }
}

/// Why a text is not the address of a remote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It has another form.
    #[error(
        "`s3://BUCKET/PREFIX?region=REGION` or `az://CONTAINER/PREFIX?account=ACCOUNT` is expected: {0}"
    )]
    Form(String),
    /// It has a user or a password in it.
    #[error(
        "the address has a user or a password in it, where others can read it; give the keys in `.env` or the environment"
    )]
    HasKey,
    /// A parameter that is not known.
    #[error(
        "`{0}` is no parameter of such an address; `region`, `endpoint` and `account` are, and keys belong in `.env`"
    )]
    Parameter(String),
    /// It asks for a connection to another machine that is not encrypted.
    #[error(
        "only a server on this machine may be reached without encryption: `endpoint` must begin with `https://`"
    )]
    NotEncrypted,
}

impl Address {
    /// Reads a URL, such as `s3://bucket/prefix?region=eu-central-1`.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn new(text: &str) -> Result<Self, AddressError> {
        let form = |problem: &str| AddressError::Form(problem.to_owned());
        let url = Url::parse(text).map_err(|problem| form(&problem.to_string()))?;
        if has_user(&url) {
            return Err(AddressError::HasKey);
        }
        let bucket = url.host_str().unwrap_or_default().to_owned();
        if url.port().is_some() || !is_plain(&bucket) {
            return Err(form(
                "a bucket or container is named by letters, digits, `-`, `_` and `.`",
            ));
        }
        // As it is written: the parser takes `a/../b` for `b`, which is the prefix of another team.
        let named = text.split(['?', '#']).next().unwrap_or_default();
        let prefix = named.splitn(4, '/').nth(3).unwrap_or_default();
        let prefix = prefix.trim_matches('/').to_owned();
        if !prefix.is_empty() && !prefix.split('/').all(is_plain) {
            return Err(form(
                "a prefix has words of letters, digits, `-`, `_` and `.` between slashes",
            ));
        }
        let (mut region, mut endpoint, mut account) = (None, None, None);
        for (key, value) in url.query_pairs() {
            let value = Some(value.into_owned());
            match (&*key, url.scheme()) {
                ("region", "s3") => region = value,
                ("account", "az") => account = value,
                ("endpoint", _) => endpoint = value,
                _ => return Err(AddressError::Parameter(key.into_owned())),
            }
        }
        if let Some(endpoint) = &endpoint {
            check_endpoint(endpoint)?;
        }
        let service = match (url.scheme(), account) {
            ("s3", _) => Service::S3 { region },
            ("az", Some(account)) if is_plain(&account) => Service::Azure { account },
            ("az", _) => return Err(form("`account` names the storage account")),
            _ => return Err(form("it begins with another word")),
        };
        Ok(Self {
            service,
            bucket,
            prefix,
            endpoint,
            shown: text.to_owned(),
        })
    }

    fn is_encrypted(&self) -> bool {
        let endpoint = self.endpoint.as_deref();
        endpoint.is_none_or(|endpoint| endpoint.starts_with("https:"))
    }

    fn store(
        &self,
        http: Http,
        keys: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Arc<dyn ObjectStore>, RemoteError> {
        // This crate sends a failed request again, because it knows which of them may be done twice.
        let retry = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        let options = ClientOptions::new().with_allow_http(!self.is_encrypted());
        // The error of a builder may repeat its values, and one of them is a key.
        let unfit = |_| {
            RemoteError::Unprepared(format!(
                "the key or the address is not one that this service has; check {}, in `.env` of the root or in the environment",
                self.service.key()
            ))
        };
        match &self.service {
            Service::S3 { region } => {
                let builder = self.s3(region.as_deref(), keys)?;
                let builder = builder.with_client_options(options).with_retry(retry);
                let store = builder.with_http_connector(http).build();
                Ok(Arc::new(store.map_err(unfit)?))
            }
            Service::Azure { account } => {
                let builder = self.azure(account, keys)?;
                let builder = builder.with_client_options(options).with_retry(retry);
                let store = builder.with_http_connector(http).build();
                Ok(Arc::new(store.map_err(unfit)?))
            }
        }
    }

    fn s3(
        &self,
        region: Option<&str>,
        keys: &dyn Fn(&str) -> Option<String>,
    ) -> Result<AmazonS3Builder, RemoteError> {
        let region = region.map(str::to_owned).or_else(|| keys(AWS_REGION));
        let region = match (region, &self.endpoint) {
            (Some(region), _) => region,
            (None, Some(_)) => ANY_REGION.to_owned(),
            (None, None) => {
                return Err(RemoteError::Unprepared(
                    "the region of the bucket is not known; add `?region=REGION` to the address"
                        .into(),
                ));
            }
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&self.bucket)
            .with_region(region)
            .with_access_key_id(needed(keys, RemoteConfig::S3_ID)?)
            .with_secret_access_key(needed(keys, RemoteConfig::S3_SECRET)?);
        if let Some(token) = keys(RemoteConfig::S3_TOKEN) {
            builder = builder.with_token(token);
        }
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        Ok(builder)
    }

    fn azure(
        &self,
        account: &str,
        keys: &dyn Fn(&str) -> Option<String>,
    ) -> Result<MicrosoftAzureBuilder, RemoteError> {
        let builder = MicrosoftAzureBuilder::new()
            .with_container_name(&self.bucket)
            .with_account(account)
            .with_access_key(needed(keys, RemoteConfig::AZURE_KEY)?);
        Ok(match &self.endpoint {
            Some(endpoint) => builder.with_endpoint(endpoint.clone()),
            None => builder,
        })
    }
}

/// Returns the value of a variable, or the error that it is missing.
fn needed(keys: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<String, RemoteError> {
    keys(name).ok_or_else(|| {
        RemoteError::Unprepared(format!(
            "there is no key for it; set {name} in `.env` of the root or in the environment"
        ))
    })
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Object {
    /// Prepares a remote in a service. `keys` returns the value of a variable, such as `AWS_ACCESS_KEY_ID`. Nothing is sent before
    /// the first call.
    ///
    /// # Errors
    /// [`RemoteError::Unprepared`] if a key or the region is missing, or if the system has no room for connections.
    pub fn new(
        address: &Address,
        keys: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, RemoteError> {
        let dates = Arc::new(Dates::default());
        let http = Http::new(address.is_encrypted(), dates.clone())?;
        Self::over(address.store(http, keys)?, &address.prefix, dates)
    }
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Tells whether a word needs no escapes in a path.
fn is_plain(word: &str) -> bool {
    let mut bytes = word.bytes();
    !word.is_empty()
        && !word.starts_with('.')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn check_endpoint(endpoint: &str) -> Result<(), AddressError> {
    let url = Url::parse(endpoint);
    let url = url.map_err(|_| AddressError::Form("`endpoint` is no URL".into()))?;
    match url.scheme() {
        _ if has_user(&url) => Err(AddressError::HasKey),
        _ if url.query().is_some() => Err(AddressError::Form("`endpoint` has parameters".into())),
        "https" => Ok(()),
        "http" if is_loopback(endpoint) => Ok(()),
        _ => Err(AddressError::NotEncrypted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_their_parameters() {
        let s3 = Address::new("s3://team-a/uwf/prod/?region=eu-central-1").expect("it is one");
        assert_eq!(
            (s3.bucket.as_str(), s3.prefix.as_str()),
            ("team-a", "uwf/prod")
        );
        assert!(s3.is_encrypted());
        let near =
            "az://box?account=devstoreaccount1&endpoint=http://127.0.0.1:10000/devstoreaccount1";
        let near = Address::new(near).expect("it is one");
        assert_eq!(near.prefix, "");
        assert!(!near.is_encrypted());
    }

    #[test]
    fn what_is_refused_names_no_key() {
        let check = |text: &str, is_expected: fn(&AddressError) -> bool| {
            let error = Address::new(text).expect_err(text);
            assert!(is_expected(&error), "{text}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        };
        check("s3://id:secret@bucket/x", |error| {
            *error == AddressError::HasKey
        });
        check("s3://bucket/x?endpoint=https://id:secret@host", |error| {
            *error == AddressError::HasKey
        });
        check("s3://bucket/x?key=secret", |error| {
            matches!(error, AddressError::Parameter(_))
        });
        check("s3://bucket/x?account=a", |error| {
            matches!(error, AddressError::Parameter(_))
        });
        check("s3://bucket/x?endpoint=http://example.org", |error| {
            *error == AddressError::NotEncrypted
        });
        check("s3://bucket/a/../b%20c", |error| {
            matches!(error, AddressError::Form(_))
        });
        for way in [
            "s3://bucket/a/../b",
            "s3://bucket/./b",
            "s3://bucket/a/%2e%2E/b",
        ] {
            check(way, |error| matches!(error, AddressError::Form(_)));
        }
        check("s3:///x", |error| matches!(error, AddressError::Form(_)));
        check("az://container", |error| {
            matches!(error, AddressError::Form(_))
        });
        check("file:///tmp/x", |error| {
            matches!(error, AddressError::Form(_))
        });
    }

    #[test]
    fn a_missing_key_is_named() {
        let check = |text: &str, name: &str| {
            let address = Address::new(text).expect("it is one");
            let error = Object::new(&address, &|_| None).expect_err("there is no key");
            assert!(
                matches!(&error, RemoteError::Unprepared(said) if said.contains(name)),
                "{error}"
            );
        };
        check("s3://bucket?region=eu-central-1", RemoteConfig::S3_ID);
        check("s3://bucket", "region");
        check("az://container?account=a", RemoteConfig::AZURE_KEY);
    }

    #[test]
    fn a_key_that_makes_no_sense_is_not_repeated() {
        let address = Address::new("az://container?account=a").expect("it is one");
        let error = Object::new(&address, &|_| Some("my secret".into()));
        let error = error.expect_err("it is not base64");
        assert!(
            matches!(&error, RemoteError::Unprepared(said) if said.contains(RemoteConfig::AZURE_KEY) && !said.contains("secret")),
            "{error}"
        );
    }
}
