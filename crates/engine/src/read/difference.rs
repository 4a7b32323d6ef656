//! Compares two threads from their last common step, or two steps.

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_thread::{Stored, steps};

use crate::read::detail_summary::DetailSummary;
use crate::read::history::History;
use crate::read::step_detail;
use crate::read::step_difference::{ComparedStep, StepDifference, TextHunk, text_hunks};
use crate::read::work::Work;
use crate::{EngineError, Site};

/// The difference between two threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadDifference {
    /// The first thread.
    pub a: ThreadId,
    /// The second thread.
    pub b: ThreadId,
    /// How many steps they have in common.
    pub common_steps: usize,
    /// The last of them, in the first thread.
    pub last_common: Option<CasRef>,
    /// The workflow of the first thread.
    pub a_workflow: CasRef,
    /// The workflow of the second thread.
    pub b_workflow: CasRef,
    /// The differences of the tasks.
    pub task: Vec<TextHunk>,
    /// The steps after the common ones, in pairs.
    pub steps: Vec<StepDifference>,
}

/// Compares two threads: their tasks, and in pairs the steps after those that they have in common. A step and its copy under
/// another workflow are the same work, so they are in common.
///
/// # Errors
/// When a thread is unknown or cannot be read.
pub fn diff_threads(
    site: &Site,
    a: ThreadId,
    b: ThreadId,
) -> Result<ThreadDifference, EngineError> {
    let (one, other) = (History::read(site, a)?, History::read(site, b)?);
    let pairs = one.steps.iter().zip(&other.steps);
    let common = pairs
        .take_while(|(one, other)| Work::of(&one.node) == Work::of(&other.node))
        .count();
    let mut differences = Vec::new();
    for at in common..one.steps.len().max(other.steps.len()) {
        let compared = |steps: &[Stored<StepNode>]| match steps.get(at) {
            Some(step) => compared(&site.store, step, at + 1).map(Some),
            None => Ok(None),
        };
        differences.extend(match (compared(&one.steps)?, compared(&other.steps)?) {
            (Some(one), Some(other)) => Some(StepDifference::between(one, other)),
            (Some(one), None) => Some(StepDifference::only_a(one)),
            (None, Some(other)) => Some(StepDifference::only_b(other)),
            (None, None) => None,
        });
    }
    Ok(ThreadDifference {
        a,
        b,
        common_steps: common,
        last_common: common.checked_sub(1).map(|last| one.steps[last].hash),
        a_workflow: one.start.workflow,
        b_workflow: other.start.workflow,
        task: text_hunks(&one.start.prompt, &other.start.prompt),
        steps: differences,
    })
}

/// Compares two steps.
///
/// # Errors
/// When a node is no step, or cannot be read.
pub fn diff_steps(site: &Site, a: CasRef, b: CasRef) -> Result<StepDifference, EngineError> {
    Ok(StepDifference::between(
        compared_with_place(&site.store, a)?,
        compared_with_place(&site.store, b)?,
    ))
}

/// Reads a step and counts those before it.
fn compared_with_place(store: &Store, hash: CasRef) -> Result<ComparedStep, EngineError> {
    step_detail::read(store, hash)?;
    let chain = steps(store, hash).collect::<Result<Vec<_>, _>>()?;
    let step = uwf_thread::read_step(store, hash)?;
    Ok(compared(store, &step, chain.len())?)
}

fn compared(
    store: &Store,
    step: &Stored<StepNode>,
    number: usize,
) -> Result<ComparedStep, StoreError> {
    let node = &step.node;
    let detail = store.need(node.detail)?;
    let text = uwf_thread::answer(store, &detail.payload)?;
    let output = store.find(node.output)?;
    Ok(ComparedStep {
        step: step.hash,
        number,
        role: node.role.clone(),
        agent: node.agent.clone(),
        duration_ms: node.duration_ms(),
        usage: DetailSummary::of(detail.type_hash, &detail.payload).usage,
        instruction: node.edge_prompt.clone().unwrap_or_default(),
        output: output.map_or(Value::Null, |node| node.payload),
        text: text.unwrap_or_default(),
    })
}
