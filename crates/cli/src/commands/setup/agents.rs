//! Finds the agents that can run here: built-in ones whose tool is installed, and programs on PATH.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use uwf_agents::{LaunchTarget, launch_target};
use uwf_storage::Env;

/// An agent that can be chosen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its name, without `uwf-`.
    pub(super) name: String,
    /// Where it was found.
    pub(super) origin: String,
}

/// Returns the agents that can run here: first those that need only a model, then those whose tool is installed, then
/// programs on PATH, sorted.
pub(super) fn discover(env: &Env, built_in: &[&str]) -> Vec<Found> {
    let mut found = Vec::new();
    for name in built_in {
        if launch_target(name, &[]) == LaunchTarget::Model {
            found.push(Found {
                name: (*name).to_owned(),
                origin: "built in, uses the model".to_owned(),
            });
        }
    }
    for name in built_in {
        if let LaunchTarget::Tool(tool) = launch_target(name, &[])
            && let Some(path) = env.find_program(&tool)
        {
            found.push(Found {
                name: (*name).to_owned(),
                origin: format!("built in, drives {}", path.display()),
            });
        }
    }
    for (name, path) in programs_on_path(env) {
        if found.iter().all(|known| known.name != name) {
            found.push(Found {
                name,
                origin: path.display().to_string(),
            });
        }
    }
    found
}

/// Returns every `uwf-<name>` on PATH, by name. Of several with one name it is the one that would run.
fn programs_on_path(env: &Env) -> BTreeMap<String, PathBuf> {
    let mut programs = BTreeMap::new();
    for directory in env.search_path() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let file = entry.file_name();
            let name = file.to_str().and_then(|file| file.strip_prefix("uwf-"));
            if let Some(name) = name.filter(|name| !name.is_empty())
                && is_program(&entry.path())
            {
                programs
                    .entry(name.to_owned())
                    .or_insert_with(|| entry.path());
            }
        }
    }
    programs
}

/// Tells whether a file can be run.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_built_in_drive_a_tool_or_lie_on_the_path() {
        let temp = tempfile::tempdir().unwrap();
        for (name, mode) in [("hermes", 0o755), ("uwf-mine", 0o755), ("uwf-no", 0o644)] {
            let path = temp.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = temp.path().to_str().unwrap();
        let env = Env::from_parts(&[("PATH", path)], "/", 0, 0);
        let built_in = ["mock", "codex", "hermes", "builtin"];
        let found = discover(&env, &built_in);
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["builtin", "hermes", "mine"]);
        assert!(found[1].origin.ends_with("/hermes"));
    }
}
