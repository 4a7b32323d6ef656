//! What to type next after an error of the configuration.

use uwf_config::ConfigError;
use uwf_util::shell_words;

/// Returns what the user can do next, unless the error text says it.
pub(crate) fn hint(error: &ConfigError) -> Option<String> {
    let hint = match error {
        ConfigError::NoConfig { .. } => {
            "`uwf config set <key> <value>` makes one, `uwf setup` asks for all that is needed"
        }
        ConfigError::Comments { .. } => "`uwf config edit` opens it in your editor",
        ConfigError::ChangedMeanwhile { .. } => {
            "bring the two together by hand, then delete the copy"
        }
        ConfigError::Invalid { .. } => {
            "`uwf config validate` tells all that is wrong with it, `uwf config edit` opens it"
        }
        ConfigError::Project { .. } => {
            "correct the file, then `uwf trust` trusts it; `uwf trust --revoke` does without it"
        }
        ConfigError::TrustDamaged { path, .. } => {
            let path = shell_words::quote(&path.display().to_string()).into_owned();
            return Some(format!(
                "`mv {path} {path}.damaged` puts it aside: no project is trusted then, and `uwf trust` trusts one again"
            ));
        }
        ConfigError::NoSecrets { agent, file, .. } => {
            let key = format!("agents.{agent}.secrets");
            return Some(format!(
                "add a line `NAME=value` for each to `{}`, or name others with `uwf config set {} '[\"NAME\"]'`",
                file.display(),
                shell_words::quote(&key)
            ));
        }
        ConfigError::Key { .. } => return None,
        ConfigError::Storage(error) => return super::storage::hint(error),
    };
    Some(hint.to_owned())
}
