//! What children used up that no step of their parent counts yet. It includes failed attempts, killed children and children of
//! children.

use std::collections::{BTreeMap, HashSet};

use uwf_moderator::{Assignment, Route};
use uwf_protocol::child::UsedByEnded;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::program::Program;
use uwf_storage::{Ledger, Located, State, ThreadLock};
use uwf_thread::summarize;

use super::of_step::active_for;
use super::{Child, children_of, has_children, parent_at, taken_up};
use crate::pipelines::route::recorded_route_of;
use crate::read::outline::used_by;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// Sums of what children used up. Those of ended children are on record, so a call reads one file for all of them. They hold as
/// long as nobody takes the child up again. If more of an ended child comes from elsewhere, they are [forgotten](forget_above).
pub(crate) struct Sums<'a> {
    ledger: &'a Ledger,
    ended: BTreeMap<ThreadId, UsedByEnded>,
    is_new: bool,
}

impl<'a> Sums<'a> {
    /// Returns the sums on record in the ledger of the parent.
    pub(crate) fn read(ledger: &'a Ledger) -> Self {
        Self {
            ledger,
            ended: ledger.used_by_ended(),
            is_new: false,
        }
    }

    /// Returns what these children used up.
    pub(crate) fn of(&mut self, site: &Site, children: &[Child]) -> Result<Used, EngineError> {
        let mut all = Used::default();
        for child in children {
            let head = child.place.as_ref().map(Located::head);
            if child.kept_steps.is_some() {
                continue;
            }
            let known = self.ended.get(&child.thread);
            if let Some(known) = known.filter(|known| child.is_ended() && Some(known.head) == head)
            {
                all.add_all(&known.used);
                continue;
            }
            let used = used_by_child(site, child)?;
            all.add_all(&used);
            if child.is_ended()
                && let Some(head) = head
            {
                self.is_new = true;
                self.ended.insert(child.thread, UsedByEnded { head, used });
            }
        }
        if self.is_new {
            // Those of earlier steps are not needed any more.
            let wanted: HashSet<ThreadId> = children.iter().map(|child| child.thread).collect();
            self.ended.retain(|child, _| wanted.contains(child));
        }
        Ok(all)
    }

    /// Puts the sums of children that have ended since on record. Only the process that has the parent's lock may do so.
    pub(crate) fn keep(&self) -> Result<(), EngineError> {
        if self.is_new {
            self.ledger.write_used_by_ended(&self.ended)?;
        }
        Ok(())
    }
}

/// Lets the threads that an ended thread works for forget the sums of their ended children, because more of what it used up is about
/// to be known. Returns their locks, which the caller keeps until it is; `None` if somebody works on one of them.
pub(crate) fn forget_above(
    site: &Site,
    id: ThreadId,
    head: CasRef,
) -> Result<Option<Vec<ThreadLock>>, EngineError> {
    let state = State::new(&site.root);
    let mut locks = Vec::new();
    let mut below = (id, head);
    while let Some(parent) = parent_at(site, below.0, below.1)?
        && let Some(place) = state.find(parent.thread)?
    {
        let run = site.root.run(parent.thread);
        if run.exists() {
            let Some(lock) = run.lease.acquire_if_free()? else {
                return Ok(None);
            };
            locks.push(lock);
            if !run.ledger.used_by_ended().is_empty() {
                run.ledger.write_used_by_ended(&BTreeMap::new())?;
            }
        }
        below = (parent.thread, place.head());
    }
    Ok(Some(locks))
}

/// Returns what the children of the next step of a thread used up.
pub(crate) fn used_in_progress(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    sums: &mut Sums<'_>,
) -> Result<Used, EngineError> {
    match children_of(site, thread, assignment, None) {
        Ok(children) => sums.of(site, &children),
        // Where it is unknown which ones are needed, none was made.
        Err(EngineError::Child(_)) => Ok(Used::default()),
        Err(error) => Err(error),
    }
}

/// Returns what a child used up, and the killed children before it; nothing if an earlier step has counted it.
pub(crate) fn used_by_child(site: &Site, child: &Child) -> Result<Used, EngineError> {
    if child.kept_steps.is_some() {
        return Ok(Used::default());
    }
    let place = child.place.as_ref();
    let current = place.map(|place| (child.thread, place.head(), place.end().is_none()));
    let killed = child.killed.iter().map(|one| (one.thread, one.head, true));
    let mut used = Used::default();
    for (thread, head, has_more) in killed.chain(current) {
        used.add_all(&used_by_thread(site, thread, head, has_more)?);
    }
    Ok(used)
}

/// Returns what a thread used up. One that has not reached its end may have children that are part of no step.
pub(crate) fn used_by_thread(
    site: &Site,
    id: ThreadId,
    head: CasRef,
    has_more: bool,
) -> Result<Used, EngineError> {
    let ledger = site.root.run(id).ledger;
    let mut used = used_by(site, &ledger, head)?;
    used.child_steps += summarize(&site.store, ledger.chain_summary().as_ref(), head)?.steps;
    // The children of a thread that did not reach its end are part of no step.
    if has_more {
        let thread = Thread::load(&site.store, id, head)?;
        used.add_all(&used_for_next(site, &thread, &ledger)?);
    }
    Ok(used)
}

/// Returns what the children used up that work for the next step of a thread, which may be a run.
fn used_for_next(site: &Site, thread: &Thread, ledger: &Ledger) -> Result<Used, EngineError> {
    match &thread.program {
        Program::Pipeline(pipeline) if pipeline.starts_workflows() => {
            let at = (thread.id, thread.head);
            let Ok(Route::To(next)) = recorded_route_of(site, thread.id, thread.head)? else {
                return Ok(Used::default());
            };
            match active_for(site, at, &next.role)? {
                Some((child, head)) => used_by_thread(site, child, head, true),
                None => Ok(Used::default()),
            }
        }
        Program::Graph(_) if has_children(&thread.program) => {
            match taken_up::route(site, thread, None)? {
                Ok(Route::To(assignment)) => {
                    used_in_progress(site, thread, &assignment, &mut Sums::read(ledger))
                }
                Ok(_) | Err(_) => Ok(Used::default()),
            }
        }
        Program::Pipeline(_) | Program::Graph(_) => Ok(Used::default()),
    }
}

/// Returns what an active thread used up, with the children of its next step; nothing if it has ended meanwhile.
pub(crate) fn used_by_active(site: &Site, id: ThreadId) -> Result<Used, EngineError> {
    match State::new(&site.root).head(id)? {
        Some(head) => used_by_thread(site, id, head, true),
        None => Ok(Used::default()),
    }
}
