//! Checking the step that an agent names before the head may move to it.

use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::answer::is_suspension;
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::Detail;
use uwf_protocol::schemas;

use crate::EngineError;
use crate::chain::as_step;
use crate::thread::Thread;

/// Why a step is not what the agent was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the agent's step was refused: {0}")]
    Unfit(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads a step and checks that it continues this thread, was done by this role, and that its answer fits
/// the role's schema.
pub(crate) fn check(
    store: &Store,
    thread: &Thread,
    role: &RoleName,
    hash: CasRef,
) -> Result<StepContext, Refusal> {
    let unfit = |why: String| Err(Refusal::Unfit(why));
    let Some(node) = store.find(hash)? else {
        return unfit(format!("`{hash}` is not in the store"));
    };
    let Some(step) = as_step(&node) else {
        return unfit(format!(
            "`{hash}` is not a step (its type is `{}`)",
            node.type_hash
        ));
    };
    if let Err(error) = store.validate(node.type_hash, &node.payload) {
        return unfit(format!(
            "`{hash}` does not fit the schema of steps: {error}"
        ));
    }
    if step.start != thread.start_hash {
        return unfit(format!(
            "`{hash}` belongs to a thread that starts at `{}`",
            step.start
        ));
    }
    if step.prev != thread.prev_of_next() {
        return unfit(format!(
            "`{hash}` does not follow the thread's head `{}`",
            thread.head
        ));
    }
    if &step.role != role {
        return unfit(format!(
            "`{hash}` was done by `{}`, not by `{role}`",
            step.role
        ));
    }
    if !store.has(step.detail)? {
        return unfit(format!(
            "its detail node `{}` is not in the store",
            step.detail
        ));
    }
    let Some(output) = store.find(step.output)? else {
        return unfit(format!(
            "its output node `{}` is not in the store",
            step.output
        ));
    };
    if output.type_hash == schemas::OBJECT && is_suspension(&output.payload).is_some() {
        return Ok(StepContext {
            hash,
            node: step,
            output: output.payload,
        });
    }
    let expected = thread.workflow.roles.get(role).map(|role| role.schema);
    if expected != Some(output.type_hash) {
        return unfit(format!(
            "its output is typed by `{}`, which is not the schema of `{role}`",
            output.type_hash
        ));
    }
    if let Err(error) = store.validate(output.type_hash, &output.payload) {
        return unfit(format!(
            "its output does not fit the schema of `{role}`: {error}"
        ));
    }
    Ok(StepContext {
        hash,
        node: step,
        output: output.payload,
    })
}

/// Returns the nodes that a step brought with it: what must be on disk before the head moves to it.
pub(crate) fn closure(store: &Store, step: &StepContext) -> Result<Vec<CasRef>, EngineError> {
    let node = &step.node;
    let mut closure = vec![node.output];
    closure.extend(node.assembled_prompt);
    closure.extend(reached_from_detail(store, node.detail)?);
    closure.push(step.hash);
    Ok(closure)
}

/// Returns the detail node and what it refers to. What our own kit wrote is read without its schema.
fn reached_from_detail(store: &Store, hash: CasRef) -> Result<Vec<CasRef>, EngineError> {
    let node = store.get(hash)?;
    if node.type_hash == schemas::DETAIL
        && let Ok(detail) = serde_json::from_value::<Detail>(node.payload)
    {
        let mut reached = detail.turns;
        reached.extend([detail.raw, hash]);
        return Ok(reached);
    }
    Ok(store.walk(hash)?)
}
