//! Brings whole families of shared threads: it goes from a thread to the threads next to it, as far as the remote has them.
//!
//! How the children of a thread are found is said in `sharing/family.rs`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use uwf_moderator::{Performer, Route};
use uwf_pipeline::nodes::{ARCHIVE_KEY, RESUME_KEY};
use uwf_protocol::child::Parent;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::program::Program;
use uwf_protocol::work::Work;
use uwf_remote::{Found, Remote};
use uwf_storage::{HistoryRecord, Located, State};
use uwf_thread::steps;

use super::error::SharingError;
use super::family::{has_diverged, needed};
use super::fetch::{Fetched, There, ask_each, bring_threads, fetch};
use super::merged_record;
use crate::bundle::{Outcome, judged};
use crate::children::of_step::{self, ids_for_next};
use crate::children::{
    first_of_key, has_children, ids_of, named_by, parent_at, recorded, taken_up,
};
use crate::thread::Thread;
use crate::{EngineError, Site};

/// Of how many threads the nodes are brought together.
const AT_ONCE: usize = 1_000;

/// Brings threads from the remote, each with its family, as far as the remote has it. No thread is brought twice.
#[derive(Debug, Default)]
pub struct FamilyFetch {
    seen: HashSet<ThreadId>,
    /// The children that the chains of threads name, by the heads of the threads. A thread is looked at again when a child has
    /// come.
    named: HashMap<(ThreadId, CasRef), Vec<ThreadId>>,
    /// The threads that have ended here in another way than the remote knows. Each side counts its own version.
    pub ended_in_two_ways: Vec<ThreadId>,
    /// The threads that were fetched, in that order. Ended threads of a family are left out if nothing of them was new.
    pub fetched: Vec<Fetched>,
}

