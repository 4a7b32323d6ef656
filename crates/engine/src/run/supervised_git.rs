//! `git` under supervision: a call of ours that is told to stop ends it with the filters that it started, and it has a limit of
//! time. Its processes carry the mark of an attempt, so that they are found if the call is killed.

use std::fmt;
use std::io;
use std::process::Command;
use std::time::Instant;

use uwf_process::Signals;
use uwf_protocol::agent::env::ATTEMPT;
use uwf_snapshot::{Ended, LIMIT, Start, run_supervised};

/// Starts git for a call that does a step, or puts files back.
pub(crate) struct SupervisedGit<'a> {
    pub(crate) signals: &'a Signals,
    /// The mark of its processes, if a record names it.
    pub(crate) attempt: Option<&'a str>,
    /// When all calls must have ended, if that is before the limit of each.
    pub(crate) until: Option<Instant>,
}

impl fmt::Debug for SupervisedGit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SupervisedGit")
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl Start for SupervisedGit<'_> {
    fn run(&self, command: &mut Command) -> io::Result<Ended> {
        if let Some(attempt) = self.attempt {
            command.env(ATTEMPT, attempt);
        }
        let left = self
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        let limit = left.map_or(LIMIT, |left| left.min(LIMIT));
        run_supervised(command, limit, self.signals)
    }
}
