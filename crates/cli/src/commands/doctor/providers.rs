//! The providers of the config: whether they answer, and take the key.

use std::time::Duration;

use uwf_agent_kit::llm::{CallLimits, Client, Endpoint, LlmError, Secret, with_code};
use uwf_engine::Engine;
use uwf_protocol::config::{Config, Provider};
use uwf_protocol::endpoint;
use uwf_storage::load_dotenv;

use crate::text::Check;

const NAME: &str = "provider";

/// How long a provider may take.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) fn look(engine: &Engine, config: &Config) -> Vec<Check> {
    let dotenv = load_dotenv(&engine.root).unwrap_or_default();
    let variable = |name: &str| {
        let in_file = || dotenv.iter().find(|(known, _)| known == name);
        let value = engine.env.var(name).map(ToOwned::to_owned);
        value.or_else(|| in_file().map(|(_, value)| value.clone()))
    };
    let providers = config.providers.iter();
    let looked = providers.filter_map(|(name, provider)| {
        let endpoint = endpoint(name, provider, config, &variable)?;
        Some(one(engine, endpoint).of(name))
    });
    looked.collect()
}

/// Returns where to call; `None` for a provider whose address is missing or
/// refused, or whose variable is no name: that is reported with the config.
fn endpoint(
    name: &str,
    provider: &Provider,
    config: &Config,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<Endpoint> {
    let base_url = endpoint::base_url(provider.base_url.as_deref()?).ok()?;
    let names = provider.api_key_env.as_deref();
    if names.is_some_and(|name| !endpoint::is_variable(name)) {
        return None;
    }
    let of_env = || variable(provider.api_key_env.as_deref()?);
    let key = provider.api_key.clone().filter(|key| !key.is_empty());
    let models = &config.models;
    let mut aliases = models
        .iter()
        .filter(|(_, model)| model.provider.as_deref() == Some(name));
    Some(Endpoint {
        alias: aliases.next().map_or(name, |(alias, _)| alias).to_owned(),
        model: String::new(),
        base_url: base_url.to_owned(),
        key: key.or_else(of_env).map(Secret::new),
        format: None,
    })
}

fn one(engine: &Engine, endpoint: Endpoint) -> Check {
    let limits = CallLimits {
        connect: LIMIT,
        timeout: LIMIT,
        tries: 1,
        ..CallLimits::default()
    };
    let url = endpoint.base_url.clone();
    match Client::new(endpoint, limits, &engine.env).models() {
        Ok(models) => Check::ok(NAME, format!("{url} answers, {} models", models.len())),
        // Many servers have no list of models, and serve one all the same.
        Err(LlmError::NotFound { .. }) => {
            Check::ok(NAME, format!("{url} answers, without a list of models"))
        }
        Err(error) => Check::error(
            NAME,
            with_code(&error.to_string(), error.code()),
            error.hint(),
        ),
    }
}
