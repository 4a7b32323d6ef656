//! What the name of a workflow means in the working directory, and what that hides.

use std::path::PathBuf;

use serde::Serialize;
use uwf_config::project;
use uwf_protocol::ids::CasRef;
use uwf_storage::State;

use super::workflow_source;
use super::workflows::WorkflowOrigin;
use crate::workflow_ref::nearest;
use crate::{EngineError, Site};

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowMeaning {
    /// The name.
    pub name: String,
    /// What `start` uses.
    pub used: NamedWorkflow,
    /// What it hides, the nearest first.
    pub hidden: Vec<NamedWorkflow>,
}

/// A workflow that has a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedWorkflow {
    /// Where it is.
    pub origin: WorkflowOrigin,
    /// The file, or the registry.
    pub path: PathBuf,
    /// The node that it is, or would be, in the store; `None` if its file has mistakes.
    pub hash: Option<CasRef>,
}

/// Tells what a name means here: a file of the project, or a workflow of the registry.
///
/// # Errors
/// [`EngineError::UnknownWorkflow`], or when the registry or the project's folder cannot be read.
pub fn meaning(site: &Site, name: &str) -> Result<WorkflowMeaning, EngineError> {
    let name = name.trim();
    let files = project::discover_all(name, site.env.cwd())?.into_iter();
    let mut found: Vec<NamedWorkflow> = files
        .map(|path| NamedWorkflow {
            origin: WorkflowOrigin::Local,
            hash: workflow_source::of_file(site, path.clone())
                .ok()
                .map(|source| source.hash),
            path,
        })
        .collect();
    let state = State::new(&site.root);
    let registered = state.registered(name)?.into_iter();
    found.extend(registered.map(|(path, hash)| NamedWorkflow {
        origin: WorkflowOrigin::Global,
        path,
        hash: Some(hash),
    }));
    if found.is_empty() {
        let known = state.workflows()?.into_keys();
        return Err(EngineError::UnknownWorkflow {
            name: name.to_owned(),
            near: nearest(site, name, known)?,
        });
    }
    let used = found.remove(0);
    Ok(WorkflowMeaning {
        name: name.to_owned(),
        used,
        hidden: found,
    })
}
