//! Finds the endpoint for a purpose or an alias.

use uwf_protocol::config::{Config, Model, Provider};
use uwf_protocol::endpoint;
use uwf_storage::Env;
use uwf_util::suggest;

use super::{Endpoint, Secret};

/// What a model is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// Extraction: `modelOverrides.extract`, else the alias `extract`, else `defaultModel`.
    Extract,
    /// As an agent: `modelOverrides.agent`, else `defaultModel`.
    Agent,
    /// The alias that the user gave.
    Alias(&'a str),
}

/// Why there is no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The config names no model for the purpose.
    #[error("no model is configured")]
    None {
        /// The aliases that there are.
        known: Vec<String>,
    },
    /// An alias that is not in `models`.
    #[error("the model `{alias}` is not in the config{}", meant(near.as_deref()))]
    UnknownModel {
        /// The alias.
        alias: String,
        /// The alias that may have been meant.
        near: Option<String>,
        /// The aliases that there are.
        known: Vec<String>,
    },
    /// A model whose provider is not in `providers`.
    #[error("the provider `{provider}` of the model `{alias}` is not in the config{}", meant(near.as_deref()))]
    UnknownProvider {
        /// The alias of the model.
        alias: String,
        /// The provider.
        provider: String,
        /// The provider that may have been meant.
        near: Option<String>,
    },
    /// The config lacks a key that the call needs.
    #[error("`{key}` is missing in the config")]
    Incomplete {
        /// The dotted key.
        key: String,
    },
    /// A base URL that is not a URL.
    #[error("`providers.{provider}.baseUrl` cannot be called: {problem}")]
    BadUrl {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The value that must name the variable with the key is not a name. It may be the key itself, so it is not shown.
    #[error(
        "`providers.{provider}.apiKeyEnv` names no variable: {}",
        endpoint::NO_VARIABLE
    )]
    BadVariable {
        /// The provider.
        provider: String,
    },
    /// The provider has no key.
    #[error("the provider `{provider}` has no key{}", unset(variable.as_deref()))]
    NoKey {
        /// The provider.
        provider: String,
        /// The variable that should hold it.
        variable: Option<String>,
    },
}

impl ModelError {
    /// Returns a stable word for the kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::None { .. } => "no_model",
            Self::UnknownModel { .. } => "unknown_model",
            Self::UnknownProvider { .. } => "unknown_provider",
            Self::Incomplete { .. } => "incomplete_config",
            Self::BadUrl { .. } => "bad_url",
            Self::BadVariable { .. } => "bad_variable",
            Self::NoKey { .. } => "no_key",
        }
    }

    /// Returns what the user can type next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::None { known } if !known.is_empty() => format!(
                "`uwf config set defaultModel <alias>` chooses one of {}",
                known.join(", ")
            ),
            Self::UnknownModel { known, .. } if !known.is_empty() => {
                format!("the models are {}", known.join(", "))
            }
            Self::None { .. } | Self::UnknownModel { .. } => "`uwf setup` makes one".to_owned(),
            Self::UnknownProvider { provider, .. } => {
                format!("`uwf config set providers.{provider}.baseUrl <url>` makes it")
            }
            Self::Incomplete { key } => format!("`uwf config set {key} <value>`"),
            Self::BadUrl { provider, .. } => format!(
                "`uwf config set providers.{provider}.baseUrl https://…`, usually with `/v1` at its end"
            ),
            Self::BadVariable { provider } => format!(
                "`uwf config set providers.{provider}.apiKeyEnv <NAME>`, with the key in that variable; a key itself belongs in `providers.{provider}.apiKey`"
            ),
            Self::NoKey {
                variable: Some(variable),
                ..
            } => format!("set `{variable}` in the environment, or in `.env` in the storage root"),
            Self::NoKey {
                provider,
                variable: None,
            } => format!(
                "name the variable that holds it with `uwf config set providers.{provider}.apiKeyEnv <NAME>` and set it in the environment or in `.env` in the storage root; or set `providers.{provider}.apiKey`"
            ),
        }
    }
}

/// Returns the endpoint for a purpose.
///
/// # Errors
/// When none is configured, or what is configured is not complete.
pub fn resolve(config: &Config, env: &Env, purpose: Purpose<'_>) -> Result<Endpoint, ModelError> {
    let alias = alias(config, purpose).ok_or_else(|| ModelError::None {
        known: config.models.keys().cloned().collect(),
    })?;
    let model = model(config, alias)?;
    let name = model.name.clone().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ModelError::Incomplete {
        key: format!("models.{alias}.name"),
    })?;
    let (provider_name, provider) = provider(config, alias, model)?;
    let (base_url, key) = reach(provider_name, provider, env)?;
    Ok(Endpoint {
        alias: Some(alias.to_owned()),
        provider: provider_name.to_owned(),
        model: name,
        api: provider.api.unwrap_or_default(),
        base_url,
        key,
        format: model.response_format,
    })
}

