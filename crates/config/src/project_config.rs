//! The config of a project, `.uwf/config.yaml`: agents, and who plays which role. It comes with a repository, so other
//! people wrote it, and it names programs. Therefore it is used only if the user [trusts](crate::trust()) exactly this text.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};
use uwf_protocol::config::{Config, OfRoles};
use uwf_storage::{Root, StorageError};
use uwf_util::{shell_words, size};
use uwf_yaml::{Data, Dialect};

use crate::check;
use crate::project::search::places;
use crate::secret::mask;
use crate::trust::{Standing, Trust};
use crate::{ConfigError, file};

/// Where the file is in the folder of a project.
const DIR: &str = ".uwf";
const FILE: &str = "config.yaml";
/// The size of the largest file that is read, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// The keys that it may have. All others are about the user: keys of providers, limits of cost, commands to call.
const KEYS: [&str; 4] = [
    "agents",
    "agentOverrides",
    "permissionOverrides",
    "defaultAgent",
];

/// The config of a project, as it is in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectConfig {
    /// The folder of the project.
    pub folder: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
}

/// The config of a project that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// The folder of the project.
    pub folder: PathBuf,
    /// Whether another text of the file was trusted.
    pub changed: bool,
}

impl ProjectConfig {
    /// Tells whether the user trusts it as it is now.
    #[must_use]
    pub fn standing(&self, trust: &Trust) -> Standing {
        trust.standing(&self.folder, &self.text)
    }

    /// Finds the config of the project around a directory; the nearest one counts. It is looked for where [workflows of a
    /// project](crate::project::discover) are.
    ///
    /// # Errors
    /// [`ConfigError::Storage`] if it cannot be read, [`ConfigError::Project`] if it is too large or not text.
    pub fn find(root: &Root, directory: &Path) -> Result<Option<Self>, ConfigError> {
        for place in places(directory)? {
            let dir = place.join(DIR);
            // A storage root has the same name in a home folder.
            let is_root = dir.as_path() == root.path() || Root::at(dir.clone()).is_in_use();
            if is_root || !dir.is_dir() {
                continue;
            }
            let file = dir.join(FILE);
            let Some(content) = uwf_durable::read_start(&file, MAX_BYTES + 1)? else {
                continue;
            };
            if content.len() > MAX_BYTES {
                let problem = format!("it is larger than {}", size::format(MAX_BYTES as u64));
                return Err(wrong(&file, (0, 0), problem));
            }
            let text = String::from_utf8(content)
                .map_err(|_| wrong(&file, (0, 0), "bytes that are not UTF-8".to_owned()))?;
            let folder = place
                .canonicalize()
                .map_err(StorageError::io("read", place))?;
            return Ok(Some(Self { folder, file, text }));
        }
        Ok(None)
    }

    /// Reads what it says.
    ///
    /// # Errors
    /// [`ConfigError::Project`] with the first mistake; a key that a project cannot set is one.
    pub fn read(&self) -> Result<Config, ConfigError> {
        let parsed = uwf_yaml::parse(&self.text, Dialect::Tolerant).map_err(|problem| {
            let place = (problem.at.line as u64, problem.at.column as u64);
            wrong(&self.file, place, problem.message)
        })?;
        let Some(tree) = parsed else {
            return Ok(Config::default());
        };
        if let Data::Map(entries) = &tree.data {
            let refused = entries
                .iter()
                .find(|(key, _)| !KEYS.contains(&key.text.as_str()));
            if let Some((key, _)) = refused {
                let place = (key.at.line as u64, key.at.column as u64);
                let problem = format!(
                    "`{}` cannot be in the config of a project, which may have `{}`",
                    key.text,
                    KEYS.join("`, `")
                );
                return Err(wrong(&self.file, place, problem));
            }
        }
        // A name may be of the user's config, so one that is not here is no mistake.
        let mut findings = check::check_tree(&tree, &|_| true).errors;
        // What is missing may only be misspelt.
        findings.sort_by_key(|one| !one.unreadable);
        if let Some(found) = findings.into_iter().find(|one| !one.dangling) {
            let problem = match found.key.as_str() {
                "" => found.problem,
                key => format!("{key}: {}", found.problem),
            };
            return Err(wrong(&self.file, (found.line, found.column), problem));
        }
        let config: Option<Config> = tree
            .to_type()
            .map_err(|problem| wrong(&self.file, (0, 0), problem))?;
        Ok(self.at_home(config.unwrap_or_default()))
    }

