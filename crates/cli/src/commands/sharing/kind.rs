//! Chooses the kind of a remote by its address. No other part of the command line knows the kinds.

use uwf_engine::{EngineError, SharingError, Site};
use uwf_protocol::config::RemoteConfig;
use uwf_remote::care::Cared;
use uwf_remote_object::{self as object, Object};
use uwf_remote_postgres::{self as postgres, Postgres};

use super::answer;

/// Where a remote is.
enum At {
    Database(Box<postgres::Address>),
    Objects(object::Address),
}

/// Returns the remote at the address in a config. Nothing is sent yet.
pub(super) fn connection(
    site: &Site,
    config: &RemoteConfig,
) -> Result<Box<dyn Cared + Send>, EngineError> {
    let address = address(config)?;
    let variables = Variables::read(site)?;
    Ok(match address {
        At::Objects(address) => {
            let remote = Object::new(&address, &|name| variables.get(name));
            Box::new(answer(remote)?)
        }
        At::Database(address) => {
            let remote = Postgres::new(*address, variables.get(RemoteConfig::PASSWORD));
            Box::new(answer(remote)?)
        }
    })
}

/// Reads the address in a config. Nothing is sent.
fn address(config: &RemoteConfig) -> Result<At, EngineError> {
    let url = config.url.as_deref().ok_or(SharingError::NoRemote)?;
    let bad = |problem: String| SharingError::BadRemote(problem);
    if is_object_storage(url) {
        let address = object::Address::new(url).map_err(|problem| bad(problem.to_string()))?;
        return Ok(At::Objects(address));
    }
    let schema = config.schema.as_deref().unwrap_or(RemoteConfig::SCHEMA);
    let address = postgres::Address::new(url, schema);
    let address = address.map_err(|problem| bad(problem.to_string()))?;
    Ok(At::Database(Box::new(address)))
}

/// Tells whether an address is that of an object storage. Any other one is read as that of a database.
pub(super) fn is_object_storage(url: &str) -> bool {
    object::Address::is_one(url)
}

/// Fails if a text cannot be the address of a remote, or has a password in it.
pub(crate) fn check_url(url: &str) -> Result<(), EngineError> {
    let config = RemoteConfig {
        url: Some(url.to_owned()),
        ..RemoteConfig::default()
    };
    address(&config).map(drop)
}

/// Fails if a text cannot be the name of the schema of a remote.
pub(crate) fn check_schema(schema: &str) -> Result<(), EngineError> {
    let checked = postgres::check_schema(schema);
    checked.map_err(|problem| SharingError::BadRemote(problem.to_string()).into())
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