/// Returns the address of a provider, without slashes at its end, and its key, if it wants one.
///
/// # Errors
/// When its entry in the config is not complete, or the key is not where it says.
pub fn reach(
    name: &str,
    provider: &Provider,
    env: &Env,
) -> Result<(String, Option<Secret>), ModelError> {
    let base_url = base_url(name, provider)?;
    let key = key(name, provider, &base_url, env)?;
    Ok((base_url, key))
}

fn alias<'a>(config: &'a Config, purpose: Purpose<'a>) -> Option<&'a str> {
    let overriding = |purpose: &str| config.model_overrides.get(purpose).map(String::as_str);
    let literal = || config.models.get_key_value(Config::EXTRACT);
    let default = config.default_model.as_deref();
    match purpose {
        Purpose::Extract => overriding(Config::EXTRACT)
            .or_else(|| literal().map(|(name, _)| name.as_str()))
            .or(default),
        Purpose::Agent => overriding(Config::AGENT).or(default),
        Purpose::Alias(alias) => Some(alias),
    }
}

fn model<'a>(config: &'a Config, alias: &str) -> Result<&'a Model, ModelError> {
    let known = || config.models.keys().map(String::as_str);
    config
        .models
        .get(alias)
        .ok_or_else(|| ModelError::UnknownModel {
            alias: alias.to_owned(),
            near: suggest::nearest(alias, known()).map(ToOwned::to_owned),
            known: known().map(ToOwned::to_owned).collect(),
        })
}

fn provider<'a>(
    config: &'a Config,
    alias: &str,
    model: &'a Model,
) -> Result<(&'a str, &'a Provider), ModelError> {
    let name = model
        .provider
        .as_deref()
        .ok_or_else(|| ModelError::Incomplete {
            key: format!("models.{alias}.provider"),
        })?;
    let known = || config.providers.keys().map(String::as_str);
    let provider = config.providers.get(name);
    let provider = provider.ok_or_else(|| ModelError::UnknownProvider {
        alias: alias.to_owned(),
        provider: name.to_owned(),
        near: suggest::nearest(name, known()).map(ToOwned::to_owned),
    })?;
    Ok((name, provider))
}

fn base_url(name: &str, provider: &Provider) -> Result<String, ModelError> {
    let url = provider.base_url.as_deref().map(str::trim);
    let url = url
        .filter(|url| !url.is_empty())
        .ok_or_else(|| ModelError::Incomplete {
            key: format!("providers.{name}.baseUrl"),
        })?;
    let url = endpoint::base_url(url).map_err(|problem| ModelError::BadUrl {
        provider: name.to_owned(),
        problem,
    })?;
    Ok(url.to_owned())
}

/// Returns the key: the one in the config, else the value of the variable that the config names. Only an endpoint on
/// this machine may have none.
fn key(
    name: &str,
    provider: &Provider,
    base_url: &str,
    env: &Env,
) -> Result<Option<Secret>, ModelError> {
    if let Some(key) = provider.api_key.as_deref().filter(|key| !key.is_empty()) {
        return Ok(Some(Secret::new(key)));
    }
    let variable = provider.api_key_env.as_deref();
    if variable.is_some_and(|variable| !endpoint::is_variable(variable)) {
        return Err(ModelError::BadVariable {
            provider: name.to_owned(),
        });
    }
    match variable.map(|variable| env.var(variable)) {
        Some(Some(key)) => Ok(Some(Secret::new(key.trim()))),
        None if endpoint::is_loopback(base_url) => Ok(None),
        Some(None) | None => Err(ModelError::NoKey {
            provider: name.to_owned(),
            variable: variable.map(ToOwned::to_owned),
        }),
    }
}

fn meant(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!(", did you mean `{near}`?"))
}

