//! The environment of an agent: which variables of `.env` it gets, which it gets beside them, and the masks for its secrets.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use uwf_protocol::agent::env;
use uwf_protocol::config::{AgentConfig, Config, RemoteConfig};
use uwf_storage::{Env, Root};
use uwf_util::mask::{Masks, is_maskable};

use crate::{ConfigError, file, load_dotenv, load_for};

/// The variables that are only for `uwf` itself. An agent gets such a one only if its secrets name it.
const OURS: [&str; 1] = [RemoteConfig::PASSWORD];

/// The variables of `.env` that are for `uwf` itself, and for other programs where the environment has them.
const OURS_IN_FILE: [&str; 4] = RemoteConfig::STORAGE_KEYS;

/// The variables that are always masked, even if no agent names them as secrets: `uwf` opens a remote with them. The id of an S3 key is
/// left out, because it is no secret alone.
const MASKED: [&str; 4] = [
    RemoteConfig::PASSWORD,
    RemoteConfig::S3_SECRET,
    RemoteConfig::S3_TOKEN,
    RemoteConfig::AZURE_KEY,
];

/// What stands between the names of secrets in [`env::SECRETS`].
const SEPARATOR: char = ',';

/// What the config says about the environment of an agent. An agent that is not in the config gets all of `.env` but what
/// no agent gets by itself (`OURS` and `OURS_IN_FILE`).
#[derive(Clone, Default)]
pub struct AgentEnv {
    variables: Vec<(String, String)>,
    secrets: Option<Vec<String>>,
}

impl AgentEnv {
    /// Returns what the config says about an agent.
    #[must_use]
    pub fn of(agent: &AgentConfig) -> Self {
        let variables = agent.env.iter();
        Self {
            variables: variables
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            secrets: agent.secrets.clone(),
        }
    }

    /// Returns the variables that the agent gets beside the inherited ones: those of `.env` that it may have and that `ours`
    /// does not set, then its own, then the names of its secrets. Of two with the same name, the later
    /// one counts.
    ///
    /// # Errors
    /// [`ConfigError::Storage`] if `.env` cannot be read.
    pub fn added(&self, root: &Root, ours: &Env) -> Result<Vec<(String, String)>, ConfigError> {
        let mut added = load_dotenv(root)?;
        added.retain(|(name, _)| {
            let name = name.as_str();
            let is_for_us = OURS.contains(&name) || OURS_IN_FILE.contains(&name);
            let is_wanted = self.names(name) || (self.secrets.is_none() && !is_for_us);
            is_wanted && !ours.is_set(name) && !env::CONTRACT.contains(&name)
        });
        added.extend(self.variables.iter().cloned());
        let names = self.all_secrets(ours);
        // We may have been called by another agent and inherit its variable.
        if !names.is_empty() || ours.is_set(env::SECRETS) {
            let names = names.join(&SEPARATOR.to_string());
            added.push((env::SECRETS.to_owned(), names));
        }
        Ok(added)
    }

