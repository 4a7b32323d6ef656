//! Selects the environment variables for a model's commands: all except possible secrets, secrets named by the config,
//! and our own variables that identify the agent to the engine.
//!
//! Pure. In doubt a variable is a secret, and `--keep-env` passes it nevertheless. The rule for showing a configuration
//! is narrower, since a false alarm would hide a setting there. This prevents that secrets are printed by accident; it
//! does not stop a command that searches for them.

use std::ffi::OsStr;

use uwf_protocol::endpoint;

/// Parts of names that may be those of secrets.
const SUSPECT_PARTS: [&str; 11] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "PRIVATE",
    "SIGNATURE",
];
/// Ends of such names.
const SUSPECT_ENDS: [&str; 5] = ["_PASS", "_PAT", "_PW", "_PWD", "_DSN"];
/// A part of names that contains a suspect part but is harmless.
const NO_SECRET: &str = "AUTHOR";
/// First characters of values that may be secrets, beside the keys of models and of code hosts.
const SUSPECT_BEGINNINGS: [&str; 5] = ["sk_", "xox", "AKIA", "eyJhbGci", "-----BEGIN"];
/// Our own variables that commands get: to look things up in their thread, to know its branch, and to leave artefacts.
const OF_THE_THREAD: [&str; 7] = [
    "UWF_STORAGE_ROOT",
    "UWF_FORMAT",
    "UWF_THREAD_ID",
    "UWF_ROLE",
    "UWF_BRANCH",
    "UWF_BRANCH_BASE",
    "UWF_ARTIFACTS",
];

/// The user's settings about variables.
#[derive(Debug, Clone, Default)]
pub(in crate::builtin) struct Variables {
    /// Names of secrets: of `.env`, and of keys in the configuration.
    pub(in crate::builtin) secret: Vec<String>,
    /// Names that are always passed.
    pub(in crate::builtin) keep: Vec<String>,
}

impl Variables {
    /// Tells whether commands get a variable.
    pub(super) fn pass(&self, name: &OsStr, value: &OsStr) -> bool {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        if self.keep.iter().any(|kept| *kept == name) {
            return true;
        }
        let is_named = self.secret.iter().any(|secret| *secret == name);
        let is_ours = name.starts_with("UWF_") && !OF_THE_THREAD.contains(&name.as_ref());
        !is_named && !is_ours && !may_be_secret(&name) && !may_hold_secret(&value)
    }
}

fn may_be_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace(NO_SECRET, "");
    let has_part = SUSPECT_PARTS.iter().any(|part| name.contains(part));
    has_part || SUSPECT_ENDS.iter().any(|end| name.ends_with(end))
}

fn may_hold_secret(value: &str) -> bool {
    let value = value.trim_start();
    let mut beginnings = SUSPECT_BEGINNINGS.iter();
    endpoint::begins_like_key(value)
        || beginnings.any(|begin| value.starts_with(begin))
        || has_password(value)
}

/// Tells whether a value is a URL with a user and a password.
fn has_password(value: &str) -> bool {
    let Some((_, after)) = value.split_once("://") else {
        return false;
    };
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(name: &str, value: &str) -> bool {
        let variables = Variables {
            secret: vec!["HIDDEN".to_owned()],
            keep: vec!["SSH_AUTH_SOCK".to_owned()],
        };
        variables.pass(OsStr::new(name), OsStr::new(value))
    }

    #[test]
    fn what_commands_need_is_kept() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "TERM",
            "USER",
            "PWD",
            "TMPDIR",
            "CARGO_HOME",
            "GIT_AUTHOR_NAME",
            "LD_LIBRARY_PATH",
            "OLDPWD",
            "OCAS_DIR",
            "UWF_STORAGE_ROOT",
            "UWF_THREAD_ID",
            "UWF_BRANCH",
            "UWF_BRANCH_BASE",
            "UWF_ARTIFACTS",
        ] {
            assert!(passes(name, "/a:/b"), "{name}");
        }
        assert!(passes("HTTPS_PROXY", "http://proxy:3128"));
        assert!(passes("REPO", "ssh://git@host/x"));
        assert!(passes("SSH_AUTH_SOCK", "/tmp/agent"), "it was asked for");
    }

    #[test]
    fn what_may_be_a_secret_is_not() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "PGPASSWORD",
            "MYSQL_PWD",
            "DB_PW",
            "SENTRY_DSN",
            "NPM_CONFIG__AUTH",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "HIDDEN",
            "UWF_ENGINE",
            "UWF_HEAD",
            "UWF_EDGE_PROMPT",
        ] {
            assert!(!passes(name, "x"), "{name}");
        }
        for value in ["sk-abc", "gsk_abc", "glpat-abc", "xoxb-abc", "eyJhbGciOi"] {
            assert!(!passes("MODEL_ACCESS", value), "{value}");
        }
        assert!(!passes("DATABASE_URL", "postgres://me:pw@host/db"));
        assert!(!passes("HTTPS_PROXY", "http://me:p@w@proxy:3128"));
    }
}
