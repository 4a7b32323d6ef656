//! What differs between two workflows, each named by a word.

use std::path::PathBuf;

use serde::Serialize;
use uwf_config::project;
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow_diff::WorkflowDiff;

use super::workflow_source::{self, WorkflowSource};
use crate::{EngineError, Site, WorkflowUseError};

/// One of two workflows that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComparedWorkflow {
    /// Its name.
    pub name: String,
    /// The node that it is, or would be, in the store.
    pub hash: CasRef,
    /// The file that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// Two workflows and what differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowDifference {
    /// The first.
    pub before: ComparedWorkflow,
    /// The second.
    pub after: ComparedWorkflow,
    /// Whether both are the same node.
    pub same: bool,
    /// What differs between them.
    pub diff: WorkflowDiff,
}

/// Compares two workflows, each found as `start` does. Nothing is stored.
///
/// # Errors
/// When one of them is not there, cannot be read, or has errors.
pub fn diff_workflows(
    site: &Site,
    before: &str,
    after: &str,
) -> Result<WorkflowDifference, EngineError> {
    let before = workflow_source::find(site, before)?;
    let after = workflow_source::find(site, after)?;
    compared(site, &before, &after)
}

/// Compares the registered workflow with the file of the project that has its name, or with the file of this path.
///
/// # Errors
/// [`WorkflowUseError::NotLocal`] if no file of the project has the name, and see [`diff_workflows`].
pub fn diff_with_registered(site: &Site, text: &str) -> Result<WorkflowDifference, EngineError> {
    let text = text.trim();
    let after = if project::looks_like_path(text) {
        workflow_source::of_file(site, text.into())?
    } else {
        let local = workflow_source::local(site, text)?;
        local.ok_or_else(|| WorkflowUseError::NotLocal(text.to_owned()))?
    };
    let before = workflow_source::registered(site, &after.workflow.name)?;
    compared(site, &before, &after)
}

fn compared(
    site: &Site,
    before: &WorkflowSource,
    after: &WorkflowSource,
) -> Result<WorkflowDifference, EngineError> {
    let side = |source: &WorkflowSource| ComparedWorkflow {
        name: source.workflow.name.clone(),
        hash: source.hash,
        path: source.file.clone(),
    };
    // A file names another workflow by a path, the store by a hash.
    let [old, new] = [before, after].map(|source| workflow_source::with_hashes(site, source));
    Ok(WorkflowDifference {
        before: side(before),
        after: side(after),
        same: before.hash == after.hash,
        diff: WorkflowDiff::between(&old?, &new?),
    })
}
