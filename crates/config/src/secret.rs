//! Masks the secrets in a configuration: keys of providers, and secrets that people put into arguments, addresses and keys
//! of their own. This module reads and writes no file.

use serde_json::Value;
use uwf_protocol::endpoint;
use uwf_util::secret_name::is_secret_name;

/// What is shown in place of a secret.
pub const MASK: &str = "***MASKED***";

/// The sections whose values are names of other entries, and never secrets.
const NAMES_ONLY: &[&str] = &["agentOverrides", "permissionOverrides", "modelOverrides"];

/// Masks the secrets in a configuration that is going to be shown.
pub fn mask(config: &mut Value) {
    mask_environments(config);
    for (key, value) in config.as_object_mut().into_iter().flatten() {
        if !NAMES_ONLY.contains(&key.as_str()) {
            mask_under(key, value);
        }
    }
}

/// Masks the variables of agents that their `secrets` name.
fn mask_environments(config: &mut Value) {
    let agents = config.get_mut("agents").and_then(Value::as_object_mut);
    for agent in agents.into_iter().flat_map(|agents| agents.values_mut()) {
        let declared = agent.get("secrets").and_then(Value::as_array).cloned();
        let declared = declared.unwrap_or_default();
        let variables = agent.get_mut("env").and_then(Value::as_object_mut);
        for (name, value) in variables.into_iter().flatten() {
            let is_declared = declared.iter().any(|one| one == name.as_str());
            if is_declared && !value.is_null() {
                *value = MASK.into();
            }
        }
    }
}

fn mask_under(key: &str, value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Object(map) => map
            .iter_mut()
            .for_each(|(key, value)| mask_under(key, value)),
        // The names of variables are no secrets. Anything else there may be one, in the wrong place.
        Value::Array(items) if key == "secrets" => {
            let is_name = |item: &Value| item.as_str().is_some_and(endpoint::is_variable);
            for item in items.iter_mut().filter(|item| !is_name(item)) {
                *item = MASK.into();
            }
        }
        Value::Array(items) if is_secret_name(key) => items.fill(MASK.into()),
        Value::Array(items) => mask_list(items),
        Value::Number(_) | Value::String(_) if is_secret_name(key) => *value = MASK.into(),
        Value::Number(_) => {}
        // This cannot be the name of a variable. It may be the key itself, in the wrong place.
        Value::String(text) if key == "apiKeyEnv" && !endpoint::is_variable(text) => {
            *value = MASK.into();
        }
        Value::String(text) => {
            let masked = masked_text(text);
            // In an invalid address we cannot tell which part is a password.
            let is_invalid = key == "baseUrl" && endpoint::base_url(text).is_err();
            *text = if is_invalid && masked == *text {
                MASK.to_owned()
            } else {
                masked
            };
        }
    }
}