fn unset(variable: Option<&str>) -> String {
    variable.map_or(String::new(), |variable| {
        format!(": the variable `{variable}` is not set")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(value: serde_json::Value) -> Config {
        serde_json::from_value(value).unwrap()
    }

    fn two_models() -> serde_json::Value {
        json!({
            "providers": {
                "far": { "baseUrl": "https://api.example.com/v1//", "apiKeyEnv": "FAR_KEY" },
                "near": { "baseUrl": "http://localhost:11434/v1" },
            },
            "models": {
                "big": { "provider": "far", "name": "vendor/big" },
                "small": { "provider": "near", "name": "small:1b" },
            },
            "defaultModel": "big",
        })
    }

    fn env() -> Env {
        Env::from_parts(&[("FAR_KEY", "sk-far")], "/", 0, 0)
    }

    fn alias_for(change: impl Fn(&mut serde_json::Value), purpose: Purpose<'_>) -> String {
        let mut value = two_models();
        change(&mut value);
        resolve(&config(value), &env(), purpose)
            .unwrap()
            .alias
            .unwrap()
    }

    fn check_error(change: impl Fn(&mut serde_json::Value), code: &str, parts: &[&str]) {
        let mut value = two_models();
        change(&mut value);
        let error = resolve(&config(value), &env(), Purpose::Agent).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        let text = format!("{error}\n{}", error.hint());
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_endpoint_has_its_url_without_slashes_and_its_key() {
        let endpoint = resolve(&config(two_models()), &env(), Purpose::Agent).unwrap();
        assert_eq!(endpoint.model, "vendor/big");
        assert_eq!(endpoint.base_url, "https://api.example.com/v1");
        assert_eq!(endpoint.key, Some(Secret::new("sk-far")));
        assert_eq!(endpoint.format, None);
    }

    #[test]
    fn each_purpose_has_its_own_order() {
        assert_eq!(alias_for(|_| (), Purpose::Extract), "big");
        assert_eq!(alias_for(|_| (), Purpose::Alias("small")), "small");
        let literal = |value: &mut serde_json::Value| {
            value["models"]["extract"] = json!({ "provider": "near", "name": "x" });
        };
        assert_eq!(alias_for(literal, Purpose::Extract), "extract");
        assert_eq!(alias_for(literal, Purpose::Agent), "big");
        let overrides = |value: &mut serde_json::Value| {
            literal(value);
            value["modelOverrides"] = json!({ "extract": "small", "agent": "small" });
        };
        assert_eq!(alias_for(overrides, Purpose::Extract), "small");
        assert_eq!(alias_for(overrides, Purpose::Agent), "small");
    }

    #[test]
    fn what_is_missing_is_named() {
        check_error(
            |value| value["defaultModel"] = serde_json::Value::Null,
            "no_model",
            &["defaultModel", "big, small"],
        );
        check_error(
            |value| *value = json!({}),
            "no_model",
            &["`uwf setup` makes one"],
        );
        check_error(
            |value| value["defaultModel"] = "bigg".into(),
            "unknown_model",
            &["`bigg`", "did you mean `big`?", "big, small"],
        );
        check_error(
            |value| value["models"]["big"]["provider"] = "fat".into(),
            "unknown_provider",
            &["`fat`", "did you mean `far`?", "providers.fat.baseUrl"],
        );
        check_error(
            |value| value["models"]["big"] = json!({ "provider": "far" }),
            "incomplete_config",
            &["models.big.name"],
        );
        check_error(
            |value| value["providers"]["far"] = json!({ "apiKey": "k" }),
            "incomplete_config",
            &["providers.far.baseUrl"],
        );
        check_error(
            |value| value["providers"]["far"]["baseUrl"] = "api.example.com".into(),
            "bad_url",
            &["providers.far.baseUrl"],
        );
        check_error(
            |value| value["providers"]["far"]["baseUrl"] = "ftp://example.com".into(),
            "bad_url",
            &["`http://`"],
        );
        check_error(
            |value| value["providers"]["far"]["baseUrl"] = "https://h/v1?key=k".into(),
            "bad_url",
            &["follow its path"],
        );
    }

    #[test]
    fn a_missing_key_names_every_way_to_set_one() {
        check_error(
            |value| value["providers"]["far"]["apiKeyEnv"] = "OTHER".into(),
            "no_key",
            &["`OTHER` is not set", ".env"],
        );
        check_error(
            |value| value["providers"]["far"]["apiKeyEnv"] = serde_json::Value::Null,
            "no_key",
            &["apiKeyEnv", "apiKey`", ".env"],
        );
    }

    #[test]
    fn only_this_machine_may_do_without_a_key() {
        let small = resolve(&config(two_models()), &env(), Purpose::Alias("small")).unwrap();
        assert_eq!(small.key, None);
    }

    #[test]
    fn no_error_shows_a_password() {
        let mut value = two_models();
        value["providers"]["far"]["baseUrl"] = "https://me:hunter2@example.com".into();
        let error = resolve(&config(value), &env(), Purpose::Agent).unwrap_err();
        assert!(!format!("{error:?} {error} {}", error.hint()).contains("hunter2"));
    }
}