    /// Returns the variables that the agent does not inherit from us.
    #[must_use]
    pub fn withheld(&self) -> Vec<&'static str> {
        let ours = OURS.into_iter();
        ours.filter(|name| !self.names(name)).collect()
    }

    /// Checks that every secret of the agent is there. Returns the names of those that are too short to be masked.
    ///
    /// # Errors
    /// [`ConfigError::NoSecrets`] with all that are missing, [`ConfigError::Storage`].
    pub fn check(&self, agent: &str, root: &Root, ours: &Env) -> Result<Vec<String>, ConfigError> {
        let dotenv = load_dotenv(root)?;
        let value = |name: &str| {
            let own = self.variables.iter().find(|(own, _)| own == name);
            let file = || dotenv.iter().find(|(known, _)| known == name);
            let found = own.map(|(_, value)| value.as_str());
            let found = found.or_else(|| ours.is_set(name).then(|| ours.var(name)).flatten());
            found.or_else(|| Some(file()?.1.as_str()))
        };
        let names = self.secrets.iter().flatten();
        let missing = names.clone().filter(|name| {
            let is_there = value(name).is_some_and(|value| !value.is_empty());
            // A value that is not Unicode is there, too.
            !is_there && ours.var_os(name).is_none()
        });
        let missing: Vec<String> = missing.cloned().collect();
        if !missing.is_empty() {
            return Err(ConfigError::NoSecrets {
                agent: agent.to_owned(),
                names: missing,
                file: root.env_file(),
            });
        }
        let is_short = |name: &&String| value(name).is_some_and(|it| !is_maskable(it.as_bytes()));
        Ok(names.filter(is_short).cloned().collect())
    }

    /// Tells whether the secrets of the agent name a variable.
    fn names(&self, variable: &str) -> bool {
        let mut secrets = self.secrets.iter().flatten();
        secrets.any(|secret| secret == variable)
    }

    /// Returns the names of the agent's secrets, and of those of an agent that has called us.
    fn all_secrets(&self, ours: &Env) -> Vec<String> {
        let mut names = self.secrets.clone().unwrap_or_default();
        let inherited = names_in(ours).map(ToOwned::to_owned);
        names.extend(inherited);
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Returns the masks for the secrets of all agents of the config, for those of an agent that has called us, and for the password and the
/// keys of the remote.
///
/// # Errors
/// [`ConfigError::Storage`] if `.env` cannot be read.
pub fn secret_masks(config: &Config, root: &Root, ours: &Env) -> Result<Masks, ConfigError> {
    let declared = declared(config, root, ours)?;
    Ok(Masks::of(declared.iter().map(Vec::as_slice)))
}

/// Returns the same secrets as values.
pub(crate) fn declared(
    config: &Config,
    root: &Root,
    ours: &Env,
) -> Result<Vec<Vec<u8>>, ConfigError> {
    let agents = || config.agents.values();
    let named = agents().flat_map(|agent| agent.secrets.iter().flatten());
    let named = named.map(String::as_str);
    let names: Vec<&str> = named.chain(names_in(ours)).chain(MASKED).collect();
    let dotenv = load_dotenv(root)?;
    let own = agents().flat_map(|agent| &agent.env);
    let in_files = dotenv
        .iter()
        .map(|(name, value)| (name, value))
        .chain(own)
        .filter(|(name, _)| names.contains(&name.as_str()))
        .map(|(_, value)| value.as_bytes());
    let in_ours = names.iter().filter_map(|name| ours.var_os(name));
    let values = in_files.chain(in_ours.map(OsStr::as_bytes));
    Ok(values.map(<[u8]>::to_vec).collect())
}

/// Returns the masks for the words of the agent that we are: for its secrets, whose names and values are in our environment, and for
/// those of all agents of the config of its project. What one of them told, the next one may repeat, such as a fallback in the same
/// step. A config that cannot be read has no agents. `project` is the directory of the thread: that in which the agent works may lie
/// elsewhere, such as in a worktree.
#[must_use]
pub fn step_masks(ours: &Env, project: &Path) -> Masks {
    let own = own_secrets(ours).map(<[u8]>::to_vec);
    let others = Root::resolve(None, ours).ok().map(|root| {
        let user = file::load(&root).ok().flatten().unwrap_or_default();
        let here = load_for(&root, project).map(|(config, _)| config);
        let configs = [Some(user), here.ok()];
        let configs = configs.into_iter().flatten();
        let declared = configs.filter_map(|config| declared(&config, &root, ours).ok());
        declared.flatten().collect::<Vec<_>>()
    });
    let secrets: Vec<Vec<u8>> = own.chain(others.into_iter().flatten()).collect();
    Masks::of(secrets.iter().map(Vec::as_slice))
}

/// Returns the secrets of the agent that we are.
pub(crate) fn own_secrets(ours: &Env) -> impl Iterator<Item = &[u8]> {
    let values = names_in(ours).filter_map(|name| ours.var_os(name));
    values.map(OsStr::as_bytes)
}

fn names_in(ours: &Env) -> impl Iterator<Item = &str> {
    let names = ours.var(env::SECRETS).unwrap_or_default();
    names.split(SEPARATOR).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a root whose `.env` has this text.
    fn root(text: &str) -> (tempfile::TempDir, Root) {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        std::fs::write(root.env_file(), text).unwrap();
        (temp, root)
    }

    fn agent(text: &str) -> AgentConfig {
        serde_json::from_str(text).unwrap()
    }

    #[track_caller]
    fn check_added(config: &str, ours: &[(&str, &str)], expected: &[(&str, &str)]) {
        let (_temp, root) = root("A=file-a\nB=file-b\nUWF_HEAD=x\n");
        let ours = Env::from_parts(ours, "/", 0, 0);
        let added = AgentEnv::of(&agent(config)).added(&root, &ours).unwrap();
        let added: Vec<(&str, &str)> = added
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(added, expected, "{config}");
    }

    #[test]
    fn an_agent_gets_the_named_secrets_only_and_its_own_variables_go_before_all_others() {
        check_added("{}", &[], &[("A", "file-a"), ("B", "file-b")]);
        check_added("{}", &[("A", "ours")], &[("B", "file-b")]);
        check_added(r#"{"secrets": []}"#, &[], &[]);
        check_added(
            r#"{"secrets": ["B"], "env": {"A": "own", "B": "own"}}"#,
            &[],
            &[
                ("B", "file-b"),
                ("A", "own"),
                ("B", "own"),
                ("UWF_SECRETS", "B"),
            ],
        );
    }

    #[test]
    fn the_password_of_the_remote_is_for_agents_that_name_it_and_is_always_masked() {
        let (_temp, root) = root("UWF_REMOTE_PASSWORD=of-the-file\n");
        let ours = Env::from_parts(&[(RemoteConfig::PASSWORD, "of-the-shell")], "/", 0, 0);
        let none = AgentEnv::of(&agent("{}"));
        let nowhere = Env::from_parts(&[], "/", 0, 0);
        assert_eq!(none.added(&root, &nowhere).unwrap(), []);
        assert_eq!(none.withheld(), [RemoteConfig::PASSWORD]);
        let names = AgentEnv::of(&agent(r#"{"secrets": ["UWF_REMOTE_PASSWORD"]}"#));
        assert_eq!(names.added(&root, &nowhere).unwrap().len(), 2);
        assert!(names.withheld().is_empty());
        let masks = secret_masks(&Config::default(), &root, &ours).unwrap();
        assert_eq!(masks.text("of-the-file of-the-shell"), "*** ***");
    }

    #[test]
    fn the_key_of_an_object_storage_in_the_file_is_for_agents_that_name_it() {
        let text = RemoteConfig::STORAGE_KEYS.map(|name| format!("{name}=k\n"));
        let (_temp, root) = root(&text.concat());
        let nowhere = Env::from_parts(&[], "/", 0, 0);
        let added = |config: &str| AgentEnv::of(&agent(config)).added(&root, &nowhere).unwrap();
        assert_eq!(added("{}"), []);
        for name in RemoteConfig::STORAGE_KEYS {
            let own = added(&format!(r#"{{"secrets": ["{name}"]}}"#));
            let own = own.iter().map(|(name, _)| name.as_str());
            assert!(own.eq([name, "UWF_SECRETS"]), "{name}");
        }
    }

    #[test]
    fn what_the_agent_that_called_us_must_not_show_stays_a_secret() {
        let called = [("UWF_SECRETS", "X,Y")];
        check_added(
            r#"{"secrets": ["A", "X"]}"#,
            &called,
            &[("A", "file-a"), ("UWF_SECRETS", "A,X,Y")],
        );
        let ours = [
            ("UWF_SECRETS", "X"),
            ("X", "value-of-x"),
            ("Y", "value-of-y"),
        ];
        let masks = step_masks(&Env::from_parts(&ours, "/", 0, 0), Path::new("/"));
        assert_eq!(masks.text("value-of-x value-of-y"), "*** value-of-y");
    }

    #[test]
    fn all_missing_secrets_are_named_and_those_that_are_too_short() {
        let (_temp, root) = root("A=abc\nEMPTY=\n");
        let ours = Env::from_parts(&[("OURS", "long enough")], "/", 0, 0);
        let check = |config: &str| AgentEnv::of(&agent(config)).check("x", &root, &ours);
        assert_eq!(check(r#"{"secrets": ["A", "OURS"]}"#).unwrap(), ["A"]);
        let missing = check(r#"{"secrets": ["A", "EMPTY", "NONE", "OWN"], "env": {"OWN": "1"}}"#);
        let message = missing.unwrap_err().to_string();
        assert!(
            message.contains("`EMPTY`, `NONE` of agent `x`"),
            "{message}"
        );
    }

    #[test]
    fn the_values_that_a_secret_has_anywhere_are_masked() {
        let (_temp, root) = root("A=file-value\nB=no-secret\n");
        let ours = Env::from_parts(&[("A", "ours-value")], "/", 0, 0);
        let mut config = Config::default();
        let one = agent(r#"{"secrets": ["A"], "env": {"A": "own-value", "B": "no-secret"}}"#);
        config.agents.insert("x".to_owned(), one);
        let masks = secret_masks(&config, &root, &ours).unwrap();
        assert_eq!(
            masks.text("file-value ours-value own-value no-secret"),
            "*** *** *** no-secret"
        );
        let none = secret_masks(&Config::default(), &root, &ours).unwrap();
        assert!(none.is_empty());
    }
}
