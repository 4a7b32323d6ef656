//! The next thread that is ready at the remote: taken by this machine, and brought here.
//!
//! The remote chooses the thread, so the owner of the lease cannot be taken from the record of a thread. A new owner takes the lease,
//! and is then written into the record of that thread. A later step on this machine, also of another process, has the lease by that record.
//! Until the call is done with the thread, the mark of the owner is in a file of its own, too. If the call dies, the next one asks with
//! the same mark, and gets the same thread.

use std::cell::RefCell;
use std::collections::HashSet;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{Acquired, Lease, Remote, RemoteError, Want, Which};
use uwf_storage::{NextMark, SharedRecord, State};

use crate::pause::{is_paused, refuse_if_paused};
use crate::run::push::push_alone;
use crate::run::shared::lease_time;
use crate::sharing::error::SharingError;
use crate::sharing::family::bring_those_above;
use crate::sharing::fetch::fetch;
use crate::sharing::records::{ensure_records, set_record};
use crate::sharing::{check_remote, is_unused, new_record, owner};
use crate::{EngineError, Outcome, Runner, Site, thread};

/// A thread that this machine has taken, and that nobody works on yet.
#[derive(Debug)]
pub struct Taken {
    lease: Lease,
    record: ThreadRecord,
    /// The mark under which this machine has the lease.
    shared: SharedRecord,
    /// The same mark, for the case that this call dies.
    mark: RefCell<Option<NextMark>>,
}

impl Taken {
    /// Returns the thread.
    #[must_use]
    pub fn thread(&self) -> ThreadId {
        self.lease.thread
    }

    /// Brings the thread here, and records the mark under which this machine has its lease. Returns whether a step can be done: a thread
    /// that has ended here ends for all machines instead. The remote was not told of a kill, or was restored from a backup.
    ///
    /// # Errors
    /// When the remote does not answer; when the thread has gone on here in another way, is busy here, or was paused here. The caller
    /// [gives it back](Self::give_back).
    pub fn bring(&self, runner: &Runner, remote: &mut dyn Remote) -> Result<bool, EngineError> {
        let (site, thread) = (&runner.site, self.thread());
        if let Some(known) = site.root.shared(thread).read()?
            && !known.is_presumed()
        {
            check_remote(thread, &known, &self.shared.remote)?;
        }
        if has_ended_here(site, thread)? {
            // The push takes the same lease again, and gives it back.
            set_record(site, thread, &self.shared)?;
            push_alone(runner, remote, thread)?;
            self.forget_mark();
            return Ok(false);
        }
        refuse_if_paused(site, &site.root.run(thread), thread)?;
        set_record(site, thread, &self.shared)?;
        // A finished step that waits here is no obstacle: the next step shares it first.
        match fetch(site, remote, thread)?.outcome == Outcome::Busy {
            true => return Err(thread::busy(thread, None)),
            false => bring_those_above(site, remote, thread)?,
        }
        Ok(true)
    }

    /// Forgets the mark, because the step of the thread is done and has given the lease back.
    pub fn finish(self) {
        self.forget_mark();
    }

    /// Removes the mark. If that fails, the next call asks under it, and finds nothing.
    fn forget_mark(&self) {
        if let Some(mark) = self.mark.take() {
            let _ = mark.remove();
        }
    }

    /// Gives the thread back, at the end of the line of ready threads. The lease is kept if something here needs it: a finished
    /// step that waits, an agent at work, or another process of this machine that has just begun with the thread, under the same
    /// lease. It is not kept if its mark is not on record: no later call would have it, so the thread would be busy to this machine.
    ///
    /// # Errors
    /// When the remote does not answer. Then the lease ends by itself, or the next call that asks for a thread gives it back.
    pub fn give_back(&self, site: &Site, remote: &mut dyn Remote) -> Result<(), EngineError> {
        let run = site.root.run(self.thread());
        let lock = match run.exists() {
            true => run.lease.acquire_if_free()?,
            false => None,
        };
        let is_at_work = run.exists() && lock.is_none();
        let known = site.root.shared(self.thread()).read()?;
        let is_recorded = known.is_some_and(|known| known == self.shared);
        if is_recorded && (is_at_work || !is_unused(&run)?) {
            self.forget_mark();
            return Ok(());
        }
        let released = remote.release(&self.lease, &self.record);
        // If the remote did not answer, the next call that asks gets the thread again, and gives it back.
        released.map_err(SharingError::from)?;
        self.forget_mark();
        Ok(())
    }
}

/// What a machine gets that asks for the next thread.
#[derive(Debug)]
pub struct NextThread {
    /// The thread, if there is one.
    pub taken: Option<Taken>,
    /// The shared threads that are paused here, by their ids. They are left to other machines.
    pub paused: Vec<ThreadId>,
}

/// Tells whether a thread has ended on this machine.
fn has_ended_here(site: &Site, thread: ThreadId) -> Result<bool, EngineError> {
    let place = State::new(&site.root).find(thread)?;
    Ok(place.is_some_and(|place| place.end().is_some()))
}

