//! Brings threads from the remote, or their new steps.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;

use serde::Serialize;
use uwf_moderator::head_status;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Naming;
use uwf_remote::{Found, Listed, Query, Remote, RemoteError};
use uwf_storage::{Located, ReplacedStep, RunDir, State};
use uwf_thread::{Head, steps};

use super::error::SharingError;
use super::records::claim;
use super::{
    check_remote, has_on_its_way, is_shared, merge_record, new_record, nodes, owes_end, settle_end,
    waiting_step,
};
use crate::bundle::{Outcome, Status, Travelling, apply, contradiction, judged, plan};
use crate::thread::{self, Thread};
use crate::{EngineError, Site};

/// How many threads are asked for at once.
const PAGE: usize = 1_000;

/// A thread that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fetched {
    /// The thread.
    pub thread: ThreadId,
    /// Its head at the remote.
    pub head: CasRef,
    /// What happened to it here.
    pub outcome: Outcome,
    /// How many nodes came.
    pub nodes: usize,
    /// The finished step that waits here and is not at the remote, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_step: Option<CasRef>,
    /// Whether it has ended at the remote.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ended_there: bool,
    /// How it has ended there, if it has.
    #[serde(skip)]
    pub end: Option<HowEnded>,
    /// Whether the head here was another one before.
    #[serde(skip)]
    pub is_new_head: bool,
}

/// How a thread has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowEnded {
    /// Its graph ends there.
    Completed,
    /// A person has ended it.
    Cancelled,
}

