//! What a child thread that was completed answers to its parent.

use serde_json::{Value, json};
use uwf_cas_fs::Store;
use uwf_pipeline::nodes::{ARCHIVE_KEY, RESUME_KEY, result_of_payload};
use uwf_protocol::chain::StepContext;
use uwf_protocol::nodes::StepNode;
use uwf_protocol::program::Program;
use uwf_thread::{steps, steps_with_outputs};

use crate::EngineError;
use crate::thread::Thread;

/// Returns the data of the last step: what a role answered, or what came of a step of a pipeline.
pub(crate) fn answer_of(store: &Store, thread: &Thread) -> Result<Value, EngineError> {
    let Program::Pipeline(_) = thread.program else {
        return Ok(thread.last().map_or(json!({}), |last| last.output.clone()));
    };
    if thread.head == thread.start_hash {
        return Ok(json!({}));
    }
    for step in steps(store, thread.head) {
        let step = step?;
        if !is_control(&step.node) {
            let result = result_of_payload(store.need(step.node.output)?.payload);
            return Ok(result.map_or(json!({}), |result| result.answer()));
        }
    }
    Ok(json!({}))
}

/// Returns the steps of a completed child for an expression. The output of a step of a pipeline is its result, with `json` as
/// data.
pub(crate) fn steps_for_expression(
    store: &Store,
    thread: &Thread,
) -> Result<Vec<StepContext>, EngineError> {
    let mut steps = steps_with_outputs(store, thread.head)?;
    if thread.is_run() {
        steps.retain(|step| !is_control(&step.node));
        for step in &mut steps {
            if let Ok(result) = result_of_payload(step.output.clone()) {
                step.output = json!(result);
            }
        }
    }
    Ok(steps)
}

/// Tells whether a step is none of a pipeline.
fn is_control(step: &StepNode) -> bool {
    [RESUME_KEY, ARCHIVE_KEY].contains(&step.role.as_str())
}
