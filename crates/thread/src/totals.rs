//! The totals of a chain: how many steps it has, which roles did them, and what they used up. Recorded totals of an earlier
//! head save reading the steps up to it.

use uwf_cas_fs::Store;
use uwf_protocol::chain::{ChainSummary, ChainUsage};
use uwf_protocol::child::ChildrenDetail;
use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Used;
use uwf_protocol::nodes::{StepNode, Usage};

use crate::{ThreadError, read_start, read_step, steps};

/// Returns the summary of the chain up to a head. If the recorded summary is of an earlier head of the chain, only the steps
/// after it are read.
///
/// # Errors
/// When a node of the chain cannot be read.
pub fn summarize(
    store: &Store,
    recorded: Option<&ChainSummary>,
    head: CasRef,
) -> Result<ChainSummary, ThreadError> {
    if let Some(summary) = recorded.filter(|summary| summary.head == head) {
        return Ok(summary.clone());
    }
    let mut missing = Vec::new();
    let mut summary = ChainSummary::of_start(head);
    for step in steps(store, head) {
        let step = step?;
        if let Some(recorded) = recorded.filter(|recorded| recorded.head == step.hash) {
            summary = recorded.clone();
            break;
        }
        missing.push((step.hash, step.node.role, step.node.start));
    }
    let is_run = match missing.last() {
        Some((.., start)) => read_start(store, *start)?.node.run.is_some(),
        None => false,
    };
    for (hash, role, _) in missing.into_iter().rev() {
        // There may be a step for each of very many items. Their visits are counted together.
        match is_run {
            true => summary.push(hash, &role.without_indices()),
            false => summary.push(hash, &role),
        }
    }
    Ok(summary)
}

/// Returns what the steps up to a head used up. If the recorded usage is of an earlier head of the chain, only the steps
/// after it are read.
///
/// # Errors
/// When a node of the chain, or a detail, cannot be read.
pub fn used_up_to(
    store: &Store,
    recorded: Option<&ChainUsage>,
    head: CasRef,
) -> Result<ChainUsage, ThreadError> {
    if let Some(usage) = recorded.filter(|usage| usage.head == head) {
        return Ok(usage.clone());
    }
    let mut missing = Vec::new();
    let mut used = Used::default();
    for step in steps(store, head) {
        let step = step?;
        if let Some(usage) = recorded.filter(|usage| usage.head == step.hash) {
            used = usage.used.clone();
            break;
        }
        missing.push(step.node);
    }
    for step in missing.iter().rev() {
        add(store, step, &mut used)?;
    }
    Ok(ChainUsage { head, used })
}

/// Returns what one step used up.
///
/// # Errors
/// When the node is not a step, or its detail cannot be read.
pub fn used_by(store: &Store, step: CasRef) -> Result<Used, ThreadError> {
    let mut used = Used::default();
    add(store, &read_step(store, step)?.node, &mut used)?;
    Ok(used)
}

/// Returns what a step used up that another one replaced: it left the chain, and was paid for. `None` if it cannot be read, and for a
/// step of children: the same children did the step that replaces it, and that counts all they did.
#[must_use]
pub fn used_by_replaced(store: &Store, step: CasRef) -> Option<Used> {
    let used = used_by(store, step).ok()?;
    (used.child_steps == 0).then_some(used)
}

/// Returns what the agent of a step used up; `None` if children did the step.
///
/// # Errors
/// When its detail cannot be read.
pub fn usage_of(store: &Store, step: &StepNode) -> Result<Option<Usage>, ThreadError> {
    let detail = store.need(step.detail)?;
    let is_of_children = ChildrenDetail::of(detail.type_hash, &detail.payload).is_some();
    let usage = || Usage::of_step(&step.agent, detail.type_hash, &detail.payload);
    Ok((!is_of_children).then(usage))
}

fn add(store: &Store, step: &StepNode, used: &mut Used) -> Result<(), ThreadError> {
    let detail = store.need(step.detail)?;
    if let Some(detail) = ChildrenDetail::of(detail.type_hash, &detail.payload) {
        used.add_all(&detail.used);
        return Ok(());
    }
    let usage = Usage::of_step(&step.agent, detail.type_hash, &detail.payload);
    used.add(Some(&usage), step.duration_ms());
    Ok(())
}
