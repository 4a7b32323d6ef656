//! What an earlier process of a run has left: steps after the head. They are committed if they follow it, and kept beside the run otherwise.

use uwf_cas_fs::StoreError;
use uwf_moderator::head_status;
use uwf_pipeline::nodes::VisitNode;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::Pending;
use uwf_remote::After;
use uwf_storage::{Advance, RunDir, State};
use uwf_thread::{Head, steps};

use super::commit::{before_end, texts_of};
use crate::astray::Astray;
use crate::pipelines::chain::payload;
use crate::pipelines::route::route_of;
use crate::run::refused::{self, Found};
use crate::run::shared::{AtRemote, NewHead, SharedThread};
use crate::sharing::error::SharingError;
use crate::sharing::has_on_its_way;
use crate::{EngineError, Runner, tags};

/// Commits the steps that an earlier process added after the head, and returns the head then.
pub(crate) fn adopt(
    runner: &Runner,
    (run, shared): (&RunDir, Option<&SharedThread>),
    (thread, start, head): (ThreadId, CasRef, CasRef),
) -> Result<CasRef, EngineError> {
    let Some(pending) = run.outbox.read_pending()? else {
        return Ok(head);
    };
    let adopted = adopt_pending(runner, (run, shared), (thread, start, head), &pending)?;
    if let Some(shared) = shared {
        // What other machines used up was not joined while the step waited.
        shared.merge_record(run)?;
    }
    Ok(adopted)
}

fn adopt_pending(
    runner: &Runner,
    (run, shared): (&RunDir, Option<&SharedThread>),
    (thread, start, head): (ThreadId, CasRef, CasRef),
    pending: &Pending,
) -> Result<CasRef, EngineError> {
    let nodes = match renewed(runner, (start, head), pending.step) {
        Ok(Some(nodes)) => nodes,
        Ok(None) => {
            refuse_pending(runner, run, (thread, head), pending)?;
            return Ok(head);
        }
        // The record survived a power cut, and the nodes did not.
        Err(EngineError::Store(error)) if is_unwritten(&error, head) => {
            run.outbox.clear_pending()?;
            return Ok(head);
        }
        Err(error) => return Err(error),
    };
    if !nodes.is_empty() {
        if let Some(shared) = shared {
            share_adopted(runner, run, shared, (thread, head, pending.step))?;
        }
        let advanced = State::new(&runner.site.root).advance(thread, head, pending.step)?;
        if advanced != Advance::Moved {
            return Err(crate::thread::busy(thread, None));
        }
        let message = format!("step={}", pending.step);
        runner
            .site
            .log_line(tags::ADOPTED, &message, Some(thread), None);
    }
    run.outbox.clear_pending()?;
    Ok(pending.step)
}

/// Moves the head at the remote to the step that an earlier process added.
fn share_adopted(
    runner: &Runner,
    run: &RunDir,
    shared: &SharedThread,
    (thread, from, to): (ThreadId, CasRef, CasRef),
) -> Result<(), EngineError> {
    let site = &runner.site;
    let new = NewHead {
        from,
        to,
        status: before_end(head_status(&route_of(&site.store, thread, to)?)),
        lease: After::Keep,
    };
    match shared.advance(site, run, &new)? {
        AtRemote::Moved => Ok(()),
        AtRemote::Elsewhere { .. } | AtRemote::LeaseLost => {
            Err(SharingError::TakenOver(thread).into())
        }
    }
}

/// Tells whether a node after the head was not written, or not wholly. What the head itself needs may come back by a repair.
pub(super) fn is_unwritten(error: &StoreError, head: CasRef) -> bool {
    match error {
        StoreError::NotFound { hash }
        | StoreError::Lost { hash }
        | StoreError::Damaged { hash, .. } => *hash != head,
        _ => false,
    }
}

/// Makes the nodes of the steps after a head durable, up to a step, and returns them; `None` if that step does not follow
/// the head. They may have been written before an error of the disk that nobody saw.
fn renewed(
    runner: &Runner,
    (start, head): (CasRef, CasRef),
    step: CasRef,
) -> Result<Option<Vec<CasRef>>, EngineError> {
    let nodes = nodes_between(runner, start, head, step)?;
    if let Some(nodes) = &nodes {
        runner.site.store.renew(nodes)?;
    }
    Ok(nodes)
}

/// Returns the nodes of the steps after a head, up to a step; `None` if that step does not follow the head.
fn nodes_between(
    runner: &Runner,
    start: CasRef,
    head: CasRef,
    step: CasRef,
) -> Result<Option<Vec<CasRef>>, EngineError> {
    let store = &runner.site.store;
    let mut nodes = Vec::new();
    for step in steps(store, step) {
        let step = step?;
        if step.hash == head {
            return Ok(Some(nodes));
        }
        let visit: VisitNode = payload(store, step.node.detail)?;
        nodes.extend([step.hash, step.node.output, step.node.detail]);
        nodes.extend(step.node.assembled_prompt);
        nodes.extend(texts_of(&visit));
        if step.node.prev.is_none() {
            return Ok((step.node.start == head && start == head).then_some(nodes));
        }
    }
    Ok(None)
}

/// Keeps a step of an earlier process that does not follow the head, and tells the person. Its nodes become durable. If one of
/// them is gone, only the record of the step is removed, and also if the thread has the step: another machine went on from it. Returns
/// the step if it is kept.
pub(crate) fn refuse_pending(
    runner: &Runner,
    run: &RunDir,
    (thread, head): (ThreadId, CasRef),
    pending: &Pending,
) -> Result<Option<CasRef>, EngineError> {
    let site = &runner.site;
    if has_on_its_way(site, head, pending.step)? {
        run.outbox.clear_pending()?;
        return Ok(None);
    }
    let start = Head::read(&site.store, head)?.start();
    refused::log(runner, thread, pending.step);
    let found = match renewed(runner, (start, pending.head), pending.step) {
        Ok(_) => Found::Whole(None),
        Err(EngineError::Store(error))
            if refused::is_gone(&error) && is_unwritten(&error, pending.head) =>
        {
            run.outbox.clear_pending()?;
            return Ok(None);
        }
        Err(EngineError::Store(StoreError::Damaged { .. })) => Found::Unreadable,
        Err(error) => return Err(error),
    };
    Astray::of(pending).keep_and_tell(runner, run, &found)?;
    Ok(Some(pending.step))
}
