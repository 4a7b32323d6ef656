//! Recording a task as a new thread. Nothing is run.

use std::path::PathBuf;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Naming;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::schemas;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::{State, StorageError};

use crate::workflow_ref::HiddenWorkflow;
use crate::{EngineError, Site, check_files, register, tags, workflow_ref};

/// The task of a new thread.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// What the agents are asked to do.
    pub prompt: String,
    /// Where they work; our directory if absent. A relative path starts at our directory.
    pub cwd: Option<PathBuf>,
    /// Its name and its labels.
    pub naming: Naming,
}

/// A thread that was recorded.
#[derive(Debug, Clone)]
pub struct Started {
    /// The workflow that it is pinned to.
    pub workflow: CasRef,
    /// The thread.
    pub thread: ThreadId,
    /// Its name and its labels.
    pub naming: Naming,
    /// The warnings about the workflow's file.
    pub warnings: Vec<Diagnostic>,
    /// The other workflow that is registered by the name, if a project's file was chosen in its place.
    pub hidden: Option<HiddenWorkflow>,
}

/// Finds the workflow, writes the start node and makes the thread active.
///
/// # Errors
/// When the workflow cannot be found, has errors or needs more levels of threads than the config allows, the prompt is blank, the directory is missing, or another thread has
/// the name. Then there is no new thread.
pub fn start(site: &Site, workflow: &str, options: &StartOptions) -> Result<Started, EngineError> {
    if options.prompt.trim().is_empty() {
        return Err(EngineError::EmptyPrompt);
    }
    let cwd = directory(site, options.cwd.as_ref())?;
    site.create()?;
    let _hold = site.store.hold()?;
    let found = workflow_ref::resolve(site, workflow)?;
    let workflow = found.hash;
    register::refuse_depth(site, workflow)?;
    let node = StartNode {
        workflow,
        prompt: options.prompt.clone(),
        check_files: check_files::pin(&site.store, workflow, Some(&cwd), &[])?,
        cwd: Some(cwd),
        parent: None,
        run: None,
    };
    let payload = serde_json::to_value(&node).expect("a start node is plain data");
    let now_ms = site.env.now_ms();
    let mut batch = site.store.batch();
    let start_type = check_files::put_schema(&mut batch, &node, now_ms)?;
    let start_type = start_type.unwrap_or(schemas::START_NODE);
    let head = batch.put(start_type, &payload, now_ms)?;
    batch.commit()?;
    let thread = site.new_thread_id()?;
    State::new(&site.root).insert_named(thread, head, &options.naming)?;
    site.note_use(thread);
    site.log_line(
        tags::THREAD_CREATED,
        &format!("thread created head={head}"),
        Some(thread),
        Some(workflow),
    );
    Ok(Started {
        workflow,
        thread,
        naming: options.naming.clone(),
        warnings: found.warnings,
        hidden: found.hidden,
    })
}

/// Returns our directory as new threads record it.
///
/// # Errors
/// [`EngineError::NoDirectory`] if it is gone, and when its name is no text.
pub fn working_directory(site: &Site) -> Result<String, EngineError> {
    directory(site, None)
}

fn directory(site: &Site, given: Option<&PathBuf>) -> Result<String, EngineError> {
    let path = match given {
        Some(given) => site.env.cwd().join(given),
        None => site.env.cwd().to_owned(),
    };
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(StorageError::recordable(&path)?.to_owned()),
        Ok(_) | Err(_) => Err(EngineError::NoDirectory(path.display().to_string())),
    }
}
