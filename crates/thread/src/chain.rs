//! The chain of a thread: its steps from a head back to the first, with the data of their answers.

use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::StepNode;

use crate::{Head, Stored, ThreadError, read_step};

/// Returns the steps up to a head, newest first. A step is read when it is asked for.
#[must_use]
pub fn steps(store: &Store, head: CasRef) -> Steps<'_> {
    Steps {
        store,
        next: Some(Next::Head(head)),
    }
}

/// The steps of a thread, newest first. It ends after the first error.
#[derive(Debug)]
pub struct Steps<'a> {
    store: &'a Store,
    next: Option<Next>,
}

/// The node that is read next.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// A start or a step.
    Head(CasRef),
    /// The step before another one.
    Step(CasRef),
}

impl Iterator for Steps<'_> {
    type Item = Result<Stored<StepNode>, ThreadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = match self.next.take()? {
            Next::Head(hash) => Head::read(self.store, hash).map(Head::into_step),
            Next::Step(hash) => read_step(self.store, hash).map(Some),
        };
        let step = read.transpose()?;
        if let Ok(step) = &step {
            self.next = step.node.prev.map(Next::Step);
        }
        Some(step)
    }
}

/// Returns all steps up to a head, oldest first, with the data of their answers.
///
/// # Errors
/// When a node of the chain, or an output, cannot be read.
pub fn steps_with_outputs(store: &Store, head: CasRef) -> Result<Vec<StepContext>, ThreadError> {
    let steps: Result<Vec<_>, _> = steps(store, head).collect();
    let oldest_first = steps?.into_iter().rev();
    let steps: Result<Vec<_>, _> = oldest_first.map(|step| with_output(store, step)).collect();
    Ok(steps?)
}

/// Returns a step with the data of its answer.
///
/// # Errors
/// When the output cannot be read.
pub fn with_output(store: &Store, step: Stored<StepNode>) -> Result<StepContext, StoreError> {
    let Stored { hash, node, .. } = step;
    let output = output(store, &node)?;
    Ok(StepContext { hash, node, output })
}

/// Returns the data of a step's answer.
///
/// # Errors
/// When it cannot be read.
pub fn output(store: &Store, step: &StepNode) -> Result<Value, StoreError> {
    Ok(store.need(step.output)?.payload)
}
