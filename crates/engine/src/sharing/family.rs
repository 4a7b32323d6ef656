//! Brings the families of shared threads from the remote: children, and the threads that they work for.
//!
//! The id of a child follows from the head and the role of its parent. So a machine that has the parent can ask the remote for each
//! child that the next step needs, and the remote keeps no list of children ("A shared thread" in `docs/architecture.md`).

use std::collections::HashSet;
use std::time::Duration;

use uwf_moderator::{Assignment, Performer, Route};
use uwf_pipeline::nodes::{ARCHIVE_KEY, RESUME_KEY};
use uwf_process::Signals;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::program::Program;
use uwf_protocol::work::{FAILED, Work};
use uwf_remote::{Found, Owner, Remote};
use uwf_storage::{Located, State};
use uwf_thread::steps;

use super::error::SharingError;
use super::fetch::{Fetched, fetch};
use super::{merged_record, owner};
use crate::children::of_step::{self, ids_for_next};
use crate::children::{
    Child, children_by_parent, children_of, has_children, named_by, parent_at, recorded, taken_up,
};
use crate::thread::Thread;
use crate::{EngineError, Site};

/// Brings threads from the remote, each with its family, as far as the remote has it. No thread is brought twice.
#[derive(Debug, Default)]
pub struct FamilyFetch {
    seen: HashSet<ThreadId>,
    /// The threads that were fetched, in that order.
    pub fetched: Vec<Fetched>,
}

impl FamilyFetch {
    /// Brings a thread, its children with theirs, and those of the threads that it works for that are not here.
    ///
    /// # Errors
    /// As [`fetch`]. What was fetched before the error stays.
    pub fn fetch(
        &mut self,
        site: &Site,
        remote: &mut dyn Remote,
        id: ThreadId,
    ) -> Result<(), EngineError> {
        if !self.seen.insert(id) {
            return Ok(());
        }
        self.fetched.push(fetch(site, remote, id)?);
        let Some(place) = State::new(&site.root).find(id)? else {
            return Ok(());
        };
        let head = place.head();
        if let Some(parent) = parent_at(site, id, head)?
            && State::new(&site.root).find(parent.thread)?.is_none()
            && there(remote, parent.thread, None)?.is_some()
        {
            self.fetch(site, remote, parent.thread)?;
        }
        let thread = Thread::load(&site.store, id, head)?;
        if !thread.is_run() && !has_children(&thread.program) {
            return Ok(());
        }
        for child in open_of_chain(site, &thread)? {
            if !self.seen.contains(&child) && there(remote, child, None)?.is_some() {
                self.fetch(site, remote, child)?;
            }
        }
        if let Located::Archived(_) = place {
            return self.fetch_active_children(site, remote, id);
        }
        if thread.is_run() {
            return self.fetch_of_run(site, remote, &thread);
        }
        each_needed(site, remote, &thread, None, &mut |remote, child, _| {
            self.fetch(site, remote, child.thread)
        })
    }

    /// Brings the children of an ended thread that are still active here. If another machine has ended the thread, they have ended
    /// with it.
    fn fetch_active_children(
        &mut self,
        site: &Site,
        remote: &mut dyn Remote,
        parent: ThreadId,
    ) -> Result<(), EngineError> {
        let children = children_by_parent(site)?.remove(&parent);
        for child in children.into_iter().flatten() {
            let is_active = matches!(child.place, Located::Active(_));
            if is_active && there(remote, child.thread, None)?.is_some() {
                self.fetch(site, remote, child.thread)?;
            }
        }
        Ok(())
    }

    /// Brings the children of the next step of a run.
    fn fetch_of_run(
        &mut self,
        site: &Site,
        remote: &mut dyn Remote,
        run: &Thread,
    ) -> Result<(), EngineError> {
        each_of_run(site, remote, run, &mut |remote, child| {
            self.fetch(site, remote, child)
        })
    }
}

