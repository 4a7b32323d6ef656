//! Brings what a step of a shared thread needs of its family: children, and the threads that it works for.
//!
//! The id of a child follows from the head and the role of its parent. So a machine that has the parent can ask the remote for the
//! children that the next step needs, and the remote keeps no list of children ("A shared thread" in `docs/architecture.md`).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use uwf_moderator::{Assignment, Performer, Route};
use uwf_process::Signals;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::work::FAILED;
use uwf_remote::{Found, Owner, Remote, RemoteError};
use uwf_storage::{Located, State};

use super::error::SharingError;
use super::fetch::{Fetched, There, ask, bring_threads, fetch};
use super::{merged_record, owner};
use crate::children::of_step::ids_for_next;
use crate::children::{Child, children_of, has_children, parent_at, recorded, taken_up};
use crate::thread::Thread;
use crate::{EngineError, Site};

/// Tells whether a thread went on here in another way than at the remote.
pub(crate) fn has_diverged(error: &EngineError) -> bool {
    matches!(error, EngineError::Sharing(error) if matches!(**error, SharingError::Diverged { .. }))
}

/// Brings the children for the next step of a thread that are not here. A child that is here stays as it is.
pub(crate) fn bring_missing_children(
    site: &Site,
    remote: &mut dyn Remote,
    thread: &Thread,
) -> Result<(), EngineError> {
    if !thread.is_run() {
        return each_needed(site, remote, thread, None, &mut |remote, mut children| {
            children.retain(|child| child.here.is_none());
            bring_children(site, remote, &children)
        });
    }
    let state = State::new(&site.root);
    if state.head(thread.id)?.is_none() {
        return Ok(());
    }
    for child in ids_for_next(site, thread)? {
        let Some(found) = there(remote, child, None)? else {
            break;
        };
        if state.find(child)?.is_none() {
            bring_children(site, remote, &[There { found, here: None }])?;
        }
    }
    Ok(())
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
    each_needed(
        site,
        remote,
        thread,
        Some(signals),
        &mut |remote, children| {
            give_label_of(remote, thread.id, &children)?;
            let mut news = Vec::new();
            for child in children {
                if let Some(busy) = at_work_elsewhere(site, &child.found)? {
                    at_work(child.found.listed.thread, busy);
                }
                if has_news(site, &child)? {
                    news.push(child);
                }
            }
            bring_children(site, remote, &news)
        },
    )
}

/// Gives children that are not here the label of their parent. The call that put them at the remote may have died before it looked once
/// more at that label, which a push may have changed meanwhile. If this user may not change labels, the children keep theirs.
pub(crate) fn give_label_of(
    remote: &mut dyn Remote,
    parent: ThreadId,
    children: &[There],
) -> Result<(), EngineError> {
    let mut new = children.iter().filter(|child| child.here.is_none());
    let Some(first) = new.next() else {
        return Ok(());
    };
    let Some(parent) = there(remote, parent, None)? else {
        return Ok(());
    };
    let label = parent.listed.label.as_ref();
    for child in std::iter::once(first).chain(new) {
        let listed = &child.found.listed;
        if listed.label.as_ref() == label {
            continue;
        }
        match remote.set_label(listed.thread, label) {
            Ok(()) | Err(RemoteError::Denied(..) | RemoteError::NotLetIn(..)) => {}
            Err(error) => return Err(SharingError::from(error).into()),
        }
    }
    Ok(())
}

/// Brings children together. One that has diverged stays as it is here: a step of it tells that, and its siblings go on.
fn bring_children(
    site: &Site,
    remote: &mut dyn Remote,
    children: &[There],
) -> Result<(), EngineError> {
    if children.is_empty() {
        return Ok(());
    }
    let store = remote.hello().map_err(SharingError::from)?.store;
    let brought = bring_threads(site, remote, &store, children)?;
    brought.into_iter().try_for_each(unless_diverged)
}

/// Brings a child for the next step of its parent. One that has diverged stays as it is here.
pub(crate) fn fetch_child(
    site: &Site,
    remote: &mut dyn Remote,
    child: ThreadId,
) -> Result<(), EngineError> {
    unless_diverged(fetch(site, remote, child))
}

fn unless_diverged(fetched: Result<Fetched, EngineError>) -> Result<(), EngineError> {
    match fetched {
        Err(error) if !has_diverged(&error) => Err(error),
        Ok(_) | Err(_) => Ok(()),
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
fn has_news(site: &Site, child: &There) -> Result<bool, EngineError> {
    let Found { listed, record, .. } = &child.found;
    let here = child.here.as_ref().map(Located::head);
    let is_behind = here != Some(listed.head) || listed.status == HeadStatus::Ended;
    // A failed attempt leaves the head where it is.
    Ok(is_behind || merged_record(&site.root.run(listed.thread), record)?.is_some())
}

/// Brings children that did the newest step of a thread. Those that are active here come, because their work is over. Those that
/// are not here come only if the step has failed: a person may have the role done again, which needs all of its children here.
fn bring_of_last(site: &Site, remote: &mut dyn Remote, thread: &Thread) -> Result<(), EngineError> {
    let Some(last) = thread.last() else {
        return Ok(());
    };
    let state = State::new(&site.root);
    let mut wanted = HashMap::new();
    for child in recorded(site, last)? {
        let here = state.find(child.thread)?;
        let is_wanted = match &here {
            Some(Located::Archived(_)) => false,
            Some(Located::Active(_)) => true,
            None => last.output[STATUS_FIELD] == FAILED,
        };
        if is_wanted {
            wanted.insert(child.thread, here);
        }
    }
    let there = ask(remote, wanted)?;
    bring_children(site, remote, &there)
}

/// A function that brings some of these children.
type Bring<'a> = dyn FnMut(&mut dyn Remote, Vec<There>) -> Result<(), EngineError> + 'a;

/// Calls `bring` with the children that the next step of a thread needs, that have not ended here, and that the remote knows. If a
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
        let children = needed(site, thread, &assignment, signals)?.into_iter();
        let open = children.filter(|child| !child.is_ended() && asked.insert(child.thread));
        let there = ask(
            remote,
            open.map(|child| (child.thread, child.place)).collect(),
        )?;
        if there.is_empty() {
            return Ok(());
        }
        bring(remote, there)?;
    }
}

/// Returns the children that the next step of a thread needs. If it is unknown which ones these are, none was made.
pub(super) fn needed(
    site: &Site,
    thread: &Thread,
    assignment: &Assignment,
    signals: Option<&Signals>,
) -> Result<Vec<Child>, EngineError> {
    match children_of(site, thread, assignment, signals) {
        Err(EngineError::Child(_)) => Ok(Vec::new()),
        children => children,
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

/// Returns a thread of the remote, if the remote knows it.
pub(crate) fn there(
    remote: &mut dyn Remote,
    thread: ThreadId,
    here: Option<CasRef>,
) -> Result<Option<Found>, EngineError> {
    let asked = here.unwrap_or_else(|| CasRef::from_u64(0));
    Ok(remote.find(thread, asked).map_err(SharingError::from)?)
}
