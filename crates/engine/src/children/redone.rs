//! The newest step of a thread, if a child did it and does it again: a person poked the thread, or took the child up again.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::work::Work;
use uwf_storage::{Located, Reason, State};
use uwf_thread::used_by;

use super::used::used_by_thread;
use super::{parent_at, recorded};
use crate::child_error::{ChildProblem, failed};
use crate::thread::Thread;
use crate::{EngineError, Site};

/// What has become of the child that did the newest step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redone {
    /// The step has what it did.
    No,
    /// It is active again.
    AtWork(ThreadId),
    /// It has come to another end, which no step of its parent has.
    Done,
}

/// Returns what has become of the child that did the newest step of a thread.
pub(crate) fn redone(site: &Site, thread: &Thread) -> Result<Redone, EngineError> {
    for (child, head) in players(site, thread)? {
        match State::new(&site.root).find(child)? {
            Some(Located::Active(_)) => return Ok(Redone::AtWork(child)),
            Some(Located::Archived(record))
                if record.head != head && record.reason == Reason::Completed =>
            {
                return Ok(Redone::Done);
            }
            Some(Located::Archived(_)) | None => {}
        }
    }
    Ok(Redone::No)
}

/// Fails if a child does the newest step of a thread again: what follows would go on with the old result.
pub(crate) fn refuse_while_redone(site: &Site, thread: &Thread) -> Result<(), EngineError> {
    match (thread.last(), redone(site, thread)?) {
        (Some(last), Redone::AtWork(child)) => {
            let problem = ChildProblem::DoneAgain(child);
            Err(failed(thread.id, &last.node.role, problem))
        }
        _ => Ok(()),
    }
}

/// Returns what the child of the newest step used up since that step.
pub(crate) fn used_since(site: &Site, thread: &Thread) -> Result<Used, EngineError> {
    let mut used = Used::default();
    let Some(last) = thread.last() else {
        return Ok(used);
    };
    for (child, _) in players(site, thread)? {
        if let Some(place) = State::new(&site.root).find(child)? {
            let is_active = place.end().is_none();
            used.add_all(&used_by_thread(site, child, place.head(), is_active)?);
        }
    }
    match used == Used::default() {
        true => Ok(used),
        false => Ok(used.beyond(&used_by(&site.store, last.hash)?)),
    }
}

/// Returns the thread that played the role of the newest step, with the head that it had then. The step of a fork is one of the
/// original, whose child does not work for the fork.
fn players(site: &Site, thread: &Thread) -> Result<Vec<(ThreadId, CasRef)>, EngineError> {
    let Some(last) = thread.last() else {
        return Ok(Vec::new());
    };
    let work = thread.program.task(&last.node.role).map(|role| &role.work);
    if !matches!(work, Some(Work::Workflow(_))) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for child in recorded(site, last)? {
        if parent_at(site, child.thread, child.head)?
            .is_some_and(|parent| parent.thread == thread.id)
        {
            found.push((child.thread, child.head));
        }
    }
    Ok(found)
}