/// Calls a function with each child of the next step of a run that the remote knows.
fn each_of_run(
    site: &Site,
    remote: &mut dyn Remote,
    run: &Thread,
    bring: &mut dyn FnMut(&mut dyn Remote, ThreadId) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    if State::new(&site.root).head(run.id)?.is_none() {
        return Ok(());
    }
    for child in ids_for_next(site, run)? {
        if there(remote, child, None)?.is_none() {
            break;
        }
        bring(remote, child)?;
    }
    Ok(())
}

/// Brings the children for the next step of a thread that are not here. A child that is here stays as it is.
pub(crate) fn bring_missing_children(
    site: &Site,
    remote: &mut dyn Remote,
    thread: &Thread,
) -> Result<(), EngineError> {
    let state = State::new(&site.root);
    let mut bring = |remote: &mut dyn Remote, child: ThreadId| match state.find(child)? {
        Some(_) => Ok(()),
        None => fetch_child(site, remote, child),
    };
    if thread.is_run() {
        return each_of_run(site, remote, thread, &mut bring);
    }
    each_needed(site, remote, thread, None, &mut |remote, child, _| {
        bring(remote, child.thread)
    })
}

/// Brings those of the threads that a thread works for that are not here. They say in which folder it works.
pub(crate) fn bring_those_above(
    site: &Site,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<(), EngineError> {
    let state = State::new(&site.root);
    let mut below = id;
    while let Some(place) = state.find(below)?
        && let Some(parent) = parent_at(site, below, place.head())?
    {
        if state.find(parent.thread)?.is_none() {
            fetch(site, remote, parent.thread)?;
        }
        below = parent.thread;
    }
    Ok(())
}

/// Brings what other machines have done for the next step of a thread. `at_work` is called for each child on which another machine
/// works.
pub(crate) fn bring_for_step(
    site: &Site,
    remote: &mut dyn Remote,
    thread: &Thread,
    signals: &Signals,
    at_work: &mut dyn FnMut(ThreadId, (Owner, Duration)),
) -> Result<(), EngineError> {
    bring_of_last(site, remote, thread)?;
    let bring: &mut Bring<'_> = &mut |remote, child, found| {
        if let Some(busy) = at_work_elsewhere(site, found)? {
            at_work(child.thread, busy);
        }
        if !has_news(site, child, found)? {
            return Ok(());
        }
        fetch_child(site, remote, child.thread)
    };
    each_needed(site, remote, thread, Some(signals), bring)
}