/// Returns the threads at the remote that a query is about, by their ids.
///
/// # Errors
/// When the remote does not answer.
pub fn remote_threads(remote: &mut dyn Remote, query: &Query) -> Result<Vec<Listed>, EngineError> {
    let mut all: Vec<Listed> = Vec::new();
    loop {
        let after = all.last().map(|last| last.thread);
        let page = remote
            .list(query, after, PAGE)
            .map_err(SharingError::from)?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// A thread that the remote knows.
pub(crate) struct There {
    /// What the remote says about it.
    pub(crate) found: Found,
    /// Where it is here; `None` if it is not here.
    pub(crate) here: Option<Located>,
}

/// A thread that the remote knows: what it says about the thread, or what is damaged there.
pub(crate) type ThereOrDamaged = (ThreadId, Result<There, EngineError>);

/// Brings a thread with all that it needs from the remote, or only what is new. From now on it is shared here, too.
///
/// # Errors
/// When the remote does not know the thread, or it has gone on here in another way.
pub fn fetch(site: &Site, remote: &mut dyn Remote, id: ThreadId) -> Result<Fetched, EngineError> {
    site.create()?;
    let store = remote.hello().map_err(SharingError::from)?.store;
    let here = State::new(&site.root).find(id)?;
    check_here(site, id, &store)?;
    let found = remote.find(id, asked(here.as_ref()));
    let found = found.map_err(SharingError::from)?;
    let Some(found) = found else {
        return Err(match here.is_none() && is_shared(site, id) {
            true => SharingError::OnlyRecord(id).into(),
            false => SharingError::Unknown(id).into(),
        });
    };
    let mut fetched = bring_threads(site, remote, &store, &[There { found, here }])?;
    fetched.pop().expect("one thread was asked for")
}

/// Asks the remote for threads by one question. Returns those that it knows.
pub(crate) fn ask_each(
    remote: &mut dyn Remote,
    mut threads: HashMap<ThreadId, Option<Located>>,
) -> Result<Vec<ThereOrDamaged>, EngineError> {
    let mut question: Vec<(ThreadId, CasRef)> = threads
        .iter()
        .map(|(id, here)| (*id, asked(here.as_ref())))
        .collect();
    question.sort_unstable();
    let mut there = Vec::new();
    for page in question.chunks(PAGE) {
        for (id, found) in remote.find_each(page).map_err(SharingError::from)? {
            let here = threads.remove(&id).flatten();
            let one = match found {
                Ok(found) => Ok(There { found, here }),
                Err(problem) => Err(not_whole(id, problem)),
            };
            there.push((id, one));
        }
    }
    Ok(there)
}

/// Asks the remote as [`ask_each`] does, for threads that are all needed.
///
/// # Errors
/// Those of the question, and the first one of a thread that is damaged there.
pub(crate) fn ask(
    remote: &mut dyn Remote,
    threads: HashMap<ThreadId, Option<Located>>,
) -> Result<Vec<There>, EngineError> {
    let there = ask_each(remote, threads)?.into_iter();
    there.map(|(_, one)| one).collect()
}

/// Returns the error for a thread that is damaged at the remote.
fn not_whole(id: ThreadId, problem: impl Display) -> EngineError {
    let problem = format!("thread {id} is not whole there: {problem}");
    SharingError::Remote(RemoteError::Broken(problem)).into()
}

/// Returns the head about which the remote is asked.
fn asked(here: Option<&Located>) -> CasRef {
    here.map_or_else(|| CasRef::from_u64(0), Located::head)
}

/// A thread that is brought, and nodes that are here with all that they need.
type Brought<'a> = (&'a There, &'a [CasRef]);

/// Brings threads from the remote with the id `store`, and their nodes by few requests. The results are in the order of the threads.
///
/// # Errors
/// When the remote gives no answer, or nothing can be stored here. What concerns one thread is in its result.
pub(crate) fn bring_threads(
    site: &Site,
    remote: &mut dyn Remote,
    store: &str,
    threads: &[There],
) -> Result<Vec<Result<Fetched, EngineError>>, EngineError> {
    let had = threads.iter().map(|one| {
        claim(site, one.found.listed.thread, store)?;
        nodes_here(site, one)
    });
    let had: Vec<Result<Vec<CasRef>, EngineError>> = had.collect();
    let both = threads.iter().zip(&had);
    let sound = both.filter_map(|(one, had)| Some((one, had.as_deref().ok()?)));
    let sound: Vec<Brought<'_>> = sound.collect();
    let taken = match bring_together(site, remote, store, &sound) {
        Ok(taken) => taken,
        // One of them may be damaged at the remote. The others come alone.
        Err(error) => {
            damage_there(error)?;
            let each = sound.into_iter();
            each.map(|one| bring_alone(site, remote, store, one))
                .collect::<Result<_, _>>()?
        }
    };
    let mut taken = taken.into_iter();
    let mut result = |_| taken.next().expect("each sound thread has a result");
    Ok(had
        .into_iter()
        .map(|had| had.and_then(&mut result))
        .collect())
}

/// Returns nodes that are here with all that they need, as far as a thread tells them.
fn nodes_here(site: &Site, there: &There) -> Result<Vec<CasRef>, EngineError> {
    match &there.here {
        Some(here) => nodes::had_with(site, here.head()),
        None => Ok(Vec::new()),
    }
}

/// Brings the nodes of threads together, and then gives each thread here what the remote knows. If the nodes cannot be brought, no
/// thread has changed.
fn bring_together(
    site: &Site,
    remote: &mut dyn Remote,
    store: &str,
    threads: &[Brought<'_>],
) -> Result<Vec<Result<Fetched, EngineError>>, EngineError> {
    let had = threads.iter().flat_map(|(_, had)| *had);
    let mut have: Vec<CasRef> = had.copied().collect();
    have.sort_unstable();
    have.dedup();
    let heads = threads.iter().map(|(one, _)| one.found.listed.head);
    let heads: Vec<CasRef> = heads.collect();
    let mut came = nodes::bring_each(site, remote, &heads, &have)?;
    let records = threads.iter().map(|(one, _)| &one.found.record);
    came.extend(nodes::bring_of_records(site, remote, records, &have)?);
    // The collector must wait until the heads refer to what came.
    let _hold = site.store.hold()?;
    let replaced = State::new(&site.root).replaced()?;
    let mut taken = Vec::with_capacity(threads.len());
    for (there, _) in threads {
        let own = there.found.record.nodes();
        let own = own.chain([there.found.listed.head]);
        let nodes = own.filter_map(|node| came.remove(&node)).sum();
        taken.push(take(site, there, store, &replaced, nodes));
    }
    Ok(taken)
}

/// Brings one thread. If it is damaged at the remote, its result says so.
fn bring_alone(
    site: &Site,
    remote: &mut dyn Remote,
    store: &str,
    one: Brought<'_>,
) -> Result<Result<Fetched, EngineError>, EngineError> {
    match bring_together(site, remote, store, &[one]) {
        Ok(mut taken) => Ok(taken.pop().expect("one thread was asked for")),
        Err(error) => {
            let problem = damage_there(error)?;
            Ok(Err(not_whole(one.0.found.listed.thread, problem)))
        }
    }
}

/// Returns what is damaged at the remote, if that is why nodes could not be brought. Other errors stay errors.
fn damage_there(error: EngineError) -> Result<String, EngineError> {
    match error {
        EngineError::Sharing(error) => match *error {
            SharingError::Remote(RemoteError::Broken(problem)) => Ok(problem),
            other => Err(other.into()),
        },
        // What the nodes are that came from there.
        error => {
            let Err(problem) = judged::<Infallible>(Err(error))?;
            Ok(problem)
        }
    }
}

/// Gives a thread here what the remote knows. Its nodes are here; `nodes` of them are new. `replaced` are all steps that were done
/// again here.
fn take(
    site: &Site,
    there: &There,
    store: &str,
    replaced: &[ReplacedStep],
    nodes: usize,
) -> Result<Fetched, EngineError> {
    let found = &there.found;
    let (id, head) = (found.listed.thread, found.listed.head);
    let file = site.root.shared(id);
    // Nobody removes the record before the thread is here. One that was here may have been removed since, so the record is looked for
    // again.
    let folder = site.root.shared_folder();
    let _lock = folder.lock()?;
    if file.read()?.is_none() {
        // The record is here before the thread ("A shared thread" in `docs/architecture.md`, point 2).
        let record = file.create(&new_record(site, store.to_owned())?)?;
        check_remote(id, &record, store)?;
    }
    let has_ended = found.listed.status == HeadStatus::Ended;
    if has_ended {
        settle_end(site, id)?;
    }
    let here = there.here.as_ref().map(Located::head);
    let (outcome, end) = follow(site, found, here, replaced)?;
    Ok(Fetched {
        thread: id,
        head,
        outcome,
        nodes,
        waiting_step: waiting_step(site, id)?,
        ended_there: has_ended,
        end,
        is_new_head: here != Some(head),
    })
}

/// Fails if a thread is shared here by another remote than the one with the id `store`.
fn check_here(site: &Site, id: ThreadId, store: &str) -> Result<(), EngineError> {
    match site.root.shared(id).read()? {
        // The remote may have it.
        Some(record) if record.is_presumed() => Ok(()),
        Some(record) => check_remote(id, &record, store),
        None => Ok(()),
    }
}

/// Brings the last steps of a thread that has ended at the remote, and ends it here. The caller has the lock of the thread.
pub(crate) fn bring_end(
    site: &Site,
    run: &RunDir,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<(), EngineError> {
    let here = thread::active_head(site, id)?;
    let found = remote.find(id, here).map_err(SharingError::from)?;
    let found = found.ok_or(SharingError::Unknown(id))?;
    let there = found.listed.head;
    nodes::bring(site, remote, &[there], &nodes::had_with(site, here)?)?;
    if !found.had && !has_on_its_way(site, there, here)? {
        return Err(SharingError::Diverged {
            thread: id,
            here,
            there,
        }
        .into());
    }
    let ended = travelling(site, &found, Some(here))?;
    merge_record(run, &found.record)?;
    let state = State::new(&site.root);
    for replaced in &ended.replaced {
        state.record_replaced(replaced)?;
    }
    if let Some(record) = ended.end() {
        // If the head is another one, another command of this machine has ended the thread.
        let _ = state.advance_and_archive(here, &record)?;
        thread::record_sums(site, id, there);
    }
    Ok(())
}

/// Gives the thread here the head of the remote, if it is behind. Returns also how the thread has ended there, if it has.
fn follow(
    site: &Site,
    found: &Found,
    here: Option<CasRef>,
    replaced: &[ReplacedStep],
) -> Result<(Outcome, Option<HowEnded>), EngineError> {
    let thread = found.listed.thread;
    let travelling = travelling(site, found, here)?;
    let end = match travelling.status {
        Status::Active => None,
        Status::Completed => Some(HowEnded::Completed),
        Status::Cancelled => Some(HowEnded::Cancelled),
    };
    let sound = judged(contradiction(site, &travelling))?;
    if let Ok(Some(problem)) | Err(problem) = sound {
        let problem = format!("thread {thread} is not sound there: {problem}");
        return Err(SharingError::Remote(RemoteError::Broken(problem)).into());
    }
    let planned = plan(site, &travelling, replaced)?;
    let planned = planned.map_err(|divergence| diverged(site, found, divergence.here))?;
    let (outcome, _) = apply(site, &travelling, planned)?;
    Ok((outcome, end))
}

/// Returns the error for a thread that has diverged. If it was ended here and the remote does not know that, the error says that. A
/// remote that was restored from an old backup has forgotten it.
fn diverged(site: &Site, found: &Found, here: CasRef) -> SharingError {
    let Listed {
        thread,
        head,
        status,
        ..
    } = found.listed;
    let is_not_told = match thread::find(site, thread) {
        Ok(Located::Archived(record)) => {
            let owes = || owes_end(site, &record).unwrap_or(false);
            let is_behind = || has_on_its_way(site, head, here).unwrap_or(false);
            status != HeadStatus::Ended && (owes() || (record.is_cancelled() && is_behind()))
        }
        Ok(Located::Active(_)) | Err(_) => false,
    };
    match is_not_told {
        true => SharingError::EndNotTold(thread),
        false => SharingError::Diverged {
            thread,
            here,
            there: head,
        },
    }
}

/// Returns a thread of the remote in the form in which threads travel in bundles.
fn travelling(site: &Site, found: &Found, here: Option<CasRef>) -> Result<Travelling, EngineError> {
    let Listed {
        thread,
        workflow,
        head,
        status,
        ..
    } = found.listed;
    let status = match status {
        HeadStatus::Ended => ended_status(&Thread::load(&site.store, thread, head)?)?,
        HeadStatus::Ready | HeadStatus::Suspended | HeadStatus::Blocked => Status::Active,
    };
    let replaced = match here {
        Some(here) if found.had => replaced_by(site, thread, here, head)?,
        Some(_) | None => None,
    };
    let is_ended = !matches!(status, Status::Active);
    Ok(Travelling {
        thread,
        workflow,
        head,
        status,
        naming: Naming::default(),
        completed_at: is_ended.then(|| site.env.now_ms()),
        replaced: replaced.into_iter().collect(),
        record: found.record.clone(),
        is_trusted: true,
    })
}

/// Returns how a thread has ended. It is completed if its graph ends there. Otherwise a person has ended it.
fn ended_status(thread: &Thread) -> Result<Status, EngineError> {
    let route = thread.route(None)?;
    Ok(match head_status(&route) {
        HeadStatus::Ended => Status::Completed,
        HeadStatus::Ready | HeadStatus::Suspended | HeadStatus::Blocked => Status::Cancelled,
    })
}

/// Returns the record that a step of another machine has replaced the head `here`; `None` if `here` is on the chain of the new
/// head. The thread had the head `here` at the remote.
pub(crate) fn replaced_by(
    site: &Site,
    thread: ThreadId,
    here: CasRef,
    head: CasRef,
) -> Result<Option<ReplacedStep>, EngineError> {
    if has_on_its_way(site, head, here)? {
        return Ok(None);
    }
    let before = match Head::read(&site.store, here)? {
        Head::Start(_) => None,
        Head::Step(step) => step.node.prev,
    };
    let mut by = head;
    for step in steps(&site.store, head) {
        let step = step?;
        if step.node.prev == before {
            by = step.hash;
            break;
        }
    }
    Ok(Some(ReplacedStep {
        replaced: here,
        by,
        in_thread: thread,
        replaced_at: site.env.now_ms(),
        workflow: None,
    }))
}