/// The active threads that this root does not want to get as the next one: a process of this root works on them, or they are paused
/// here.
///
/// The leases of the threads at work may have ended in an outage. If such a thread were taken under a new mark, the process at work would
/// lose its lease, and end an agent that is paid for. A step that starts after this look and loses the race for the lease reads the new
/// mark.
#[derive(Default)]
struct NotWanted {
    /// The threads at work, and all paused ones: the remote may share a thread of which this root does not know that.
    threads: Vec<ThreadId>,
    /// The paused ones that are known to be shared.
    paused: Vec<ThreadId>,
    /// The marks of the leases of the threads at work.
    marks: HashSet<String>,
}

impl NotWanted {
    fn at(site: &Site) -> Result<Self, EngineError> {
        let heads = State::new(&site.root).heads()?;
        let shared: HashSet<ThreadId> = site.root.shared_folder().threads()?.into_iter().collect();
        let mut found = Self::default();
        for (thread, _) in heads {
            let is_shared = shared.contains(&thread);
            let is_paused = is_paused(site, thread);
            let is_at_work = is_shared && site.root.run(thread).lease.is_held()?;
            if is_at_work {
                let record = site.root.shared(thread).read()?;
                found.marks.extend(record.map(|record| record.mark));
            }
            if is_paused && is_shared {
                found.paused.push(thread);
            }
            if is_at_work || is_paused {
                found.threads.push(thread);
            }
        }
        Ok(found)
    }

    fn with(self, taken: Option<Taken>) -> NextThread {
        NextThread {
            taken,
            paused: self.paused,
        }
    }
}

/// Takes the thread that has been ready at the remote for the longest time and that nobody works on. A thread with a label is taken
/// only if that is one of these. A thread that a call of this root has taken and left, because it died, comes first. A thread that is
/// paused here is left to other machines.
///
/// # Errors
/// When the remote does not answer, or does not give the next thread.
pub fn take_next(
    site: &Site,
    remote: &mut dyn Remote,
    labels: &[Label],
) -> Result<NextThread, EngineError> {
    site.create()?;
    let store = remote.hello().map_err(SharingError::from)?.store;
    ensure_records(site, remote)?;
    let not_wanted = NotWanted::at(site)?;
    let is_free = |mark: &str| !not_wanted.marks.contains(mark);
    let wish = (labels, not_wanted.threads.as_slice());
    while let Some(left) = NextMark::take_left(&site.root, is_free)? {
        let shared = SharedRecord::certain(store.clone(), left.mark().to_owned());
        let Some(taken) = ask(site, remote, wish, (shared, left))? else {
            // The call that died had no thread. Another one may have left its mark, too.
            continue;
        };
        let is_paused = not_wanted.paused.contains(&taken.thread());
        if !is_paused && has_label(remote, taken.thread(), labels)? {
            return Ok(not_wanted.with(Some(taken)));
        }
        // The call that died had other labels, or a person has paused the thread since.
        taken.give_back(site, remote)?;
    }
    loop {
        let shared = new_record(site, store.clone())?;
        if let Some(mark) = NextMark::create(&site.root, &shared.mark)? {
            let taken = ask(site, remote, wish, (shared, mark))?;
            return Ok(not_wanted.with(taken));
        }
    }
}

/// Asks for the next thread under a mark. The mark stays if the remote may have given a thread to it and nobody got the answer.
fn ask(
    site: &Site,
    remote: &mut dyn Remote,
    (labels, except): (&[Label], &[ThreadId]),
    (shared, mark): (SharedRecord, NextMark),
) -> Result<Option<Taken>, EngineError> {
    let owner = owner(&shared);
    let want = Want {
        owner: &owner,
        lasts: lease_time(site)?,
        have: &[],
        at_most: 0,
    };
    let acquired = remote.acquire(Which::Next { labels, except }, &want);
    match acquired {
        Ok(Acquired::Leased(leased)) => Ok(Some(Taken {
            lease: leased.lease,
            record: leased.record,
            shared,
            mark: RefCell::new(Some(mark)),
        })),
        Ok(Acquired::Busy { .. } | Acquired::Ended | Acquired::Unknown | Acquired::Nothing) => {
            mark.remove()?;
            Ok(None)
        }
        Err(error) => {
            if matches!(error, RemoteError::Broken(_)) {
                // That thread may be damaged, and the next call is to get another one.
                mark.remove()?;
            }
            Err(SharingError::from(error).into())
        }
    }
}

/// Tells whether a worker with these labels may take a thread.
fn has_label(
    remote: &mut dyn Remote,
    thread: ThreadId,
    labels: &[Label],
) -> Result<bool, EngineError> {
    let found = remote.find(thread, CasRef::from_u64(0));
    let label = found
        .map_err(SharingError::from)?
        .and_then(|found| found.listed.label);
    Ok(label.is_none_or(|label| labels.contains(&label)))
}
