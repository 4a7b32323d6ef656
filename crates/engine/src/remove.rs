//! Removing threads for good: from the files of the state, and with their run folders. Their nodes stay until garbage is
//! collected, because other threads may share them.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Name;
use uwf_storage::{
    HistoryRecord, Leaving, Located, LockAttempt, Namings, RemovedThread, RunDir, State, ThreadLock,
};
use uwf_thread::{Head, read_program, read_start, summarize};
use uwf_util::causes::with_causes;

use crate::child_error::{ChildProblem, failed};
use crate::read::outline::first_line;
use crate::read::removed_cost::spent_by_leaving;
use crate::read::selection::{ListFilter, Selector};
use crate::read::show::ended_status;
use crate::read::thread_state::ThreadStatus;
use crate::sharing::error::SharingError;
use crate::sharing::records::remove_left_record;
use crate::sharing::{is_shared, owes_end};
use crate::snapshots::forget_snapshots;
use crate::workspace::removal::{LeavingBranches, UnkeptChanges, UnkeptThread};
use crate::{EngineError, Site, children, lost_run, printed, tags, thread, workspace};

/// Whether a thread may be removed that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removable {
    /// Only a thread that has ended.
    Ended,
    /// Any thread that nobody works on.
    Any,
}

/// Which ended threads are removed.
#[derive(Debug, Clone)]
pub struct PruneOptions {
    /// Only threads with one of these statuses.
    pub statuses: Vec<ThreadStatus>,
    /// Only threads that ended before this time, in milliseconds since 1970.
    pub ended_before_ms: Option<i64>,
    /// Only threads of this workflow, with such a name, with these labels, and of this directory.
    pub about: ListFilter,
    /// Whether they are removed or only listed.
    pub mode: Prune,
}

/// Whether threads are removed or only listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// They are listed.
    Look,
    /// They are removed.
    Remove,
}

/// The threads that were chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The threads that were removed, or would be; in the order in which they ended.
    pub threads: Vec<PrunedThread>,
    /// The threads that stay, because somebody works on them.
    pub busy: Vec<ThreadId>,
    /// The threads that stay, because the remote was not told that they have ended.
    pub untold: Vec<ThreadId>,
    /// The threads that stay, because changes in their worktrees would be lost.
    pub unkept: Vec<UnkeptThread>,
    /// The removed threads whose worktree or folder cannot be removed. The next call tries it again.
    pub left: Vec<LeftThread>,
    /// The problems that may hide a thread, one line each.
    pub warnings: Vec<String>,
}

/// A removed thread of which something is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftThread {
    /// The thread.
    pub thread: ThreadId,
    /// Why it cannot be removed.
    pub reason: String,
}

/// An ended thread that was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrunedThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its workflow.
    pub workflow: CasRef,
    /// Its head.
    pub head: CasRef,
    /// How it ended.
    pub status: ThreadStatus,
    /// When it ended, in milliseconds since 1970.
    pub ended_at_ms: i64,
    /// What the thread is called and about.
    #[serde(flatten)]
    pub about: Option<About>,
}

/// What a thread is called and about, as far as that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The name that it was given.
    pub name: Option<Name>,
    /// The name of its workflow.
    pub workflow_name: Option<String>,
    /// The first line of its task.
    pub task: Option<String>,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq)]
pub enum Removed {
    /// A thread.
    Thread(RemovedThread),
    /// Only the record that a thread is shared, because the thread was not here any more.
    Record(ThreadId),
}

