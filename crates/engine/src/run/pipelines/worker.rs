//! The process that works on a run: what it knows, and how long it may go on.

use std::time::{Duration, Instant};

use uwf_protocol::ids::ThreadId;
use uwf_protocol::run::ProcessIdentity;
use uwf_runner::RunTime;
use uwf_storage::RunRoot;

use super::journal::Journal;
use super::{RunEvent, RunSettings};
use crate::run::owned::OwnedRun;
use crate::sharing::error::SharingError;
use crate::thread::active_head;
use crate::{EngineError, Runner};

/// The process that works on a run.
pub(super) struct Worker<'a> {
    pub(super) runner: &'a Runner,
    pub(super) run: &'a OwnedRun,
    pub(super) thread: ThreadId,
    pub(super) run_id: String,
    pub(super) root: RunRoot,
    pub(super) settings: &'a RunSettings,
    pub(super) own: ProcessIdentity,
    pub(super) journal: Journal<'a>,
    /// How many threads are above the run.
    pub(super) depth: u64,
    /// Whether this process waits for the next attempt in a child. If not, its caller does.
    pub(super) waits: bool,
    pub(super) began: Instant,
}

impl Worker<'_> {
    /// Returns the time of this process, if it is limited.
    pub(super) fn run_time(&self) -> Option<RunTime> {
        let whole = self.settings.timeout?;
        let left = whole.saturating_sub(self.began.elapsed());
        Some(RunTime { whole, left })
    }

    /// Returns what is left of it.
    pub(super) fn time_left(&self) -> Option<Duration> {
        Some(self.run_time()?.left)
    }

    /// Tells the caller what happens, and writes it into the log of the run.
    pub(super) fn tell(&self, event: &RunEvent<'_>) -> Result<(), EngineError> {
        (self.settings.tell)(event);
        self.journal.add(event)
    }

    /// Returns when the time of this process is over.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.began.checked_add(self.settings.timeout?)
    }

    /// Fails if the thread was ended from outside.
    pub(super) fn check_active(&self) -> Result<(), EngineError> {
        active_head(&self.runner.site, self.thread).map(drop)
    }

    /// Fails if another machine has the run now, or a person has ended the lease. What a program did from then on would not be in the
    /// run.
    pub(super) fn check_leased(&self) -> Result<(), EngineError> {
        match &self.run.shared {
            Some(shared) if shared.is_lost() => Err(SharingError::TakenOver(self.thread).into()),
            Some(_) | None => Ok(()),
        }
    }
}
