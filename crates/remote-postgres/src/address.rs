//! Where a remote is: the address of the server, the schema, and whether the connection must be encrypted.

use std::net::IpAddr;
use std::path::PathBuf;

use tokio_postgres::config::{Config, Host, SslMode};
use url::Url;

/// The longest name of a schema. PostgreSQL keeps 63 bytes of a name, and the names of the roles are longer by `_reader`.
const LONGEST_SCHEMA: usize = 56;

/// The port of a server whose address names none.
const USUAL_PORT: u16 = 5432;

/// Where a remote is. It holds no password.
#[derive(Debug, Clone)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) tls: Tls,
    shown: String,
}

/// How the connection to the server is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tls {
    /// It is not encrypted. The server is on this machine.
    Off,
    /// The server must have a certificate for its name.
    Verified {
        /// The file of the authorities, in PEM. Without one, the authorities of the system count.
        authorities: Option<PathBuf>,
    },
}

/// Why a text is not the address of a remote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no URL of a PostgreSQL server.
    #[error("`postgres://USER@HOST/DATABASE` is expected: {0}")]
    NotAUrl(String),
    /// It is the URL of something else.
    #[error(
        "no remote has an address with `{0}:`; `postgres://USER@HOST/DATABASE`, `s3://BUCKET/PREFIX` or `az://CONTAINER/PREFIX` is expected"
    )]
    OtherScheme(String),
    /// It has a password in it.
    #[error(
        "the address has a password in it, where others can read it; give it as UWF_REMOTE_PASSWORD, in `.env` or the environment"
    )]
    HasPassword,
    /// Its `sslmode` is not supported.
    #[error(
        "`sslmode={0}` is not supported; leave it out, or say `verify-full`, or `disable` for a server on this machine"
    )]
    SslMode(String),
    /// It asks for a connection to another machine that is not encrypted.
    #[error("`sslmode=disable` is only for a server on this machine, and {0} is another one")]
    NotEncrypted(String),
    /// The file of the authorities would be another one in each folder.
    #[error(
        "`sslrootcert={0}` is not an absolute path, and commands are called in other folders, too; without it, the authorities of the system count"
    )]
    RelativeFile(String),
    /// The name of the schema is not a plain word.
    #[error(
        "`{0}` is not the name of a schema: lower-case letters, digits and `_` are expected, at most 56, and neither a digit nor `pg_` first"
    )]
    Schema(String),
}

/// Fails if a text cannot be the name of the schema of a remote.
///
/// # Errors
/// [`AddressError::Schema`].
pub fn check_schema(schema: &str) -> Result<(), AddressError> {
    let is_word = |text: &str| {
        let mut bytes = text.bytes();
        let begins = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        bytes.next().is_some_and(begins) && bytes.all(|byte| begins(byte) || byte.is_ascii_digit())
    };
    // PostgreSQL keeps `pg_` for itself.
    match is_word(schema) && !schema.starts_with("pg_") && schema.len() <= LONGEST_SCHEMA {
        true => Ok(()),
        false => Err(AddressError::Schema(schema.to_owned())),
    }
}

impl Address {
    /// Reads a URL, such as `postgres://uwf@db.example.org/uwf`, and the name of the schema. The parameters `sslmode` and
    /// `sslrootcert` are read here. The others are those of the PostgreSQL client.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn new(url: &str, schema: &str) -> Result<Self, AddressError> {
        check_schema(schema)?;
        let mut url =
            Url::parse(url).map_err(|problem| AddressError::NotAUrl(problem.to_string()))?;
        if !["postgres", "postgresql"].contains(&url.scheme()) {
            return Err(AddressError::OtherScheme(url.scheme().to_owned()));
        }
        if url.password().is_some() || url.query_pairs().any(|(key, _)| key == "password") {
            return Err(AddressError::HasPassword);
        }
        let (mode, authorities) = take_tls(&mut url);
        if let Some(file) = authorities.as_ref().filter(|file| !file.is_absolute()) {
            return Err(AddressError::RelativeFile(file.display().to_string()));
        }
        let mut config: Config =
            url.as_str()
                .parse()
                .map_err(|problem: tokio_postgres::Error| {
                    AddressError::NotAUrl(with_cause(&problem))
                })?;
        if config.get_hosts().is_empty() {
            return Err(AddressError::NotAUrl("it names no host".into()));
        }
        let far = config.get_hosts().iter().find_map(name_of_far);
        let tls = match (mode.as_deref(), far) {
            (Some("disable"), Some(far)) => return Err(AddressError::NotEncrypted(far.to_owned())),
            (Some("disable"), None) => Tls::Off,
            (None, None) if authorities.is_none() => Tls::Off,
            (None | Some("verify-full"), _) => Tls::Verified { authorities },
            (Some(other), _) => return Err(AddressError::SslMode(other.to_owned())),
        };
        config.ssl_mode(match tls {
            Tls::Off => SslMode::Disable,
            Tls::Verified { .. } => SslMode::Require,
        });
        Ok(Self {
            config,
            schema: schema.to_owned(),
            tls,
            shown: shown(&url),
        })
    }

    /// Returns the files of the sockets of the server, in brackets; nothing if it has none.
    pub(crate) fn sockets(&self) -> String {
        let ports = self.config.get_ports();
        // One port may be that of all hosts.
        let port = |host: usize| ports.get(host).or(ports.first()).unwrap_or(&USUAL_PORT);
        let hosts = self.config.get_hosts().iter().enumerate();
        let files = hosts.filter_map(|(number, host)| match host {
            Host::Unix(folder) => Some(folder.join(format!(".s.PGSQL.{}", port(number)))),
            Host::Tcp(_) => None,
        });
        let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
        match files.is_empty() {
            true => String::new(),
            false => format!(" (socket {})", files.join(", ")),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (schema {})", self.shown, self.schema)
    }
}

