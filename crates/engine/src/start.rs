//! Recording a task as a new thread. Nothing is run.

use std::path::PathBuf;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::schemas;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::State;

use crate::{Engine, EngineError, tags, workflow_ref};

/// What the task is.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// What the agents are asked to do.
    pub prompt: String,
    /// Where they work; ours if absent. A relative path starts at our directory.
    pub cwd: Option<PathBuf>,
}

/// A thread that was recorded.
#[derive(Debug, Clone)]
pub struct Started {
    /// The workflow that it is pinned to.
    pub workflow: CasRef,
    /// The thread.
    pub thread: ThreadId,
    /// What is probably not meant in the workflow's file.
    pub warnings: Vec<Diagnostic>,
}

/// Finds the workflow, writes the start node and makes the thread active.
///
/// # Errors
/// When the workflow cannot be found or has errors, the prompt is blank, or the directory is missing.
pub fn start(
    engine: &Engine,
    workflow: &str,
    options: &StartOptions,
) -> Result<Started, EngineError> {
    if options.prompt.trim().is_empty() {
        return Err(EngineError::EmptyPrompt);
    }
    let cwd = directory(engine, options.cwd.as_ref())?;
    engine.create()?;
    let _hold = engine.store.hold()?;
    let found = workflow_ref::resolve(engine, workflow)?;
    let workflow = found.hash;
    let node = StartNode {
        workflow,
        prompt: options.prompt.clone(),
        cwd: Some(cwd),
    };
    let payload = serde_json::to_value(&node).expect("a start node is plain data");
    let head = engine
        .store
        .put(schemas::START_NODE, &payload, engine.env.now_ms())?;
    let thread = engine.new_thread_id()?;
    State::new(&engine.root).insert(thread, head)?;
    engine.log_line(
        tags::THREAD_CREATED,
        &format!("thread created head={head}"),
        Some(thread),
        Some(workflow),
    );
    Ok(Started {
        workflow,
        thread,
        warnings: found.warnings,
    })
}

fn directory(engine: &Engine, given: Option<&PathBuf>) -> Result<String, EngineError> {
    let path = match given {
        Some(given) => engine.env.cwd().join(given),
        None => engine.env.cwd().to_owned(),
    };
    match path.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path.display().to_string()),
        Ok(_) | Err(_) => Err(EngineError::NoDirectory(path.display().to_string())),
    }
}