/// Returns arguments without the secrets in them.
#[must_use]
pub fn masked_arguments(args: &[String]) -> Vec<String> {
    let mut items: Vec<Value> = args.iter().map(|arg| arg.as_str().into()).collect();
    mask_list(&mut items);
    let texts = items.into_iter().filter_map(|item| match item {
        Value::String(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// Masks arguments: the one after an option with the name of a secret, and each that contains a secret itself.
fn mask_list(items: &mut [Value]) {
    let mut after_option = false;
    for item in items {
        let Value::String(text) = item else {
            mask_under("", item);
            after_option = false;
            continue;
        };
        let is_option = text.starts_with('-') && !text.contains('=');
        if after_option && !is_option {
            *text = MASK.to_owned();
            after_option = false;
        } else {
            after_option = is_option && is_secret_name(text);
            *text = masked_text(text);
        }
    }
}

/// Masks the secret in a text: in `name=value`, in `Header: value`, in an address with a password, or all of a text that
/// looks like a key.
fn masked_text(text: &str) -> String {
    if endpoint::looks_like_key(text) {
        return MASK.to_owned();
    }
    if text.starts_with("Bearer ") {
        return format!("Bearer {MASK}");
    }
    for separator in ["=", ": "] {
        if let Some((name, value)) = text.split_once(separator) {
            if is_secret_name(name) && !value.is_empty() {
                return format!("{name}{separator}{MASK}");
            }
            let masked = masked_text(value);
            if masked != value {
                return format!("{name}{separator}{masked}");
            }
        }
    }
    masked_address(text).unwrap_or_else(|| text.to_owned())
}

/// Masks the user and the password of an address. The user may be a token, except in the address of a database.
fn masked_address(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let host_end = rest.find('/').unwrap_or(rest.len());
    let at = rest[..host_end].rfind('@')?;
    let (user, host) = rest.split_at(at);
    let shown = match (scheme, user.split_once(':')) {
        ("postgres" | "postgresql", None) => user.to_owned(),
        ("postgres" | "postgresql", Some((user, _))) => format!("{user}:{MASK}"),
        _ => MASK.to_owned(),
    };
    Some(format!("{scheme}://{shown}{host}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(mut config: Value, expected: &Value) {
        mask(&mut config);
        assert_eq!(config, *expected);
    }

    #[test]
    fn what_is_called_like_a_secret_is_masked() {
        check(
            json!({ "providers": { "p": { "apiKey": "k", "apikey": 7, "apiKeyEnv": "P_API_KEY" } } }),
            &json!({ "providers": { "p": { "apiKey": MASK, "apikey": MASK, "apiKeyEnv": "P_API_KEY" } } }),
        );
        check(
            json!({ "agents": { "a": { "env": { "OPENAI_API_KEY": "k", "GH_TOKEN": "t", "maxTokens": 5 } } } }),
            &json!({ "agents": { "a": { "env": { "OPENAI_API_KEY": MASK, "GH_TOKEN": MASK, "maxTokens": 5 } } } }),
        );
        check(json!({ "apiKey": null }), &json!({ "apiKey": null }));
    }

    #[test]
    fn a_variable_that_the_agent_declares_as_a_secret_is_masked_whatever_it_is_called() {
        let agent = |x: &str, y: &str| json!({ "secrets": ["X"], "env": { "X": x, "Y": y } });
        let config =
            json!({ "agents": { "a": agent("one", "two"), "b": { "env": { "X": "no" } } } });
        let shown = json!({ "agents": { "a": agent(MASK, "two"), "b": { "env": { "X": "no" } } } });
        check(config, &shown);
    }

    #[test]
    fn secrets_in_arguments_are_masked() {
        let list = |items: Value| json!({ "agents": { "a": { "args": items } } });
        for (args, expected) in [
            (
                json!(["--api-key", "k", "x"]),
                json!(["--api-key", MASK, "x"]),
            ),
            (json!(["--key", "k"]), json!(["--key", MASK])),
            (json!(["--key=k"]), json!([format!("--key={MASK}")])),
            (json!(["--my-key", "k"]), json!(["--my-key", MASK])),
            (
                json!(["OPENAI_KEY=k"]),
                json!([format!("OPENAI_KEY={MASK}")]),
            ),
            (json!(["--monkey=k"]), json!(["--monkey=k"])),
            (json!(["--api-key=k"]), json!([format!("--api-key={MASK}")])),
            (
                json!(["--token", "--verbose"]),
                json!(["--token", "--verbose"]),
            ),
            (json!(["A_TOKEN=t"]), json!([format!("A_TOKEN={MASK}")])),
            (
                json!(["-H", "Authorization: Bearer t"]),
                json!(["-H", format!("Authorization: {MASK}")]),
            ),
            (
                json!(["--with", "sk-0123456789abcdef"]),
                json!(["--with", MASK]),
            ),
            (
                json!(["--with=sk-0123456789abcdef"]),
                json!([format!("--with={MASK}")]),
            ),
            (
                json!(["--with", "glpat-0123456789abcdef"]),
                json!(["--with", MASK]),
            ),
            (json!(["--max-tokens", "5"]), json!(["--max-tokens", "5"])),
            (json!(["--model", "m=1"]), json!(["--model", "m=1"])),
        ] {
            check(list(args), &list(expected));
        }
    }

    #[test]
    fn a_password_in_an_address_is_masked() {
        let address = |text: &str| json!({ "providers": { "p": { "baseUrl": text } } });
        let masked = format!("https://{MASK}@host/v1");
        check(address("https://me:pass@host/v1"), &address(&masked));
        check(address("me:pass@host/v1"), &address(MASK));
        check(address("https://host/v1@2"), &address("https://host/v1@2"));
    }

    #[test]
    fn the_user_of_a_database_is_no_secret() {
        let address = |text: &str| json!({ "remote": { "url": text } });
        let plain = address("postgres://me@host/d");
        check(plain.clone(), &plain);
        let masked = address(&format!("postgres://me:{MASK}@host/d"));
        check(address("postgres://me:pass@host/d"), &masked);
    }

    #[test]
    fn names_of_entries_are_no_secrets() {
        let config =
            json!({ "agentOverrides": { "w": { "token": "a" } }, "defaultAgent": "secret" });
        check(config.clone(), &config);
    }
}
