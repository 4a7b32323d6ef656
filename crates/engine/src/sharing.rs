//! Threads that several machines work on, by a remote.
//!
//! The head of a shared thread at the remote is the truth, and the head here is a copy. A step of the thread is done under a lease
//! of the remote (`run/shared.rs`). `run/push.rs` puts a thread at the remote. This module brings threads from there, and shares
//! names of workflows (`sharing/names.rs`). A thread that was never pushed knows no remote.

pub(crate) mod error;
pub(crate) mod family;
pub(crate) mod family_fetch;
pub(crate) mod fetch;
pub(crate) mod names;
pub(crate) mod nodes;
pub(crate) mod records;
pub(crate) mod repair;

use std::collections::BTreeMap;
use std::time::Duration;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{Lease, Owner, Remote, RemoteError, Standing};
use uwf_storage::{
    HistoryRecord, RunDir, SharedRecord, State, StorageError, machine_id, machine_name,
};
use uwf_thread::{Head, steps};

use crate::bundle::{self, Side};
use crate::children::parent_at;
use crate::sharing::error::SharingError;
use crate::{EngineError, Site, printed, thread};

/// Returns the remote that the config of a root names. It connects at its first call.
pub type Remotes = fn(&Site) -> Result<Box<dyn Remote + Send>, EngineError>;

/// Returns a new record for a thread that is shared by this remote.
pub(crate) fn new_record(site: &Site, remote: String) -> Result<SharedRecord, EngineError> {
    Ok(SharedRecord::certain(remote, new_mark(site)?))
}

/// Returns a new mark for the leases of a thread.
pub(crate) fn new_mark(site: &Site) -> Result<String, EngineError> {
    let random = site.env.random().map_err(|source| EngineError::Io {
        action: "get random bits from the kernel".to_owned(),
        source,
    })?;
    let low = u64::try_from(random & u128::from(u64::MAX)).expect("64 bits fit");
    Ok(CasRef::from_u64(low).to_string())
}

/// Tells whether a thread is shared. A record that cannot be read does not count as absent.
#[must_use]
pub fn is_shared(site: &Site, thread: ThreadId) -> bool {
    !matches!(site.root.shared(thread).read(), Ok(None))
}

/// Records that the remote knows the end of a thread.
pub(crate) fn settle_end(site: &Site, thread: ThreadId) -> Result<(), EngineError> {
    Ok(site.root.shared(thread).settle_end()?)
}

/// Tells whether a person has ended a shared thread here, and the remote may not know it yet.
pub(crate) fn owes_end(site: &Site, ended: &HistoryRecord) -> Result<bool, EngineError> {
    Ok(ended.is_cancelled() && site.root.shared(ended.thread).owes_end()?)
}

/// Returns the owner of the leases that this root takes of a shared thread.
pub(crate) fn owner(record: &SharedRecord) -> Owner {
    Owner {
        machine: machine_id(),
        name: machine_name(),
        mark: record.mark.clone(),
    }
}

/// Tells whether a remote lets its user change threads, as far as it can be told without a change: an object storage refuses only a
/// change.
///
/// # Errors
/// When the remote does not answer.
pub fn may_change(site: &Site, remote: &mut dyn Remote) -> Result<bool, EngineError> {
    let record = new_record(site, String::new())?;
    // No thread has this id.
    let none = no_lease(ThreadId::new(0, 0), &record);
    match remote.end_lease(&none) {
        Ok(()) => Ok(true),
        Err(RemoteError::Denied(..) | RemoteError::NotLetIn(..)) => Ok(false),
        Err(error) => Err(SharingError::from(error).into()),
    }
}

/// Returns a lease of a thread that nobody has: no lease has its number, so none is given back or ended by it.
pub(crate) fn no_lease(thread: ThreadId, record: &SharedRecord) -> Lease {
    Lease {
        thread,
        fence: 0,
        owner: owner(record),
        lasts: Duration::ZERO,
    }
}

