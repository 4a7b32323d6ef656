//! Checks the providers of the config: whether they answer, accept the key, and serve the models of the config.

use std::time::Duration;

use uwf_agent_kit::llm::{CallLimits, Client, Endpoint, LlmError, ModelError, reach, with_code};
use uwf_config::load_dotenv;
use uwf_engine::Site;
use uwf_protocol::config::Config;
use uwf_storage::Env;
use uwf_util::suggest;

use crate::text::Check;

const NAME: &str = "provider";

/// The time limit for a provider.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) fn look(site: &Site, config: &Config) -> Vec<Check> {
    let dotenv = load_dotenv(&site.root).unwrap_or_default();
    let env = site.env.clone().with_defaults(dotenv);
    let names = config.providers.keys();
    let checks = names.flat_map(|name| {
        let found = one(name, config, &env).into_iter();
        found.map(move |check| check.of(name))
    });
    checks.collect()
}

/// Checks one provider. A provider with an unusable entry is reported with the config.
fn one(name: &str, config: &Config, env: &Env) -> Vec<Check> {
    let Some(provider) = config.providers.get(name) else {
        return Vec::new();
    };
    match reach(name, provider, env) {
        Ok((base_url, key)) => {
            let endpoint = Endpoint {
                alias: None,
                provider: name.to_owned(),
                model: String::new(),
                api: provider.api.unwrap_or_default(),
                base_url,
                key,
                format: None,
            };
            call(name, endpoint, config, env)
        }
        Err(error @ ModelError::NoKey { .. }) => vec![Check::error(
            NAME,
            with_code(&error.to_string(), error.code()),
            error.hint(),
        )],
        Err(_) => Vec::new(),
    }
}

fn call(name: &str, endpoint: Endpoint, config: &Config, env: &Env) -> Vec<Check> {
    let limits = CallLimits {
        connect: LIMIT,
        timeout: LIMIT,
        tries: 1,
        ..CallLimits::default()
    };
    let url = endpoint.base_url.clone();
    match Client::new(endpoint, limits, env).models() {
        Ok(listed) => {
            let answers = format!("{url} answers, {} models", listed.len());
            let mut checks = vec![Check::ok(NAME, answers)];
            checks.extend(unlisted(name, config, &listed));
            checks
        }
        // Many servers have no list of models.
        Err(LlmError::NotFound { .. }) => {
            let answers = format!("{url} answers, without a list of models");
            vec![Check::ok(NAME, answers)]
        }
        Err(error) => vec![Check::error(
            NAME,
            with_code(&error.to_string(), error.code()),
            error.hint(),
        )],
    }
}

/// Warns of the models of the config that are not in the provider's list.
fn unlisted(provider: &str, config: &Config, listed: &[String]) -> Vec<Check> {
    let models = config.models.iter();
    let of_provider = models.filter(|(_, model)| model.provider.as_deref() == Some(provider));
    let named = of_provider.filter_map(|(alias, model)| Some((alias, model.name.as_deref()?)));
    let unlisted = named.filter(|(_, name)| !listed.iter().any(|one| is_called(one, name)));
    unlisted
        .map(|(alias, name)| {
            let meant = suggest::question(name, listed.iter().map(String::as_str));
            Check::warning(
                NAME,
                format!("its list has no `{name}`, the model `{alias}`{meant}"),
                format!("`uwf config set models.{alias}.name <name>`; some servers serve more than they list"),
            )
        })
        .collect()
}

/// Tells whether a model in a provider's list is the model of this name. Lists may put a folder before the name or a
/// version after it, which calls leave out.
pub(crate) fn is_called(listed: &str, name: &str) -> bool {
    let last = listed.rsplit('/').next().unwrap_or(listed);
    let bare = listed.strip_suffix(":latest");
    listed == name || last == name || bare == Some(name)
}