/// Removes a thread, or only the record that it is shared if it is not here. The call can be repeated until it succeeds.
///
/// # Errors
/// When the thread is unknown, when somebody works on it, when it has not ended and only ended ones may be removed, or when
/// changes in its worktree would be lost that must not be.
pub fn remove(
    site: &Site,
    id: ThreadId,
    which: Removable,
    changes: UnkeptChanges,
) -> Result<Removed, EngineError> {
    let run = site.root.run(id);
    let alone = LeavingBranches::default();
    match thread::find(site, id) {
        Ok(_) => {}
        // An earlier call was interrupted before it could remove the folder.
        Err(EngineError::Removed(_)) if run.exists() => {}
        Err(EngineError::Removed(_) | EngineError::UnknownThread(_))
            if remove_left_record(site, id)? =>
        {
            return Ok(Removed::Record(id));
        }
        Err(error) => return Err(error),
    }
    // Of two threads with the same commits, one keeps them: both look and remove one after the other.
    let _turn = site.root.removals_turn()?;
    let _lock = lock(&run, id)?;
    // What was known before the lock was ours may be over: another call removed the thread, or an import brought it back.
    let removed = match thread::find(site, id) {
        Err(EngineError::Removed(removed)) => {
            workspace::removal::refuse_to_lose(site, id, changes, &alone)?;
            State::new(&site.root).finish_removals()?;
            removed.what
        }
        place => {
            let place = place?;
            check_removable(site, &run, id, &place, which)?;
            workspace::removal::refuse_to_lose(site, id, changes, &alone)?;
            lost_run::record_unfinished(site, &run, id, place.head())?;
            remove_from_state(site, id, place)?
        }
    };
    log_removal(site, &removed);
    remove_folder(site, id, &run)?;
    Ok(Removed::Thread(removed))
}

/// Removes a thread whose lock is ours from the files of the state.
fn remove_from_state(
    site: &Site,
    id: ThreadId,
    place: Located,
) -> Result<RemovedThread, EngineError> {
    let leaving = leaving(site, vec![(id, place)])?;
    let removed = State::new(&site.root).remove(&leaving, site.env.now_ms())?;
    // If the thread is not where it was found, `kill` moved it: that needs no lock.
    removed
        .into_iter()
        .next()
        .ok_or_else(|| thread::busy(id, None))
}

/// Returns the threads with what they used up: once they are removed, nobody can sum it any more.
fn leaving(site: &Site, places: Vec<(ThreadId, Located)>) -> Result<Vec<Leaving>, EngineError> {
    let heads: Vec<_> = places
        .iter()
        .map(|(id, place)| (*id, place.head()))
        .collect();
    let mut spent = spent_by_leaving(site, &heads)?;
    let places = places.into_iter();
    let leaving = places.map(|(thread, place)| {
        let spent = spent.remove(&thread);
        let (used, steps) = spent.map(|spent| (spent.used, spent.steps)).unzip();
        Leaving {
            thread,
            place,
            used,
            steps: steps.unwrap_or_default(),
        }
    });
    Ok(leaving.collect())
}

/// Removes ended threads, all in one change of the state. Threads on which somebody works stay.
///
/// # Errors
/// When the files of the state cannot be read or written, or a signal ends the look at a worktree.
pub fn prune(site: &Site, options: &PruneOptions) -> Result<Pruned, EngineError> {
    let state = State::new(&site.root);
    let mut pruned = Pruned {
        threads: Vec::new(),
        busy: Vec::new(),
        untold: Vec::new(),
        unkept: Vec::new(),
        left: Vec::new(),
        warnings: Vec::new(),
    };
    let chosen = chosen(site, options, &mut pruned.warnings)?;
    // Where nothing is, nothing is made.
    let removes = options.mode == Prune::Remove && site.root.path().is_dir();
    let _turn = removes.then(|| site.root.removals_turn()).transpose()?;
    let mut leaving_branches = LeavingBranches::default();
    let mut places = Vec::new();
    for record in chosen {
        // What a child did is kept until it is part of a step of its parent.
        if children::is_needed(site, record.thread, record.head).unwrap_or(false) {
            continue;
        }
        // The agent of a cancelled thread may still be ending, or somebody resumes the thread.
        if site.root.run(record.thread).lease.is_held()? {
            pruned.busy.push(record.thread);
            continue;
        }
        if owes_end(site, &record)? {
            pruned.untold.push(record.thread);
            continue;
        }
        if let Some(unkept) = UnkeptThread::of(site, record.thread, &leaving_branches)? {
            pruned.unkept.push(unkept);
            continue;
        }
        leaving_branches.add(site, record.thread);
        pruned.threads.push(PrunedThread::from(&record));
        places.push((record.thread, Located::Archived(record)));
    }
    // Once a thread is removed, its name is gone.
    let namings = state.namings().unwrap_or_default();
    for one in &mut pruned.threads {
        one.about = Some(about(site, one, &namings));
    }
    if options.mode == Prune::Look {
        return Ok(pruned);
    }
    let mut removed = HashSet::new();
    if !places.is_empty() {
        for one in state.remove(&leaving(site, places)?, site.env.now_ms())? {
            log_removal(site, &one);
            removed.insert(one.removed);
        }
    }
    pruned.threads.retain(|one| removed.contains(&one.thread));
    state.finish_removals()?;
    pruned.left = remove_folders(site, &removed)?;
    Ok(pruned)
}

