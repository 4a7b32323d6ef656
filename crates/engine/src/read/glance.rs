//! A glance at a thread: the little that tells whether something has happened to it. It costs a few small files, and no
//! node is read, so that a caller who waits may glance again and again.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::Located;

use crate::children::with_descendants;
use crate::read::activity::Activity;
use crate::{EngineError, Site, thread};

/// What can change about a thread. If two glances are equal, nothing has happened in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    /// Its head.
    pub head: CasRef,
    /// Whether it has ended.
    pub has_ended: bool,
    /// Whether somebody works on it or commits a step of it, or a process of an attempt still runs.
    pub is_at_work: bool,
    /// How many attempts have failed at its head.
    pub failed_attempts: usize,
}

/// Glances at a thread.
///
/// # Errors
/// When the thread is unknown, or its files cannot be read.
pub fn glance(site: &Site, id: ThreadId) -> Result<Glance, EngineError> {
    Ok(match thread::find(site, id)? {
        Located::Active(head) => {
            let run = site.root.run(id);
            let activity = Activity::at(site, &run, head)?;
            // An engine clears its record when the agent has ended, and moves the head after that. Until then it has the
            // lock.
            let is_committing = run.lease.read_record().is_none() && run.lease.is_held()?;
            Glance {
                head,
                has_ended: false,
                is_at_work: activity.running.is_some() || is_committing,
                failed_attempts: activity.attempts.len(),
            }
        }
        Located::Archived(record) => Glance {
            head: record.head,
            has_ended: true,
            is_at_work: false,
            failed_attempts: 0,
        },
    })
}

/// Glances at a thread and at all threads below it, at every depth. If two such glances are equal, nothing has happened to any of
/// them in between.
///
/// # Errors
/// When the thread is unknown, or the files of the state cannot be read.
pub fn glance_at_family(site: &Site, id: ThreadId) -> Result<Vec<(ThreadId, Glance)>, EngineError> {
    let family = with_descendants(site, &[id])?.into_iter();
    family.map(|one| Ok((one, glance(site, one)?))).collect()
}

/// Returns the processes that are on record as working on the threads below a thread, at every depth. A record may be left from a
/// process that has ended.
///
/// # Errors
/// When the files of the state cannot be read.
pub fn engines_below(site: &Site, id: ThreadId) -> Result<Vec<u32>, EngineError> {
    let family = with_descendants(site, &[id])?.into_iter().skip(1);
    let records = family.filter_map(|thread| site.root.run(thread).lease.read_record());
    Ok(records.map(|record| record.engine.pid).collect())
}