/// Brings a child for the next step of its parent. A child that has diverged stays as it is here.
pub(crate) fn fetch_child(
    site: &Site,
    remote: &mut dyn Remote,
    child: ThreadId,
) -> Result<(), EngineError> {
    match fetch(site, remote, child) {
        Ok(_) => Ok(()),
        // A step of the child tells that it has diverged. Its siblings go on.
        Err(EngineError::Sharing(error)) if matches!(*error, SharingError::Diverged { .. }) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Returns who works on a thread, if the lease is not that of this root. The next step here takes over a lease of this root.
fn at_work_elsewhere(site: &Site, found: &Found) -> Result<Option<(Owner, Duration)>, EngineError> {
    let own = site.root.shared(found.listed.thread).read()?;
    let own = own.map(|own| owner(&own));
    let busy = found.listed.busy.clone();
    Ok(busy.filter(|(by, _)| own.as_ref() != Some(by)))
}

/// Tells whether the remote knows something about a child that is not known here.
fn has_news(site: &Site, child: &Child, found: &Found) -> Result<bool, EngineError> {
    let here = child.place.as_ref().map(Located::head);
    let is_behind = here != Some(found.listed.head) || found.listed.status == HeadStatus::Ended;
    // A failed attempt leaves the head where it is.
    Ok(is_behind || merged_record(&site.root.run(child.thread), &found.record)?.is_some())
}

/// Brings children that did the newest step of a thread. Those that are active here come, because their work is over. Those that
/// are not here come only if the step has failed: a person may have the role done again, which needs all of its children here.
fn bring_of_last(site: &Site, remote: &mut dyn Remote, thread: &Thread) -> Result<(), EngineError> {
    let Some(last) = thread.last() else {
        return Ok(());
    };
    let state = State::new(&site.root);
    for child in recorded(site, last)? {
        let is_wanted = match state.find(child.thread)? {
            Some(Located::Archived(_)) => false,
            Some(Located::Active(_)) => true,
            None => last.output[STATUS_FIELD] == FAILED,
        };
        if is_wanted && there(remote, child.thread, None)?.is_some() {
            fetch(site, remote, child.thread)?;
        }
    }
    Ok(())
}

/// A function that brings a child.
type Bring<'a> = dyn FnMut(&mut dyn Remote, &Child, &Found) -> Result<(), EngineError> + 'a;

/// Calls `bring` with each child that the next step of a thread needs, that has not ended here, and that the remote knows. If the
/// brought child was ended by a person, the branch has another child, which is looked for next.
fn each_needed(
    site: &Site,
    remote: &mut dyn Remote,
    thread: &Thread,
    signals: Option<&Signals>,
    bring: &mut Bring<'_>,
) -> Result<(), EngineError> {
    let Some(assignment) = assignment_of_children(site, thread, signals)? else {
        return Ok(());
    };
    let mut asked = HashSet::new();
    loop {
        let children = match children_of(site, thread, &assignment, signals) {
            Ok(children) => children,
            // If it is unknown which children are needed, none was made.
            Err(EngineError::Child(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut has_come = false;
        for child in children.iter().filter(|child| !child.is_ended()) {
            if !asked.insert(child.thread) {
                continue;
            }
            let here = child.place.as_ref().map(Located::head);
            if let Some(found) = there(remote, child.thread, here)? {
                bring(remote, child, &found)?;
                has_come = true;
            }
        }
        if !has_come {
            return Ok(());
        }
    }
}

/// Returns the assignment of the next step of a thread, if its children do it.
fn assignment_of_children(
    site: &Site,
    thread: &Thread,
    signals: Option<&Signals>,
) -> Result<Option<Assignment>, EngineError> {
    if !has_children(&thread.program) {
        return Ok(None);
    }
    Ok(match taken_up::route(site, thread, signals)? {
        Ok(Route::To(assignment)) if assignment.performer == Performer::Children => {
            Some(assignment)
        }
        Ok(_) | Err(_) => None,
    })
}

/// Returns the children that the steps of a thread name, unless they have ended here. The steps of a fork name children of the
/// original thread. These are left out, because they belong to another family.
fn open_of_chain(site: &Site, thread: &Thread) -> Result<Vec<ThreadId>, EngineError> {
    let state = State::new(&site.root);
    let mut open = Vec::new();
    for step in steps(&site.store, thread.head) {
        let step = step?;
        let task = thread.program.task(&step.node.role);
        if task.is_some_and(|task| task.work == Work::Agent) {
            continue;
        }
        let named = match &thread.program {
            Program::Pipeline(_) if is_visit(&step.node.role) => {
                of_step::named_by(site, step.node.detail)?
            }
            Program::Pipeline(_) => continue,
            Program::Graph(_) => {
                let named = named_by(site, step.node.detail)?.into_iter();
                named.map(|child| child.thread).collect()
            }
        };
        for child in named {
            if !child.may_be_child_of(&thread.id) {
                continue;
            }
            match state.find(child)? {
                Some(Located::Archived(_)) => {}
                Some(Located::Active(_)) | None => open.push(child),
            }
        }
    }
    Ok(open)
}

/// Tells whether a step of a run belongs to a step of its pipeline.
fn is_visit(role: &RoleName) -> bool {
    ![RESUME_KEY, ARCHIVE_KEY].contains(&role.as_str())
}

/// Returns a thread of the remote, if the remote knows it.
pub(crate) fn there(
    remote: &mut dyn Remote,
    thread: ThreadId,
    here: Option<CasRef>,
) -> Result<Option<Found>, EngineError> {
    let asked = here.unwrap_or_else(|| CasRef::from_u64(0));
    Ok(remote.find(thread, asked).map_err(SharingError::from)?)
}
