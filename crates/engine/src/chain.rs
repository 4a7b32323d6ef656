//! Walking a thread's chain, and the summary that saves walking it.

use serde::Deserialize;
use uwf_cas_fs::{Node, Store};
use uwf_protocol::chain::{ChainSummary, StepContext};
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_storage::RunDir;

use crate::EngineError;

/// What a head can be.
pub(crate) enum Head {
    Start(StartNode),
    Step(StepNode),
}

/// Reads a head, of this version's shape or an older one: what it is shows in its fields.
pub(crate) fn read_head(store: &Store, hash: CasRef) -> Result<Head, EngineError> {
    let node = store.need(hash)?;
    if let Some(step) = as_step(&node) {
        return Ok(Head::Step(step));
    }
    match serde_json::from_value(node.payload) {
        Ok(start) => Ok(Head::Start(start)),
        Err(_) => Err(EngineError::WrongType {
            hash,
            expected: "thread's start or step",
            found: node.type_hash,
        }),
    }
}

/// Returns the payload as a step if it has a step's fields.
pub(crate) fn as_step(node: &Node) -> Option<StepNode> {
    node.payload.get("start")?;
    StepNode::deserialize(&node.payload).ok()
}

/// Reads a step that a chain names.
pub(crate) fn read_step(store: &Store, hash: CasRef) -> Result<StepNode, EngineError> {
    match read_head(store, hash)? {
        Head::Step(step) => Ok(step),
        Head::Start(_) => Err(EngineError::WrongType {
            hash,
            expected: "step",
            found: store.get(hash)?.type_hash,
        }),
    }
}

/// Returns the step with the data of its answer.
pub(crate) fn with_output(
    store: &Store,
    hash: CasRef,
    node: StepNode,
) -> Result<StepContext, EngineError> {
    let output = store.need(node.output)?.payload;
    Ok(StepContext { hash, node, output })
}

/// Visits the steps from a head back to the first, newest first, without the data of their answers.
pub(crate) fn walk(
    store: &Store,
    head: CasRef,
    mut visit: impl FnMut(CasRef, &StepNode) -> Walk,
) -> Result<(), EngineError> {
    let mut next = match read_head(store, head)? {
        Head::Start(_) => None,
        Head::Step(step) => Some((head, step)),
    };
    while let Some((hash, step)) = next {
        if matches!(visit(hash, &step), Walk::Stop) {
            return Ok(());
        }
        next = match step.prev {
            Some(prev) => Some((prev, read_step(store, prev)?)),
            None => None,
        };
    }
    Ok(())
}

/// Whether a walk goes on.
pub(crate) enum Walk {
    On,
    Stop,
}

/// Returns all steps up to a head, oldest first, without the data of their answers.
pub(crate) fn steps(store: &Store, head: CasRef) -> Result<Vec<(CasRef, StepNode)>, EngineError> {
    let mut steps = Vec::new();
    walk(store, head, |hash, step| {
        steps.push((hash, step.clone()));
        Walk::On
    })?;
    steps.reverse();
    Ok(steps)
}

/// Returns all steps up to a head, oldest first, with the data of their answers.
pub(crate) fn steps_with_outputs(
    store: &Store,
    head: CasRef,
) -> Result<Vec<StepContext>, EngineError> {
    steps(store, head)?
        .into_iter()
        .map(|(hash, step)| with_output(store, hash, step))
        .collect()
}

/// Returns the summary of the chain up to a head, and sees to it that it is on record for the agent.
///
/// Only a chain that grew behind the record's back, such as a fork's, is walked; and only as far as the
/// record does not reach.
pub(crate) fn summary(
    store: &Store,
    run: &RunDir,
    start: CasRef,
    head: CasRef,
) -> Result<ChainSummary, EngineError> {
    let recorded = run.chain_summary();
    let is_known = recorded
        .as_ref()
        .is_some_and(|summary| summary.head == head);
    let summary = summarize(store, recorded.as_ref(), start, head)?;
    if !is_known {
        run.write_chain_summary(&summary)?;
    }
    Ok(summary)
}

/// Returns the summary of the chain up to a head, given that of another one.
pub(crate) fn summarize(
    store: &Store,
    recorded: Option<&ChainSummary>,
    start: CasRef,
    head: CasRef,
) -> Result<ChainSummary, EngineError> {
    if let Some(summary) = recorded.filter(|summary| summary.head == head) {
        return Ok(summary.clone());
    }
    let mut missing = Vec::new();
    let mut base = ChainSummary::of_start(start);
    walk(store, head, |hash, step| {
        if let Some(summary) = recorded.filter(|summary| summary.head == hash) {
            base = summary.clone();
            return Walk::Stop;
        }
        missing.push((hash, step.role.clone()));
        Walk::On
    })?;
    for (hash, role) in missing.iter().rev() {
        base.push(*hash, role);
    }
    Ok(base)
}