impl FamilyFetch {
    /// Brings a thread, all threads below it, and those of the threads that it works for that are not here, with all below them.
    ///
    /// The remote is asked for many threads at once: first for the children, then for those that follow from what has come.
    ///
    /// # Errors
    /// As [`fetch`]. What was fetched before the error stays. If one thread below cannot be brought, the others are fetched
    /// all the same, and then its error is returned.
    pub fn fetch(
        &mut self,
        site: &Site,
        remote: &mut dyn Remote,
        id: ThreadId,
    ) -> Result<(), EngineError> {
        if !self.seen.insert(id) {
            return Ok(());
        }
        self.fetch_alone(site, remote, id)?;
        let (mut failed, mut asked) = (None, HashSet::new());
        let mut open = BTreeSet::from([id]);
        loop {
            let here = Here::of(site, id)?;
            // Each thread that is wanted, and the one that led to it.
            let mut wanted = HashMap::new();
            for one in &open {
                let place = here.places.get(one);
                let has_ended = place.is_some_and(|place| place.end().is_some());
                let mut found = match (self.relatives(site, &here, *one), has_ended) {
                    (found, false) => found?,
                    // Damage in an ended thread does not stop the fetch. A command that reads the thread reports it.
                    (found, true) => judged(found)?.unwrap_or_default(),
                };
                found.retain(|id| !self.seen.contains(id) && asked.insert(*id));
                wanted.extend(found.into_iter().map(|id| (id, *one)));
            }
            if wanted.is_empty() {
                break;
            }
            open = BTreeSet::new();
            let threads = wanted.keys().map(|id| (*id, here.places.get(id).cloned()));
            for id in self.bring(site, remote, threads.collect(), &mut failed)? {
                // A child that has come may tell that there are more.
                open.extend([id, wanted[&id]]);
                self.seen.insert(id);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Brings a thread without its family. If it has ended here and at the remote in two ways, it is only named: nobody goes on with it.
    ///
    /// # Errors
    /// As [`fetch`].
    pub fn fetch_alone(
        &mut self,
        site: &Site,
        remote: &mut dyn Remote,
        id: ThreadId,
    ) -> Result<(), EngineError> {
        let here = State::new(&site.root).find(id)?;
        let fetched = fetch(site, remote, id);
        self.keep(id, here.as_ref(), fetched)
    }

    /// Keeps what came of a thread that was here in this place.
    fn keep(
        &mut self,
        id: ThreadId,
        here: Option<&Located>,
        fetched: Result<Fetched, EngineError>,
    ) -> Result<(), EngineError> {
        let has_ended = here.is_some_and(|here| here.end().is_some());
        match fetched {
            Ok(fetched) => self.fetched.push(fetched),
            Err(error) if has_ended && has_diverged(&error) => self.ended_in_two_ways.push(id),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Brings what is new of these threads. Returns those that the remote knows. `failed` keeps the first error of one thread.
    fn bring(
        &mut self,
        site: &Site,
        remote: &mut dyn Remote,
        threads: HashMap<ThreadId, Option<Located>>,
        failed: &mut Option<EngineError>,
    ) -> Result<Vec<ThreadId>, EngineError> {
        let store = remote.hello().map_err(SharingError::from)?.store;
        let (mut known, mut news) = (Vec::new(), Vec::new());
        for (id, one) in ask_each(remote, threads)? {
            match one {
                Ok(one) => {
                    known.push(id);
                    if may_be_news(site, &one)? {
                        news.push(one);
                    }
                }
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        for page in news.chunks(AT_ONCE) {
            let brought = bring_threads(site, remote, &store, page)?;
            for (there, fetched) in page.iter().zip(brought) {
                let here = there.here.as_ref();
                let is_ended = here.is_some_and(|here| here.end().is_some());
                let has_news = |one: &Fetched| one.outcome != Outcome::Unchanged || one.nodes > 0;
                if is_ended && matches!(&fetched, Ok(one) if !has_news(one)) {
                    continue;
                }
                if let Err(error) = self.keep(there.found.listed.thread, here, fetched) {
                    failed.get_or_insert(error);
                }
            }
        }
        Ok(known)
    }

    /// Returns the threads of a family that are next to a thread: the parent, if it is not here, and all children. Children that
    /// follow a child which is not here are left out, because they are found when it has come.
    fn relatives(
        &mut self,
        site: &Site,
        here: &Here,
        id: ThreadId,
    ) -> Result<Vec<ThreadId>, EngineError> {
        let Some(place) = here.places.get(&id) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let parent = parent_at(site, id, place.head())?;
        found.extend(parent.map(|parent| parent.thread));
        found.retain(|parent| !here.places.contains_key(parent));
        let thread = Thread::load(&site.store, id, place.head())?;
        if !thread.is_run() && !has_children(&thread.program) {
            return Ok(found);
        }
        let named = match self.named.entry((id, thread.head)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(children_of_chain(site, &thread)?),
        };
        found.extend_from_slice(named);
        for (child, parent) in here.below.get(&id).into_iter().flatten() {
            found.push(*child);
            // Those that were killed before it.
            found.extend(ids_of(parent.clone()).take_while(|one| one != child));
        }
        if place.end().is_none_or(HistoryRecord::is_cancelled) {
            found.extend(children_of_next(site, &here.places, &thread)?);
        }
        Ok(found)
    }
}

/// Tells whether the remote may know something about a thread that is not known here. An active thread is always looked at, because
/// a finished step of it may wait.
fn may_be_news(site: &Site, there: &There) -> Result<bool, EngineError> {
    let Some(Located::Archived(ended)) = &there.here else {
        return Ok(true);
    };
    let Found { listed, record, .. } = &there.found;
    let is_news = match listed.status {
        HeadStatus::Ended => listed.head != ended.head,
        // A person has ended it here. The remote does not know that yet, or it was restored from an old backup.
        HeadStatus::Ready | HeadStatus::Suspended | HeadStatus::Blocked => ended.is_cancelled(),
    };
    if is_news {
        return Ok(true);
    }
    for text in record.nodes() {
        if !site.store.has(text)? {
            return Ok(true);
        }
    }
    // What failed elsewhere may be told after the end.
    Ok(merged_record(&site.root.run(listed.thread), record)?.is_some())
}

/// What is here of the threads that have the time of a family.
struct Here {
    places: BTreeMap<ThreadId, Located>,
    /// The children by their parents.
    below: HashMap<ThreadId, Vec<(ThreadId, Parent)>>,
}

impl Here {
    fn of(site: &Site, id: ThreadId) -> Result<Self, EngineError> {
        let places = State::new(&site.root).threads()?.places;
        let mut below: HashMap<_, Vec<_>> = HashMap::new();
        let same_time = places.range(id.of_child(CasRef::from_u64(0))..);
        for (child, place) in same_time.take_while(|(one, _)| one.has_time_of(&id)) {
            // A thread that cannot be read is no child.
            if let Ok(Some(parent)) = parent_at(site, *child, place.head()) {
                let children = below.entry(parent.thread).or_default();
                children.push((*child, parent));
            }
        }
        Ok(Self { places, below })
    }
}

/// Returns the children of the next step of a thread, also of one that was killed before it did the step.
fn children_of_next(
    site: &Site,
    places: &BTreeMap<ThreadId, Located>,
    thread: &Thread,
) -> Result<Vec<ThreadId>, EngineError> {
    if thread.is_run() {
        return Ok(up_to_unknown(places, ids_for_next(site, thread)?));
    }
    match taken_up::route(site, thread, None)? {
        Ok(Route::To(assignment)) if assignment.performer == Performer::Children => {
            let children = needed(site, thread, &assignment, None)?;
            Ok(children.iter().map(|child| child.thread).collect())
        }
        Ok(Route::Suspend { .. }) => done_again(site, places, thread),
        Ok(_) | Err(_) => Ok(Vec::new()),
    }
}

/// Returns the children that may do the role again that asked a person: the answer is on the machine where it was given. They have the
/// same branches, and work for the step that asked.
fn done_again(
    site: &Site,
    places: &BTreeMap<ThreadId, Located>,
    thread: &Thread,
) -> Result<Vec<ThreadId>, EngineError> {
    let mut found = Vec::new();
    let Some(asked) = thread.last() else {
        return Ok(found);
    };
    for child in recorded(site, asked)? {
        let first = first_of_key(thread, &asked.node.role, child.key);
        found.extend(up_to_unknown(places, ids_of(first)));
    }
    Ok(found)
}

/// Returns the ids of threads that are here, and the first one that is not.
fn up_to_unknown(
    places: &BTreeMap<ThreadId, Located>,
    ids: impl Iterator<Item = ThreadId>,
) -> Vec<ThreadId> {
    let mut found = Vec::new();
    for id in ids {
        found.push(id);
        if !places.contains_key(&id) {
            break;
        }
    }
    found
}

/// Returns the children that the steps of a thread name. The steps of a fork name children of the original thread. These are left
/// out, because they belong to another family.
fn children_of_chain(site: &Site, thread: &Thread) -> Result<Vec<ThreadId>, EngineError> {
    let mut children = Vec::new();
    for step in steps(&site.store, thread.head) {
        let step = step?;
        let task = thread.program.task(&step.node.role);
        if task.is_some_and(|task| task.work == Work::Agent) {
            continue;
        }
        match &thread.program {
            Program::Pipeline(_) if is_visit(&step.node.role) => {
                children.extend(of_step::named_by(site, step.node.detail)?);
            }
            Program::Pipeline(_) => {}
            Program::Graph(_) => {
                let named = named_by(site, step.node.detail)?.into_iter();
                children.extend(named.map(|child| child.thread));
            }
        }
    }
    children.retain(|child| child.may_be_child_of(&thread.id));
    Ok(children)
}

/// Tells whether a step of a run belongs to a step of its pipeline.
fn is_visit(role: &RoleName) -> bool {
    ![RESUME_KEY, ARCHIVE_KEY].contains(&role.as_str())
}
