//! `git` with a limit of time: a filter of the repository that hangs costs a step its snapshots, and not the step.

use std::io;
use std::process::Command;
use std::time::Duration;

use uwf_process::HeldSignals;
use uwf_snapshot::{Ended, LIMIT, Start, run_supervised};

use crate::adapter::Supervision;

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
        held.with(|signals| run_supervised(command, self.limit, signals))
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
