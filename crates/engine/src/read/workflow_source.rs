//! A workflow in full, with the schemas of its roles, wherever a word finds it. Nothing is stored.

use std::path::PathBuf;

use serde_json::{Value, json};
use uwf_config::project;
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow::Workflow;
use uwf_protocol::workflow_export;
use uwf_storage::State;

use crate::pipelines::error::PipelineError;
use crate::register::{self, Checked, Children, Place, put_pipeline};
use crate::workflow_ref::{find_file, nearest, not_registered};
use crate::{EngineError, Site, stored_workflow};

/// A workflow as it may stand in a file.
pub(crate) struct WorkflowSource {
    pub(crate) workflow: Workflow<Value>,
    /// The node that it is, or would be, in the store.
    pub(crate) hash: CasRef,
    /// The file that it was read from; `None` if it is in the store.
    pub(crate) file: Option<PathBuf>,
    /// The workflows that play its roles, if they were found with its file. In the store they are named by their hashes.
    pub(crate) children: Children,
}

/// Finds a workflow as `start` does.
pub(crate) fn find(site: &Site, text: &str) -> Result<WorkflowSource, EngineError> {
    let text = text.trim();
    if let Ok(hash) = text.parse::<CasRef>() {
        return stored(site, hash);
    }
    match find_file(site.env.cwd(), text)? {
        Some(file) => of_file(site, file),
        None => match registered(site, text) {
            Err(EngineError::UnknownWorkflow { name, .. }) => {
                let known = State::new(&site.root).workflows()?.into_keys();
                let near = nearest(site, &name, known)?;
                Err(EngineError::UnknownWorkflow { name, near })
            }
            found => found,
        },
    }
}

/// Returns the workflow that is registered under a name.
pub(crate) fn registered(site: &Site, name: &str) -> Result<WorkflowSource, EngineError> {
    let registered = State::new(&site.root).workflows()?;
    match registered.get(name) {
        Some(hash) => stored(site, *hash),
        None => Err(not_registered(name, registered.into_keys())),
    }
}

/// Returns the workflow of the project that has a name, if there is a file of it.
pub(crate) fn local(site: &Site, name: &str) -> Result<Option<WorkflowSource>, EngineError> {
    let file = project::discover(name, site.env.cwd())?;
    file.map(|file| of_file(site, file)).transpose()
}

/// Reads and checks a workflow file.
pub(crate) fn of_file(site: &Site, file: PathBuf) -> Result<WorkflowSource, EngineError> {
    let checked = register::check_file(site, &file)?;
    Ok(WorkflowSource {
        file: Some(file),
        ..of_checked(site, checked)?
    })
}

/// Returns the workflow that plays a role of another one.
pub(crate) fn of_place(site: &Site, place: Place) -> Result<WorkflowSource, EngineError> {
    match place {
        Place::Stored(hash) | Place::Registered(hash) => stored(site, hash),
        Place::File(checked) => of_checked(site, *checked),
        place @ Place::Pipeline(_) => {
            Err(PipelineError::NoGraph(hash_of_place(site, place)?).into())
        }
    }
}

/// Returns the hash that what plays a role has in the store.
fn hash_of_place(site: &Site, place: Place) -> Result<CasRef, EngineError> {
    match place {
        Place::Pipeline(pipeline) => {
            put_pipeline(&mut site.store.batch(), &pipeline, site.env.now_ms())
        }
        place => Ok(of_place(site, place)?.hash),
    }
}

/// Returns the workflow with the hashes of those that play its roles, in place of the words that name them.
pub(crate) fn with_hashes(
    site: &Site,
    source: &WorkflowSource,
) -> Result<Workflow<Value>, EngineError> {
    let hash_of = |word: &Value| match source.children.get(word.as_str().unwrap_or_default()) {
        Some(child) => Ok(json!(hash_of_place(site, child.place.clone())?)),
        None => Ok::<_, EngineError>(word.clone()),
    };
    let mut workflow = source.workflow.clone();
    for role in workflow.roles.values_mut() {
        role.work = role.work.try_map(hash_of)?;
    }
    Ok(workflow)
}

fn of_checked(site: &Site, checked: Checked) -> Result<WorkflowSource, EngineError> {
    Ok(WorkflowSource {
        hash: register::hash_of(site, checked.clone())?,
        workflow: workflow_export::without_titles(checked.workflow),
        file: None,
        children: checked.children,
    })
}

fn stored(site: &Site, hash: CasRef) -> Result<WorkflowSource, EngineError> {
    Ok(WorkflowSource {
        workflow: stored_workflow::with_schemas(site, hash)?,
        hash,
        file: None,
        children: Children::new(),
    })
}
