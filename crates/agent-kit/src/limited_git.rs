//! `git` with a limit of time: a filter of the repository that hangs costs a step its snapshots, and not the step.

use std::io;
use std::process::Command;
use std::time::Duration;

use uwf_process::{HeldSignals, ShortEnd, Signals, run_limited};
use uwf_snapshot::{Ended, Start};

use crate::adapter::Supervision;

/// How long one call of git may take.
const LIMIT: Duration = Duration::from_mins(10);
/// Which part of the time of an agent one call may take. A call before the step and one after it leave the agent half of it.
const PART: u32 = 4;

/// Starts git for a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitedGit {
    limit: Duration,
}

impl LimitedGit {
    /// Returns the git of an agent that is supervised like this.
    pub(crate) fn of(supervision: &Supervision) -> Self {
        let part = supervision.limit.map(|limit| limit / PART);
        Self {
            limit: part.map_or(LIMIT, |part| part.min(LIMIT)),
        }
    }
}

impl Start for LimitedGit {
    fn run(&self, command: &mut Command) -> io::Result<Ended> {
        let held = HeldSignals::new()?;
        let stopped = || held.with(Signals::stop).map(|stop| stop.signal);
        if let Some(signal) = stopped() {
            return Ok(Ended::Stopped(signal));
        }
        Ok(
            match held.with(|signals| run_limited(command, self.limit, signals))? {
                ShortEnd::Exited(status) => Ended::Exited(status),
                ShortEnd::TimedOut(limit) => Ended::TooSlow(limit),
                // The signal stays known after it was waited for.
                ShortEnd::Stopped | ShortEnd::TooMuch => Ended::Stopped(stopped().unwrap_or(0)),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_gets_a_part_of_the_time_of_the_agent_and_never_more_than_its_limit() {
        let of = |seconds: Option<u64>| {
            LimitedGit::of(&Supervision {
                limit: seconds.map(Duration::from_secs),
                ..Supervision::default()
            })
        };
        assert_eq!(of(Some(8)).limit, Duration::from_secs(2));
        assert_eq!(of(Some(10_000)).limit, LIMIT);
        assert_eq!(of(None).limit, LIMIT);
    }
}