    /// Returns what it says as data. Nothing is masked.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn data(&self) -> Result<Value, ConfigError> {
        let Config {
            agents,
            agent_overrides,
            permission_overrides,
            default_agent,
            ..
        } = self.read()?;
        let data = |value: Result<Value, serde_json::Error>| value.unwrap_or_default();
        let values = [
            data(serde_json::to_value(agents)),
            data(serde_json::to_value(agent_overrides)),
            data(serde_json::to_value(permission_overrides)),
            data(serde_json::to_value(default_agent)),
        ];
        let is_there = |value: &Value| {
            !value.is_null() && value.as_object().is_none_or(|entries| !entries.is_empty())
        };
        let entries = KEYS
            .into_iter()
            .zip(values)
            .filter(|(_, value)| is_there(value));
        let entries: Map<String, Value> = entries
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        Ok(Value::Object(entries))
    }

    /// Returns the command lines that it names, each once.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn commands(&self) -> Result<Vec<String>, ConfigError> {
        let mut lines = Vec::new();
        for agent in self.read()?.agents.into_values() {
            let words = agent.command.iter().chain(&agent.args);
            let line = shell_words::join(words.map(String::as_str));
            if agent.command.is_some() && !lines.contains(&line) {
                lines.push(line);
            }
        }
        Ok(lines)
    }

    /// Returns the config with the paths of its programs made absolute: they start at the folder of the project.
    fn at_home(&self, mut config: Config) -> Config {
        for agent in config.agents.values_mut() {
            let relative = agent.command.as_mut();
            let relative = relative.filter(|command| command.contains('/'));
            if let Some(command) = relative {
                let path = self
                    .folder
                    .join(command.strip_prefix("./").unwrap_or(command));
                *command = path.display().to_string();
            }
        }
        config
    }
}

/// Returns the config for work in a directory: the user's, and over it that of the project, if the user trusts it. The
/// second value is the config of a project that is not used.
///
/// # Errors
/// Those of [`load`](crate::load), [`ProjectConfig::find`] and [`ProjectConfig::read`].
pub fn load_for(root: &Root, directory: &Path) -> Result<(Config, Option<Unused>), ConfigError> {
    let user = file::load(root)?.unwrap_or_default();
    let trust = Trust::read(root)?;
    let project = match ProjectConfig::find(root, directory) {
        // A file that nobody trusts stops nobody, whatever is wrong with it. `uwf trust` says what it is.
        Err(_) if !trust.has_folder_around(directory) => None,
        found => found?,
    };
    let Some(project) = project else {
        return Ok((user, None));
    };
    let changed = match project.standing(&trust) {
        Standing::Trusted => {
            let mut both = user;
            put_over(&mut both, project.read()?);
            return Ok((both, None));
        }
        Standing::Changed => true,
        Standing::Unknown => false,
    };
    let folder = project.folder;
    Ok((user, Some(Unused { folder, changed })))
}

/// A value of the config, with the file that it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnedValue {
    /// The dotted key.
    pub key: String,
    /// The value, masked if it is a secret.
    pub value: Value,
    /// The file.
    pub file: PathBuf,
}

