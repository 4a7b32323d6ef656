//! The next thread that is ready at the remote: taken by this machine, and brought here.
//!
//! The remote chooses the thread, so the owner of the lease cannot be taken from the record of a thread. A new owner takes the lease,
//! and is then written into the record of that thread. A later step on this machine, also of another process, has the lease by that record.

use std::collections::HashSet;

use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Label;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{Acquired, Lease, Remote, Want, Which};
use uwf_storage::{SharedRecord, State};

use crate::pause::refuse_if_paused;
use crate::run::push::push_alone;
use crate::run::shared::lease_time;
use crate::sharing::error::SharingError;
use crate::sharing::family::bring_those_above;
use crate::sharing::fetch::fetch;
use crate::sharing::{check_remote, is_unused, new_record, owner};
use crate::{EngineError, Outcome, Runner, Site, thread};

/// A thread that this machine has taken, and that nobody works on yet.
#[derive(Debug)]
pub struct Taken {
    lease: Lease,
    record: ThreadRecord,
    /// The mark under which this machine has the lease.
    shared: SharedRecord,
}

impl Taken {
    /// Returns the thread.
    #[must_use]
    pub fn thread(&self) -> ThreadId {
        self.lease.thread
    }

    /// Brings the thread here, and records the mark under which this machine has its lease. Returns whether a step can be done: a thread
    /// that was ended here, by a kill that the remote was not told, ends for all machines instead.
    ///
    /// # Errors
    /// When the remote does not answer; when the thread has gone on here in another way, is busy here, or was paused here. The caller
    /// [gives it back](Self::give_back).
    pub fn bring(&self, runner: &Runner, remote: &mut dyn Remote) -> Result<bool, EngineError> {
        let (site, thread) = (&runner.site, self.thread());
        let file = site.root.shared(thread);
        if let Some(known) = file.read()? {
            check_remote(thread, &known, &self.shared.remote)?;
        }
        if is_cancelled(site, thread)? {
            // The push takes the same lease again, and gives it back.
            file.replace(&self.shared)?;
            push_alone(runner, remote, thread)?;
            return Ok(false);
        }
        refuse_if_paused(site, &site.root.run(thread), thread)?;
        file.replace(&self.shared)?;
        // A finished step that waits here is no obstacle: the next step shares it first.
        match fetch(site, remote, thread)?.outcome == Outcome::Busy {
            true => return Err(thread::busy(thread, None)),
            false => bring_those_above(site, remote, thread)?,
        }
        Ok(true)
    }

    /// Gives the thread back, at the end of the line of ready threads. The lease is kept if something here needs it: a finished
    /// step that waits, an agent at work, or another process of this machine that has just begun with the thread, under the same
    /// lease. It is not kept if its mark is not on record: no later call would have it, so the thread would be busy to this machine.
    ///
    /// # Errors
    /// When the remote does not answer. Then the lease ends by itself.
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
            return Ok(());
        }
        let released = remote.release(&self.lease, &self.record);
        released
            .map(|_| ())
            .map_err(|error| SharingError::from(error).into())
    }
}

/// Tells whether a person has ended a thread on this machine.
fn is_cancelled(site: &Site, thread: ThreadId) -> Result<bool, EngineError> {
    let place = State::new(&site.root).find(thread)?;
    Ok(place.is_some_and(|place| place.is_cancelled()))
}

/// Returns the active shared threads on which a process of this root works. Their leases may have ended in an outage. If such a
/// thread were taken under a new mark, the process at work would lose its lease, and end an agent that is paid for. A step that
/// starts after this look and loses the race for the lease reads the new mark.
fn at_work(site: &Site) -> Result<Vec<ThreadId>, EngineError> {
    let heads = State::new(&site.root).heads()?;
    let active: HashSet<ThreadId> = heads.into_iter().map(|(thread, _)| thread).collect();
    let mut at_work = Vec::new();
    for thread in site.root.shared_threads()? {
        if active.contains(&thread) && site.root.run(thread).lease.is_held()? {
            at_work.push(thread);
        }
    }
    Ok(at_work)
}

/// Takes the thread that has been ready at the remote for the longest time and that nobody works on. A thread with a label is taken
/// only if that is one of these. Returns `None` if there is no such thread.
///
/// # Errors
/// When the remote does not answer, or does not give the next thread.
pub fn take_next(
    site: &Site,
    remote: &mut dyn Remote,
    labels: &[Label],
) -> Result<Option<Taken>, EngineError> {
    site.create()?;
    let hello = remote.hello().map_err(SharingError::from)?;
    let shared = new_record(site, hello.store)?;
    let owner = owner(&shared);
    let want = Want {
        owner: &owner,
        lasts: lease_time(site)?,
        have: &[],
        at_most: 0,
    };
    let except = at_work(site)?;
    let which = Which::Next {
        labels,
        except: &except,
    };
    let acquired = remote.acquire(which, &want);
    Ok(match acquired.map_err(SharingError::from)? {
        Acquired::Leased(leased) => Some(Taken {
            lease: leased.lease,
            record: leased.record,
            shared,
        }),
        Acquired::Busy { .. } | Acquired::Ended | Acquired::Unknown | Acquired::Nothing => None,
    })
}
