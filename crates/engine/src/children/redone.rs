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
    for player in players(site, thread)? {
        match player.place {
            Located::Active(_) => return Ok(Redone::AtWork(player.thread)),
            Located::Archived(record)
                if record.head != player.head && record.reason == Reason::Completed =>
            {
                return Ok(Redone::Done);
            }
            Located::Archived(_) => {}
        }
    }
    Ok(Redone::No)
}

/// Returns the error that a child does the newest step of a thread again: what follows would go on with the old result.
pub(crate) fn done_again(thread: &Thread, child: ThreadId) -> EngineError {
    let last = thread.last().expect("a child did the newest step");
    failed(thread.id, &last.node.role, ChildProblem::DoneAgain(child))
}

/// Returns what the child of the newest step used up since that step.
pub(crate) fn used_since(site: &Site, thread: &Thread) -> Result<Used, EngineError> {
    let mut used = Used::default();
    let players = players(site, thread)?;
    let (Some(last), false) = (thread.last(), players.is_empty()) else {
        return Ok(used);
    };
    for player in players {
        let is_active = player.place.end().is_none();
        used.add_all(&used_by_thread(
            site,
            player.thread,
            player.place.head(),
            is_active,
        )?);
    }
    Ok(used.beyond(&used_by(&site.store, last.hash)?))
}

/// A thread that played the role of the newest step.
struct Player {
    thread: ThreadId,
    /// The head that it had then.
    head: CasRef,
    /// Where it is now.
    place: Located,
}

/// Returns the thread that played the role of the newest step, if it is still there. The step of a fork is one of the original,
/// whose child does not work for the fork.
fn players(site: &Site, thread: &Thread) -> Result<Vec<Player>, EngineError> {
    let Some(last) = thread.last() else {
        return Ok(Vec::new());
    };
    let work = thread.program.task(&last.node.role).map(|role| &role.work);
    if !matches!(work, Some(Work::Workflow(_))) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for child in recorded(site, last)? {
        // Of a child that was removed the nodes may be gone, too.
        let Some(place) = State::new(&site.root).find(child.thread)? else {
            continue;
        };
        let parent = parent_at(site, child.thread, place.head())?;
        if parent.is_some_and(|parent| parent.thread == thread.id) {
            found.push(Player {
                thread: child.thread,
                head: child.head,
                place,
            });
        }
    }
    Ok(found)
}
