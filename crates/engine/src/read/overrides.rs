//! Overrides of the config that concern no role of any workflow: most likely, a name is misspelled.

use std::collections::{BTreeMap, BTreeSet};

use uwf_config::project;
use uwf_protocol::config::Config;
use uwf_thread::read_program;
use uwf_util::suggest;

use crate::read::selection::stored_workflows;
use crate::{EngineError, Site};

/// A key of the config that concerns no role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleOverride {
    /// The key, such as `permissionOverrides.review.editor`.
    pub key: String,
    /// The name that nothing has.
    pub unknown: String,
    /// A name that is nearly the same.
    pub near: Option<String>,
}

/// Returns the overrides for workflows and roles that are neither stored nor in the project's folder.
///
/// # Errors
/// When the store or the folder cannot be read.
pub fn idle_overrides(site: &Site, config: &Config) -> Result<Vec<IdleOverride>, EngineError> {
    let agents = config.agent_overrides.iter();
    let agents =
        agents.flat_map(|(workflow, roles)| keys("agentOverrides", workflow, roles.keys()));
    let permissions = config.permission_overrides.iter();
    let permissions = permissions
        .flat_map(|(workflow, roles)| keys("permissionOverrides", workflow, roles.keys()));
    let keys: Vec<Key<'_>> = agents.chain(permissions).collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let known = roles(site)?;
    // Their files are read when they are started.
    let local = project::list_local(site.env.cwd())?;
    let local: BTreeSet<String> = local.into_iter().map(|found| found.name).collect();
    let idle = keys
        .into_iter()
        .filter_map(|key| match known.get(key.workflow) {
            Some(roles) if roles.contains(key.role) => None,
            Some(roles) => Some(key.idle(key.role, roles.iter())),
            None if local.contains(key.workflow) => None,
            None => Some(key.idle(key.workflow, known.keys().chain(&local))),
        });
    Ok(idle.collect())
}

struct Key<'a> {
    group: &'static str,
    workflow: &'a str,
    role: &'a str,
}

fn keys<'a>(
    group: &'static str,
    workflow: &'a str,
    roles: impl Iterator<Item = &'a String>,
) -> impl Iterator<Item = Key<'a>> {
    roles.map(move |role| Key {
        group,
        workflow,
        role,
    })
}

impl Key<'_> {
    fn idle<'n>(&self, unknown: &str, names: impl Iterator<Item = &'n String>) -> IdleOverride {
        let near = suggest::nearest(unknown, names.map(String::as_str));
        IdleOverride {
            key: format!("{}.{}.{}", self.group, self.workflow, self.role),
            unknown: unknown.to_owned(),
            near: near.map(str::to_owned),
        }
    }
}

/// Returns the roles of all stored workflows, by the names of these. All versions of a workflow count.
fn roles(site: &Site) -> Result<BTreeMap<String, BTreeSet<String>>, EngineError> {
    let mut roles: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (hash, name) in stored_workflows(site)? {
        let known = roles.entry(name).or_default();
        if let Ok(program) = read_program(&site.store, hash) {
            known.extend(program.roles().map(ToString::to_string));
        }
    }
    Ok(roles)
}