/// Tells the remote what is known here of the attempts of a thread whose lease this call does not have.
pub(crate) fn tell_without_lease(
    remote: &mut dyn Remote,
    thread: ThreadId,
    record: &SharedRecord,
    known: &ThreadRecord,
) -> Result<(), EngineError> {
    let told = remote.release(&no_lease(thread, record), known);
    told.map(drop)
        .map_err(|error| SharingError::from(error).into())
}

/// Returns what is known here of the attempts of a thread, merged with what the remote knows; `None` if that is nothing new, or if
/// a finished step waits.
///
/// A finished step that waits names attempts by their numbers, and a merge may change these. So the step is shared or kept aside
/// first.
pub(crate) fn merged_record(
    run: &RunDir,
    there: &ThreadRecord,
) -> Result<Option<ThreadRecord>, StorageError> {
    if run.outbox.read_pending()?.is_some() {
        return Ok(None);
    }
    let known = run.ledger.export();
    let merged = known.merged(there);
    Ok((merged != known).then_some(merged))
}

/// Tells whether no finished step of a thread waits here, and no attempt is on record. Then nothing here needs the lease of the
/// thread.
pub(crate) fn is_unused(run: &RunDir) -> Result<bool, StorageError> {
    Ok(run.outbox.read_pending()?.is_none() && run.lease.read_record().is_none())
}

/// Returns the threads that are shared here, by their ids.
///
/// # Errors
/// When the folder of their records cannot be read.
pub fn shared_threads(site: &Site) -> Result<Vec<ThreadId>, EngineError> {
    Ok(site.root.shared_folder().threads()?)
}

/// Returns the threads that are shared here, sorted, by the ids of their remotes. A thread that one of several remotes may share is named
/// for each of them, and one whose record cannot be read for none.
///
/// # Errors
/// When the folder of their records cannot be read.
pub fn threads_of_remotes(site: &Site) -> Result<BTreeMap<String, Vec<ThreadId>>, EngineError> {
    let mut found: BTreeMap<String, Vec<ThreadId>> = BTreeMap::new();
    for thread in shared_threads(site)? {
        if let Ok(Some(record)) = site.root.shared(thread).read() {
            for remote in record.remotes() {
                found.entry(remote).or_default().push(thread);
            }
        }
    }
    Ok(found)
}

/// Returns the threads that other remotes than the one with this id share here, as [`threads_of_remotes`].
///
/// # Errors
/// When the folder of their records cannot be read.
pub fn threads_of_others(
    site: &Site,
    store: &str,
) -> Result<BTreeMap<String, Vec<ThreadId>>, EngineError> {
    let mut found = threads_of_remotes(site)?;
    found.remove(store);
    Ok(found)
}

/// Returns the threads that the remote with this id shares here, sorted. A thread whose record cannot be read is among them: whatever is
/// done with it says so.
///
/// # Errors
/// When the folder of the records cannot be read.
pub fn threads_of(site: &Site, store: &str) -> Result<Vec<ThreadId>, EngineError> {
    let others = threads_of_others(site, store)?;
    let mut threads = shared_threads(site)?;
    threads.retain(|id| others.values().all(|of| of.binary_search(id).is_err()));
    Ok(threads)
}

/// Returns the [`threads_of`] a remote without children whose parent is among them, because a push of the parent sends them. A thread that
/// is not here is left out, unless the files of the state have lost it.
///
/// # Errors
/// When the folder of the records, or the state, cannot be read.
pub fn topmost_shared(site: &Site, store: &str) -> Result<Vec<ThreadId>, EngineError> {
    let places = State::new(&site.root).threads()?.places;
    let all = threads_of(site, store)?;
    let works_for_one = |id: &ThreadId| {
        let parent = places.get(id).map(|at| parent_at(site, *id, at.head()));
        // If it cannot be read, the push says what is wrong with it.
        let parent = parent.and_then(Result::ok).flatten();
        let parent = parent.map(|parent| parent.thread);
        parent.is_some_and(|id| places.contains_key(&id) && all.binary_search(&id).is_ok())
    };
    let is_gone = |id: &ThreadId| {
        use EngineError::{Removed, UnknownThread};
        !places.contains_key(id)
            && matches!(thread::find(site, *id), Err(UnknownThread(_) | Removed(_)))
    };
    let topmost = all.iter().filter(|id| !is_gone(id) && !works_for_one(id));
    Ok(topmost.copied().collect())
}