/// Takes `sslmode` and `sslrootcert` out of an address.
fn take_tls(url: &mut Url) -> (Option<String>, Option<PathBuf>) {
    let (mut mode, mut authorities, mut others) = (None, None, Vec::new());
    for (key, value) in url.query_pairs() {
        match &*key {
            "sslmode" => mode = Some(value.into_owned()),
            "sslrootcert" => authorities = Some(PathBuf::from(&*value)),
            _ => others.push((key.into_owned(), value.into_owned())),
        }
    }
    url.set_query(None);
    if !others.is_empty() {
        url.query_pairs_mut().extend_pairs(others);
    }
    (mode, authorities)
}

/// Returns the name of a host that is not this machine.
fn name_of_far(host: &Host) -> Option<&str> {
    match host {
        Host::Unix(_) => None,
        Host::Tcp(name) if name == "localhost" => None,
        Host::Tcp(name) => {
            let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
            (!address.is_ok_and(|address| address.is_loopback())).then_some(name)
        }
    }
}

/// Returns an address for people: the user, the host and the database. These may be parameters, as for a socket.
fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    let place = url
        .query_pairs()
        .filter(|(key, _)| ["user", "host", "port", "dbname"].contains(&&**key))
        .map(|(key, value)| format!("{key}={value}"));
    let place: Vec<String> = place.collect();
    match place.is_empty() {
        true => shown.to_string(),
        false => format!("{shown}?{}", place.join("&")),
    }
}

/// Returns what an error says, with its cause.
pub(crate) fn with_cause(problem: &tokio_postgres::Error) -> String {
    match std::error::Error::source(problem) {
        Some(cause) => format!("{problem}: {cause}"),
        None => problem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_needs_an_encrypted_way() {
        let tls = |url: &str| Address::new(url, "uwf").map(|address| address.tls);
        let full = || Tls::Verified { authorities: None };
        assert_eq!(tls("postgres://u@db.example.org/d"), Ok(full()));
        assert_eq!(
            tls("postgres://u@db.example.org/d?sslmode=verify-full"),
            Ok(full())
        );
        assert_eq!(tls("postgres://u@127.0.0.1:5433/d"), Ok(Tls::Off));
        assert_eq!(tls("postgres://u@[::1]/d"), Ok(Tls::Off));
        assert_eq!(
            tls("postgres:///d?host=/run/postgresql&user=u"),
            Ok(Tls::Off)
        );
        assert_eq!(
            tls("postgres://u@localhost/d?sslmode=verify-full"),
            Ok(full())
        );
        assert_eq!(
            tls("postgres://u@localhost/d?sslrootcert=/ca.pem"),
            Ok(Tls::Verified {
                authorities: Some("/ca.pem".into())
            })
        );
        // One host that is far is enough.
        assert_eq!(
            tls("postgres://u@localhost,10.0.0.7/d?sslmode=disable"),
            Err(AddressError::NotEncrypted("10.0.0.7".into()))
        );
        assert_eq!(
            tls("postgres://u@h/d?sslmode=require"),
            Err(AddressError::SslMode("require".into()))
        );
        for file in ["ca.pem", ""] {
            let url = format!("postgres://u@h/d?sslrootcert={file}");
            assert_eq!(tls(&url), Err(AddressError::RelativeFile(file.into())));
        }
    }

    #[test]
    fn an_address_has_no_password_and_is_shown_without_its_options() {
        for url in ["postgres://u:p@h/d", "postgres://u@h/d?password=p"] {
            assert_eq!(
                Address::new(url, "uwf").err(),
                Some(AddressError::HasPassword)
            );
        }
        let shown = |url: &str| Address::new(url, "team_a").unwrap().to_string();
        assert_eq!(
            shown("postgres://u@h/d?application_name=x"),
            "postgres://u@h/d (schema team_a)"
        );
        // Without them, nobody could tell which server is meant.
        assert_eq!(
            shown("postgres:///d?host=/run/pg&connect_timeout=3&user=u"),
            "postgres:///d?host=/run/pg&user=u (schema team_a)"
        );
    }

    #[test]
    fn a_schema_is_a_plain_word() {
        for schema in [
            "",
            "a b",
            "A",
            "1a",
            "a;drop",
            "a\"b",
            "pg_a",
            &"a".repeat(57),
        ] {
            let error = Address::new("postgres://u@h/d", schema).err();
            assert_eq!(error, Some(AddressError::Schema(schema.into())));
        }
        let other = Address::new("mysql://u@h/d", "uwf").err();
        assert_eq!(other, Some(AddressError::OtherScheme("mysql".into())));
        for url in ["", "db", "postgres:///d"] {
            assert!(
                matches!(Address::new(url, "uwf"), Err(AddressError::NotAUrl(_))),
                "{url}"
            );
        }
    }
}
