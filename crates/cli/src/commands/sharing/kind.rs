//! Chooses the kind of a remote by its address. No other part of the command line knows the kinds. Each kind is a feature of this
//! program, and a build without it refuses its addresses.

use uwf_engine::{EngineError, SharingError, Site};
use uwf_protocol::config::RemoteConfig;
use uwf_remote::RemoteError;
use uwf_remote::care::Cared;
#[cfg(feature = "remote-object")]
use uwf_remote_object::{self as object, Object};
#[cfg(feature = "remote-postgres")]
use uwf_remote_postgres::{self as postgres, Postgres};

use super::answer;

/// What the addresses of an object storage begin with.
const OBJECT_STORAGES: [&str; 2] = ["s3:", "az:"];

/// Returns the value of a variable.
type Get<'a> = dyn Fn(&str) -> Option<String> + 'a;
/// Opens the remote at an address that was checked. Nothing is sent yet.
type Open = Box<dyn FnOnce(&Get<'_>) -> Result<Box<dyn Cared + Send>, RemoteError>>;

/// Returns the remote at the address in a config. Nothing is sent yet.
pub(super) fn connection(
    site: &Site,
    config: &RemoteConfig,
) -> Result<Box<dyn Cared + Send>, EngineError> {
    let open = checked(config)?;
    let variables = Variables::read(site)?;
    answer(open(&|name| variables.get(name)))
}

/// Checks the address in a config, and returns what opens the remote there.
fn checked(config: &RemoteConfig) -> Result<Open, SharingError> {
    let url = config.url.as_deref().ok_or(SharingError::NoRemote)?;
    let schema = config.schema.as_deref().unwrap_or(RemoteConfig::SCHEMA);
    match is_object_storage(url) {
        true => objects(url),
        false => database(url, schema),
    }
}

/// Tells whether an address is that of an object storage. Any other one is read as that of a database.
pub(super) fn is_object_storage(url: &str) -> bool {
    OBJECT_STORAGES.iter().any(|begin| url.starts_with(begin))
}

#[cfg(feature = "remote-object")]
fn objects(url: &str) -> Result<Open, SharingError> {
    let address = object::Address::new(url).map_err(bad)?;
    Ok(Box::new(move |get| {
        Ok(Box::new(Object::new(&address, get)?))
    }))
}

#[cfg(not(feature = "remote-object"))]
fn objects(_: &str) -> Result<Open, SharingError> {
    let such = "an object storage, such as `s3://BUCKET/PREFIX`";
    Err(without(such, "remote-object"))
}

#[cfg(feature = "remote-postgres")]
fn database(url: &str, schema: &str) -> Result<Open, SharingError> {
    let address = postgres::Address::new(url, schema).map_err(bad)?;
    Ok(Box::new(move |get| {
        let password = get(RemoteConfig::PASSWORD);
        Ok(Box::new(Postgres::new(address, password)?))
    }))
}

#[cfg(not(feature = "remote-postgres"))]
fn database(_: &str, _: &str) -> Result<Open, SharingError> {
    Err(without_databases())
}

/// Returns why an address or a schema cannot be used.
#[cfg(any(feature = "remote-postgres", feature = "remote-object"))]
fn bad(problem: impl std::fmt::Display) -> SharingError {
    SharingError::BadRemote(problem.to_string())
}

#[cfg(not(feature = "remote-postgres"))]
fn without_databases() -> SharingError {
    let such = "a PostgreSQL database, such as `postgres://USER@HOST/DATABASE`";
    without(such, "remote-postgres")
}

/// Returns why a remote of a kind that was left out of this program cannot be used.
#[cfg(not(all(feature = "remote-postgres", feature = "remote-object")))]
fn without(such: &str, feature: &str) -> SharingError {
    let why = format!(
        "this `uwf` was built without remotes in {such}; build it with the feature `{feature}`"
    );
    RemoteError::Unprepared(why).into()
}

/// Fails if a text cannot be the address of a remote, or has a password in it.
pub(crate) fn check_url(url: &str) -> Result<(), EngineError> {
    let config = RemoteConfig {
        url: Some(url.to_owned()),
        ..RemoteConfig::default()
    };
    Ok(checked(&config).map(drop)?)
}

/// Fails if a text cannot be the name of the schema of a remote.
#[cfg(feature = "remote-postgres")]
pub(crate) fn check_schema(schema: &str) -> Result<(), EngineError> {
    Ok(postgres::check_schema(schema).map_err(bad)?)
}

/// Fails: only a database has schemas.
#[cfg(not(feature = "remote-postgres"))]
pub(crate) fn check_schema(_: &str) -> Result<(), EngineError> {
    Err(without_databases().into())
}

/// The variables of the environment, and those of `.env`.
struct Variables<'a> {
    site: &'a Site,
    of_file: Vec<(String, String)>,
}

impl<'a> Variables<'a> {
    fn read(site: &'a Site) -> Result<Self, EngineError> {
        let of_file = uwf_config::load_dotenv(&site.root)?;
        Ok(Self {
            site,
            of_file: of_file.into_iter().collect(),
        })
    }

    /// Returns the value of a variable. The environment comes first.
    fn get(&self, name: &str) -> Option<String> {
        let of_file = || {
            let mut variables = self.of_file.iter();
            let found = variables.find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        let of_environment = self.site.env.var(name).map(str::to_owned);
        of_environment.or_else(of_file)
    }
}

#[cfg(all(test, not(all(feature = "remote-postgres", feature = "remote-object"))))]
mod tests {
    use uwf_protocol::exit::Exit;

    use super::*;
    use crate::failure::Failure;

    /// Asserts that a remote is refused with the feature that this program lacks.
    fn assert_lacks(feature: &str, refused: Result<(), EngineError>) {
        let failure = Failure::from(refused.expect_err("this program lacks it"));
        assert_eq!(failure.exit, Exit::Request);
        let said = failure.what;
        assert!(said.contains("this `uwf` was built without"), "{said}");
        let named = format!("build it with the feature `{feature}`");
        assert!(said.ends_with(&named), "{said}");
    }

    #[cfg(not(feature = "remote-object"))]
    #[test]
    fn an_object_storage_is_refused_with_the_feature_that_this_program_lacks() {
        for url in ["s3://bucket/team?region=eu-central-1", "az://box?account=a"] {
            assert_lacks("remote-object", check_url(url));
        }
    }

    #[cfg(not(feature = "remote-postgres"))]
    #[test]
    fn a_database_is_refused_with_the_feature_that_this_program_lacks() {
        assert_lacks("remote-postgres", check_url("postgres://uwf@localhost/uwf"));
        assert_lacks("remote-postgres", check_schema("team"));
    }
}