/// Returns the active shared threads with a finished step that waits here. This root may still have their leases, so no other
/// machine gets these threads.
///
/// # Errors
/// When the records cannot be read.
pub fn waiting_threads(site: &Site) -> Result<Vec<ThreadId>, EngineError> {
    let mut waiting = Vec::new();
    for thread in shared_threads(site)? {
        if waiting_step(site, thread)?.is_some() {
            waiting.push(thread);
        }
    }
    Ok(waiting)
}

/// Returns how long to wait before the remote is asked again: one to two seconds, because several machines should not ask at the same
/// time.
#[must_use]
pub fn pause_before_question(site: &Site) -> Duration {
    let random = site.env.random().unwrap_or_default();
    let more = u64::try_from(random % 1000).unwrap_or_default();
    Duration::from_millis(1000 + more)
}

/// Tells whether nobody works on a shared thread, here or on another machine. A lease that this root still has does not count, if
/// nobody works under it.
///
/// # Errors
/// When the remote does not answer, or the records here cannot be read.
pub fn is_free(
    site: &Site,
    remote: &mut dyn Remote,
    thread: ThreadId,
) -> Result<bool, EngineError> {
    let Some(record) = site.root.shared(thread).read()? else {
        return Ok(false);
    };
    if site.root.run(thread).lease.is_held()? {
        return Ok(false);
    }
    let standing = remote.standing(thread).map_err(SharingError::from)?;
    Ok(match standing {
        Standing::Free => true,
        Standing::Leased(lease) => lease.owner == owner(&record),
        Standing::Unknown => false,
    })
}

/// Returns the finished step of an active thread that waits here, if there is one. It is not part of the thread yet.
///
/// # Errors
/// When the records of the thread cannot be read.
pub fn waiting_step(site: &Site, id: ThreadId) -> Result<Option<CasRef>, EngineError> {
    Ok(printed::of_active(site, id)?.map(|waiting| waiting.step))
}

/// Stores the [`merged_record`] of a thread. The caller has the lock of the thread.
pub(crate) fn merge_record(run: &RunDir, there: &ThreadRecord) -> Result<(), StorageError> {
    match merged_record(run, there)? {
        Some(merged) => run.ledger.import(&merged),
        None => Ok(()),
    }
}

/// Tells whether a thread here had a head on its way to the one that it has: the head is on its chain, or a step that was done again
/// here has taken its place.
pub(crate) fn was_head_here(
    site: &Site,
    (thread, here): (ThreadId, CasRef),
    head: CasRef,
) -> Result<bool, EngineError> {
    // The newest steps are read first, and the head is one of them most often. Only what was replaced needs the whole chain.
    if has_on_its_way(site, here, head)? {
        return Ok(true);
    }
    let mut replaced = State::new(&site.root).replaced()?;
    replaced.retain(|step| step.in_thread == thread);
    let side = Side {
        head: here,
        replaced: &replaced,
    };
    bundle::had(&site.store, side, head)
}

/// Tells whether a head is on a chain: it is one of the steps, or the start.
pub(crate) fn has_on_its_way(
    site: &Site,
    chain: CasRef,
    head: CasRef,
) -> Result<bool, EngineError> {
    if chain == head || Head::read(&site.store, chain)?.start() == head {
        return Ok(true);
    }
    for step in steps(&site.store, chain) {
        if step?.hash == head {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fails if the found remote is not the one by which a thread is shared.
pub(crate) fn check_remote(
    thread: ThreadId,
    record: &SharedRecord,
    found: &str,
) -> Result<(), EngineError> {
    match record.remote == found {
        true => Ok(()),
        false => Err(SharingError::OtherRemote {
            thread,
            known: record.remote.clone(),
            found: found.to_owned(),
            presumed: record.is_presumed(),
        }
        .into()),
    }
}
