//! The workflows that can be started from here, and one of them in full.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use serde_json::Value;
use uwf_config::project;
use uwf_protocol::ids::CasRef;
use uwf_storage::State;

use crate::workflow_ref::{self, Found, HiddenWorkflow, Origin};
use crate::{EngineError, Site};

/// A workflow that can be started by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowItem {
    /// The name.
    pub name: String,
    /// The workflow; a local file has no hash until it is started, and shows as `(local)`.
    #[serde(serialize_with = "hash_or_local")]
    pub hash: Option<CasRef>,
    /// Where it was found.
    pub origin: WorkflowOrigin,
    /// The file of a local one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// Where a listed workflow was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkflowOrigin {
    /// In the folder of a project.
    Local,
    /// In the registry.
    Global,
}

/// A stored workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowView {
    /// The workflow node.
    pub hash: CasRef,
    /// The name it is registered under, or the name of the file it was read from.
    pub name: Option<String>,
    /// The hash of its schema.
    #[serde(rename = "type")]
    pub type_hash: CasRef,
    /// The workflow as it is stored.
    pub payload: Value,
    /// When it was first stored, in milliseconds since 1970.
    pub timestamp: i64,
    /// The other workflow that is registered by the name, if a project's file was chosen in its place.
    #[serde(skip)]
    pub hidden: Option<HiddenWorkflow>,
}

fn hash_or_local<S: Serializer>(hash: &Option<CasRef>, serializer: S) -> Result<S::Ok, S::Error> {
    match hash {
        Some(hash) => hash.serialize(serializer),
        None => serializer.serialize_str("(local)"),
    }
}

/// Lists the workflows that `start` finds by name: the local ones of the project, then the registered ones that no local one
/// hides.
///
/// # Errors
/// When the registry or the project's folder cannot be read.
pub fn list_workflows(site: &Site) -> Result<Vec<WorkflowItem>, EngineError> {
    let local = project::list_local(site.env.cwd())?;
    let local = local.into_iter().map(|found| WorkflowItem {
        name: found.name,
        hash: None,
        origin: WorkflowOrigin::Local,
        path: Some(found.path),
    });
    let registered = State::new(&site.root).workflows()?;
    Ok(shadowing(local.collect(), registered))
}

/// Returns the local workflows, then the registered ones whose names are still free.
fn shadowing(
    local: Vec<WorkflowItem>,
    registered: impl IntoIterator<Item = (String, CasRef)>,
) -> Vec<WorkflowItem> {
    let taken: HashSet<String> = local.iter().map(|item| item.name.clone()).collect();
    let free = registered
        .into_iter()
        .filter(|(name, _)| !taken.contains(name));
    let global = free.map(|(name, hash)| WorkflowItem {
        name,
        hash: Some(hash),
        origin: WorkflowOrigin::Global,
        path: None,
    });
    local.into_iter().chain(global).collect()
}

/// Finds a workflow as `start` does, and returns it in full. A file is checked and stored first.
///
/// # Errors
/// When there is no such workflow, or its file has errors: then with all of them.
pub fn show_workflow(site: &Site, text: &str) -> Result<WorkflowView, EngineError> {
    site.create()?;
    let Found {
        hash,
        origin,
        hidden,
        ..
    } = workflow_ref::resolve(site, text)?;
    let node = site.store.get(hash)?;
    let registered = State::new(&site.root).workflows()?;
    let name = registered
        .into_iter()
        .find(|(_, known)| *known == hash)
        .map(|(name, _)| name);
    let own_name = || match origin {
        Origin::File(_) => Some(node.payload.get("name")?.as_str()?.to_owned()),
        Origin::Hash | Origin::Registry => None,
    };
    Ok(WorkflowView {
        hash,
        name: name.or_else(own_name),
        type_hash: node.type_hash,
        payload: node.payload,
        timestamp: node.timestamp_ms,
        hidden,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash() -> CasRef {
        "0123456789ABC".parse().unwrap()
    }

    #[test]
    fn a_local_workflow_hides_a_registered_one_of_its_name() {
        let local = WorkflowItem {
            name: "demo".to_owned(),
            hash: None,
            origin: WorkflowOrigin::Local,
            path: Some("/p/.workflow/demo.yaml".into()),
        };
        let registered = [("demo".to_owned(), hash()), ("other".to_owned(), hash())];
        let items = shadowing(vec![local], registered);
        let shown = serde_json::to_string(&items).unwrap();
        let expected = r#"[{"name":"demo","hash":"(local)","origin":"local","path":"/p/.workflow/demo.yaml"},{"name":"other","hash":"0123456789ABC","origin":"global"}]"#;
        assert_eq!(shown, expected);
    }
}
