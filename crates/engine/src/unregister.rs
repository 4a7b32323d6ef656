//! Removing the name of a workflow, and giving it back to an earlier one.

use serde::Serialize;
use uwf_protocol::ids::CasRef;
use uwf_storage::{Registering, State, Unregistered};
use uwf_thread::read_program;

use crate::read::versions::workflow_history;
use crate::workflow_ref::not_registered;
use crate::{EngineError, Site, WorkflowUseError};

/// A name that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedName {
    /// The name.
    pub name: String,
    /// The workflow that it stood for.
    pub hash: CasRef,
}

/// A name that stands for an earlier workflow again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RolledBack {
    /// The name.
    pub name: String,
    /// The workflow.
    pub hash: CasRef,
    /// What it stood for until now.
    pub before: Option<CasRef>,
}

/// Removes a name from the registry. Threads go on, because they name their workflow by its hash.
///
/// # Errors
/// [`EngineError::UnknownWorkflow`], [`WorkflowUseError::Foreign`], or when the registry cannot be read or written.
pub fn remove_name(site: &Site, name: &str) -> Result<RemovedName, EngineError> {
    let state = State::new(&site.root);
    let names = state.workflows()?;
    if !names.contains_key(name) {
        return Err(not_registered(name, names.into_keys()));
    }
    match state.unregister(name, site.env.now_ms())? {
        Unregistered::Done(hash) => Ok(RemovedName {
            name: name.to_owned(),
            hash,
        }),
        Unregistered::Unknown => Err(not_registered(name, names.into_keys())),
        Unregistered::Foreign => Err(WorkflowUseError::Foreign(name.to_owned()).into()),
    }
}

/// Gives a name back to an earlier workflow: the one that `version` names, else the newest one that differs from what it
/// stands for now.
///
/// # Errors
/// [`EngineError::UnknownWorkflow`] and [`EngineError::WorkflowUse`], when the earlier workflow is not in the store any more,
/// or when the registry cannot be read or written.
pub fn roll_back(
    site: &Site,
    name: &str,
    version: Option<&str>,
) -> Result<RolledBack, EngineError> {
    let history = workflow_history(site, name)?;
    let hash = history.choose(version)?;
    // The garbage collector must not remove the workflow before it has its name again.
    let _hold = site.store.hold()?;
    read_program(&site.store, hash)?;
    let now_ms = site.env.now_ms();
    State::new(&site.root).register(&history.name, hash, Registering::Rollback, now_ms)?;
    Ok(RolledBack {
        name: history.name,
        hash,
        before: history.current,
    })
}