/// Returns what a thread is called and about.
fn about(site: &Site, thread: &PrunedThread, namings: &Namings) -> About {
    let head = Head::read(&site.store, thread.head);
    let start = head.and_then(|head| read_start(&site.store, head.start()));
    let program = read_program(&site.store, thread.workflow);
    About {
        name: namings.of(thread.thread).name,
        workflow_name: program.ok().map(|program| program.name().to_owned()),
        task: start.ok().and_then(|start| first_line(&start.node.prompt)),
    }
}

/// Returns the ended threads that the options choose, in the order in which they ended. A thread that cannot be read stays, with a
/// warning, if only its start could tell whether it is chosen.
fn chosen(
    site: &Site,
    options: &PruneOptions,
    warnings: &mut Vec<String>,
) -> Result<Vec<HistoryRecord>, EngineError> {
    let state = State::new(&site.root);
    let is_chosen = |record: &HistoryRecord| {
        options.statuses.contains(&ended_status(record.reason))
            && options
                .ended_before_ms
                .is_none_or(|before| record.completed_at < before)
    };
    let places = state.threads()?.places.into_values();
    let ended = places.filter_map(|place| match place {
        Located::Active(_) => None,
        Located::Archived(record) => Some(record),
    });
    let by_name = options.about.name.is_some() || !options.about.labels.is_empty();
    let namings = by_name.then(|| state.namings()).transpose()?;
    let namings = namings.unwrap_or_default();
    let mut selector = Selector::new(site, &options.about, &namings);
    let is_about = |record: &HistoryRecord| {
        selector.selects(record.thread, &Located::Archived(record.clone()))
    };
    let ended = ended.filter(is_chosen);
    let mut chosen: Vec<HistoryRecord> = ended.filter(is_about).collect();
    warnings.append(&mut selector.warnings);
    chosen.sort_by_key(|record| record.completed_at);
    Ok(chosen)
}

/// How many folders are locked at once.
const LOCKED_AT_ONCE: usize = 64;

/// Removes the folders of all removed threads, also those that an interrupted call left: these threads are not forgotten
/// yet. A folder whose lock is taken is left to the next call. Returns those that cannot be removed.
fn remove_folders(
    site: &Site,
    forgotten: &HashSet<ThreadId>,
) -> Result<Vec<LeftThread>, EngineError> {
    let gone = removed_threads(site)?;
    let mut left = Vec::new();
    for run in site.root.runs()? {
        let name = run.path().file_name().and_then(|name| name.to_str());
        let thread: Option<ThreadId> = name.and_then(|name| name.parse().ok());
        if let Some(thread) = thread.filter(|thread| gone.contains_key(thread)) {
            left.push((thread, run));
        }
    }
    let mut problems = Vec::new();
    for some in left.chunks(LOCKED_AT_ONCE) {
        problems.extend(remove_left(site, some, forgotten)?);
    }
    Ok(problems)
}

/// Removes those of these folders whose threads are gone when their locks are ours. Before, an import may have brought a
/// thread back. Returns those that cannot be removed.
fn remove_left(
    site: &Site,
    left: &[(ThreadId, RunDir)],
    forgotten: &HashSet<ThreadId>,
) -> Result<Vec<LeftThread>, EngineError> {
    let mut locked = Vec::new();
    for (thread, run) in left {
        if let Some(lock) = run.lease.acquire_if_free()? {
            locked.push((thread, run, lock));
        }
    }
    let gone = removed_threads(site)?;
    let mut problems = Vec::new();
    for (thread, run, _lock) in &locked {
        let Some(removed) = gone.get(thread) else {
            continue;
        };
        if !forgotten.contains(thread) {
            log_removal(site, removed);
        }
        // An earlier call may have been interrupted, and somebody may have changed something since then.
        if let Some(unkept) = UnkeptThread::of(site, **thread, &LeavingBranches::default())? {
            problems.push(LeftThread {
                thread: unkept.thread,
                reason: unkept.reason,
            });
            continue;
        }
        if let Err(error) = remove_folder(site, **thread, run) {
            problems.push(LeftThread {
                thread: **thread,
                reason: with_causes(&error),
            });
        }
    }
    Ok(problems)
}