/// Returns the values that hold for work in a directory: those of the project's config, if the user trusts it, and those of
/// the user that it leaves in place. Secrets are masked.
///
/// # Errors
/// As of [`load_for`].
pub fn values_for(root: &Root, directory: &Path) -> Result<Vec<OwnedValue>, ConfigError> {
    let project = ProjectConfig::find(root, directory)?;
    let trust = Trust::read(root)?;
    let project = project.filter(|project| project.standing(&trust) == Standing::Trusted);
    let mut values = Vec::new();
    let mut keys = Vec::new();
    if let Some(project) = &project {
        let mut data = project.data()?;
        mask(&mut data);
        keys = put_over(&mut Config::default(), project.read()?);
        collect(&data, "", &project.file, &mut values);
    }
    let mut of_user = Vec::new();
    let user = file::list_masked(root)?;
    collect(&user, "", &root.config_file(), &mut of_user);
    // An entry of the project takes the place of the user's as a whole.
    let is_hidden = |one: &OwnedValue| {
        let below = |entry: &String| one.key.strip_prefix(entry.as_str());
        let mut rest = keys.iter().filter_map(below);
        rest.any(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    values.extend(of_user.into_iter().filter(|one| !is_hidden(one)));
    values.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(values)
}

/// Collects the values below a key; a list is one value.
fn collect(data: &Value, prefix: &str, file: &Path, values: &mut Vec<OwnedValue>) {
    for (key, value) in data.as_object().into_iter().flatten() {
        let key = format!("{prefix}{key}");
        if value.is_object() {
            collect(value, &format!("{key}."), file, values);
        } else {
            values.push(OwnedValue {
                key,
                value: value.clone(),
                file: file.to_owned(),
            });
        }
    }
}

/// Puts the config of a project over that of the user: an agent, the agent of a role, the permissions of a role, or the default agent takes the place of
/// the user's as a whole. Returns the dotted keys of what the project sets.
fn put_over(user: &mut Config, project: Config) -> Vec<String> {
    let mut keys = Vec::new();
    for (name, agent) in project.agents {
        keys.push(format!("agents.{name}"));
        user.agents.insert(name, agent);
    }
    let agents = put_roles_over(&mut user.agent_overrides, project.agent_overrides);
    let permissions = put_roles_over(&mut user.permission_overrides, project.permission_overrides);
    keys.extend(agents.iter().map(|role| format!("agentOverrides.{role}")));
    keys.extend(
        permissions
            .iter()
            .map(|role| format!("permissionOverrides.{role}")),
    );
    if let Some(agent) = project.default_agent {
        keys.push("defaultAgent".to_owned());
        user.default_agent = Some(agent);
    }
    keys
}

/// Puts what a project says about roles over what the user says. Returns the roles, as `<workflow>.<role>`.
fn put_roles_over<T>(user: &mut OfRoles<T>, project: OfRoles<T>) -> Vec<String> {
    let mut roles = Vec::new();
    for (workflow, of_project) in project {
        let of_user = user.entry(workflow.clone()).or_default();
        for (role, value) in of_project {
            roles.push(format!("{workflow}.{role}"));
            of_user.insert(role, value);
        }
    }
    roles
}

fn wrong(file: &Path, (line, column): (u64, u64), problem: String) -> ConfigError {
    ConfigError::Project {
        path: file.to_owned(),
        line,
        column,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(text: &str) -> ProjectConfig {
        ProjectConfig {
            folder: PathBuf::from("/p"),
            file: PathBuf::from("/p/.uwf/config.yaml"),
            text: text.to_owned(),
        }
    }

    fn error(text: &str) -> String {
        project(text).read().unwrap_err().to_string()
    }

    #[test]
    fn a_project_sets_agents_and_roles_over_those_of_the_user() {
        let user = project(
            "agents: { a: { command: user-a, timeout: 1h }, b: { command: user-b } }\ndefaultAgent: a\nagentOverrides: { w: { x: a, y: a } }",
        );
        let text = "agents: { a: { command: ./bin/a } }\nagentOverrides: { w: { x: b } }\npermissionOverrides: { w: { y: read } }";
        let mut both = user.read().unwrap();
        let set = put_over(&mut both, project(text).read().unwrap());
        assert_eq!(
            set,
            ["agents.a", "agentOverrides.w.x", "permissionOverrides.w.y"]
        );
        let a = &both.agents["a"];
        assert_eq!(
            (a.command.as_deref(), &a.timeout),
            (Some("/p/bin/a"), &None)
        );
        assert_eq!(both.agents["b"].command.as_deref(), Some("user-b"));
        assert_eq!(both.default_agent.as_deref(), Some("a"));
        let roles = &both.agent_overrides["w"];
        assert_eq!((roles["x"].as_str(), roles["y"].as_str()), ("b", "a"));
    }

    #[test]
    fn a_project_sets_nothing_else() {
        for key in [
            "providers",
            "models",
            "hooks",
            "limits",
            "concurrency",
            "extract",
            "nonsense",
        ] {
            let error = error(&format!("defaultAgent: a\n{key}: {{}}\n"));
            let begin = format!("`/p/.uwf/config.yaml:2:1`: `{key}` cannot be");
            assert!(error.starts_with(&begin), "{error}");
        }
        assert!(error("agents: { a: { comand: x } }").contains("did you mean `command`?"));
        assert!(error("- a").contains("mapping"));
        assert!(project("# nothing\n").read().is_ok());
    }
}
