//! What can be wrong with a workflow that is well formed, found before a thread is started.
use serde_json::Value;
use uwf_protocol::workflow::{Problem, Workflow};

/// Returns every problem of a workflow.
#[must_use]
pub fn validate(workflow: &Workflow<Value>) -> Vec<Problem> {
    let _ = workflow;
    Vec::new()
}