/// Removes what a removed thread has beside the state. If a fetch or an import has brought the thread again meanwhile, it keeps its record
/// and its folder.
fn remove_folder(site: &Site, thread: ThreadId, run: &RunDir) -> Result<(), EngineError> {
    forget_snapshots(site, thread, run);
    workspace::removal::remove(site, thread)?;
    let folder = site.root.shared_folder();
    let _lock = folder.lock()?;
    if State::new(&site.root).find(thread)?.is_some() {
        return Ok(());
    }
    site.root.shared(thread).remove()?;
    Ok(run.remove()?)
}

/// Returns the threads that are removed now.
fn removed_threads(site: &Site) -> Result<HashMap<ThreadId, RemovedThread>, EngineError> {
    let state = State::new(&site.root);
    // Active threads are read last: one that comes back meanwhile is found.
    let removed = state.history()?.removed.into_iter();
    let mut gone: HashMap<ThreadId, RemovedThread> =
        removed.map(|one| (one.removed, one)).collect();
    for (active, _) in state.heads()? {
        gone.remove(&active);
    }
    Ok(gone)
}

/// Records a removal in the process log. A removal that was interrupted is recorded once more.
fn log_removal(site: &Site, removed: &RemovedThread) {
    let message = format!("head={}", removed.head);
    site.log_line(tags::REMOVED, &message, Some(removed.removed), None);
}

fn lock(run: &RunDir, id: ThreadId) -> Result<ThreadLock, EngineError> {
    match run.lease.acquire()? {
        LockAttempt::Lock(lock) => Ok(lock),
        LockAttempt::Orphaned(_) | LockAttempt::Busy => {
            Err(thread::busy(id, run.lease.read_record()))
        }
    }
}

/// Fails if the thread has not ended and must have.
fn check_removable(
    site: &Site,
    run: &RunDir,
    id: ThreadId,
    place: &Located,
    which: Removable,
) -> Result<(), EngineError> {
    match (place, which) {
        (Located::Active(head), Removable::Ended) => Err(EngineError::NotEnded {
            thread: id,
            // A thread with damaged nodes can be removed, too.
            steps: summarize(&site.store, None, *head)
                .ok()
                .map(|chain| chain.steps),
            has_finished_step: matches!(printed::waiting(site, run, *head), Ok(Some(_))),
            is_shared: is_shared(site, id),
        }),
        (Located::Archived(record), Removable::Ended) => {
            if owes_end(site, record)? {
                return Err(SharingError::EndNotTold(id).into());
            }
            refuse_needed(site, id, record.head)
        }
        (Located::Active(head), Removable::Any) => {
            // A thread with damaged nodes can be removed, and has no children that could be found.
            match thread::Thread::load(&site.store, id, *head) {
                Ok(thread) => children::refuse_to_leave(site, &thread),
                Err(_) => Ok(()),
            }
        }
        (Located::Archived(_), Removable::Any) => Ok(()),
    }
}

/// Fails if the next step of another thread needs what this ended one did.
fn refuse_needed(site: &Site, id: ThreadId, head: CasRef) -> Result<(), EngineError> {
    // A thread whose nodes are damaged can be removed all the same.
    if !children::is_needed(site, id, head).unwrap_or(false) {
        return Ok(());
    }
    let start = read_start(&site.store, Head::read(&site.store, head)?.start())?;
    let Some(parent) = children::parent_of(id, &start.node) else {
        return Ok(());
    };
    let problem = ChildProblem::Needed(id);
    Err(failed(parent.thread, &parent.role, problem))
}

impl From<&HistoryRecord> for PrunedThread {
    fn from(record: &HistoryRecord) -> Self {
        Self {
            thread: record.thread,
            workflow: record.workflow,
            head: record.head,
            status: ended_status(record.reason),
            ended_at_ms: record.completed_at,
            about: None,
        }
    }
}

#[cfg(test)]
mod tests;
