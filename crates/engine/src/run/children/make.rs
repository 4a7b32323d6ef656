//! Making a child thread: its start node, then its entry among the active threads.

use uwf_moderator::Assignment;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_protocol::work::{Player, alone};
use uwf_protocol::workflow_stored;
use uwf_storage::{State, StorageError};

use crate::children::Child;
use crate::run::contract;
use crate::thread::Thread;
use crate::{EngineError, Runner, tags};

/// Makes a child thread and returns its start node. Its parent is locked by this process, so nobody else makes it.
pub(super) fn make(
    runner: &Runner,
    thread: &Thread,
    assignment: &Assignment,
    child: &Child,
) -> Result<CasRef, EngineError> {
    let site = &runner.site;
    let directory = contract::working_directory(site, thread, assignment)?;
    let _hold = site.store.hold()?;
    let now_ms = site.env.now_ms();
    let mut batch = site.store.batch();
    let workflow = match &child.planned.player {
        Player::Workflow(workflow) => *workflow,
        Player::Role(role) => {
            let Program::Graph(workflow) = &thread.program;
            let (type_hash, payload) = workflow_stored::to_payload(&alone(workflow, role));
            batch.put(type_hash, &payload, now_ms)?
        }
    };
    let start = StartNode {
        workflow,
        prompt: child.planned.prompt.clone(),
        cwd: Some(directory.display().to_string()),
        parent: Some(child.parent.clone()),
    };
    let payload = serde_json::to_value(&start).expect("a start node is plain data");
    batch.put(schemas::META, &schemas::start_node_of_child(), now_ms)?;
    let start = batch.put(schemas::START_NODE_OF_CHILD, &payload, now_ms)?;
    batch.commit()?;
    match State::new(&site.root).insert(child.thread, start) {
        // The node of an earlier call of ours would be the same.
        Ok(()) | Err(StorageError::ThreadExists(_)) => {}
        Err(error) => return Err(error.into()),
    }
    site.log_line(
        tags::THREAD_CREATED,
        &format!("thread created head={start} parent={}", thread.id),
        Some(child.thread),
        Some(workflow),
    );
    Ok(start)
}
