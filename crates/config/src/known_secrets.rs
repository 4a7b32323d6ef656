//! The secrets that this machine knows: the values of `.env`, the keys of providers, and what agents declare as secrets.

use uwf_storage::{Env, Root};
use uwf_util::mask::Masks;
use uwf_util::secret_name::is_secret_name;

use crate::agent_env::{declared, own_secrets};
use crate::{dotenv, file};

/// The shortest value that counts as a secret although nobody says that it is one. Shorter values in `.env` are settings such as
/// `true` and `8080`, which would be found everywhere.
const SHORTEST: usize = 6;

/// Returns the masks for the known secrets: the values of `.env`, the keys of the config, and the secrets of its agents. A file
/// that cannot be read counts as empty here; the caller that needs it reports the error.
#[must_use]
pub fn secrets(root: &Root, env: &Env) -> Masks {
    Masks::of(known(root, env).iter().map(Vec::as_slice))
}

/// Returns the masks for what a command prints that has our environment: the known secrets, the values of variables that are
/// called like a secret, and the secrets of the agent that we are.
#[must_use]
pub fn secrets_in_output(root: &Root, env: &Env) -> Masks {
    let named = env.variables().filter_map(|(name, value)| {
        let value = value.to_str().map(str::to_owned);
        value.filter(|_| name.to_str().is_some_and(is_secret_name))
    });
    let named: Vec<String> = named.filter(|value| is_long(value)).collect();
    let known = known(root, env);
    let named = named.iter().map(String::as_bytes);
    let known = known.iter().map(Vec::as_slice);
    Masks::of(known.chain(named).chain(own_secrets(env)))
}

fn known(root: &Root, env: &Env) -> Vec<Vec<u8>> {
    let of_file = dotenv::load_dotenv(root).into_iter().flatten();
    let mut secrets: Vec<String> = of_file.map(|(_, value)| value).collect();
    let config = file::load(root).ok().flatten().unwrap_or_default();
    let declared = declared(&config, root, env).unwrap_or_default();
    for provider in config.providers.into_values() {
        let variable = provider.api_key_env.as_deref();
        let of_env = variable.and_then(|name| env.var(name));
        secrets.extend(of_env.map(str::to_owned));
        secrets.extend(provider.api_key);
    }
    secrets.retain(|value| is_long(value));
    let undeclared = secrets.into_iter().map(String::into_bytes);
    undeclared.chain(declared).collect()
}

fn is_long(value: &str) -> bool {
    value.len() >= SHORTEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_declares_is_known_although_it_is_short_and_only_in_our_environment() {
        let temp = tempfile::tempdir().unwrap();
        let env = Env::from_parts(&[("PIN", "1234"), ("OTHER", "5678")], temp.path(), 0, 0);
        let root = Root::at(temp.path().to_owned());
        let config = "agents:\n  a: { command: uwf-command, secrets: [PIN] }\n";
        std::fs::write(root.config_file(), config).unwrap();
        assert_eq!(secrets(&root, &env).text("1234 5678"), "*** 5678");
    }

    #[test]
    fn short_settings_are_no_secrets_and_the_longest_secret_is_masked_whole() {
        let temp = tempfile::tempdir().unwrap();
        let env = Env::from_parts(&[], temp.path(), 0, 0);
        let root = Root::at(temp.path().to_owned());
        let text = "A=abcdef\nB=abcdefgh\nDEBUG=true\nPORT=8080\n";
        std::fs::write(root.env_file(), text).unwrap();
        let masks = secrets(&root, &env);
        assert_eq!(
            masks.text("abcdefgh, abcdef, true 8080"),
            "***, ***, true 8080"
        );
        // `printf user:abcdefgh | base64`
        let shown = masks.text("Authorization: Basic dXNlcjphYmNkZWZnaA==");
        assert!(!shown.contains("phYmNkZWZnaA"), "{shown}");
    }
}
