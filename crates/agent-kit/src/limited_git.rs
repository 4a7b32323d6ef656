//! `git` with a limit of time: a filter of the repository that hangs costs a step its snapshots, and not the step.

use uwf_snapshot::{LIMIT, Limited};

use crate::adapter::Supervision;

/// Which part of the time of an agent one call may take. A call before the step and one after it leave the agent half of it.
const PART: u32 = 4;

/// Returns the git of an agent that is supervised like this.
pub(crate) fn git_within(supervision: &Supervision) -> Limited {
    let part = supervision.limit.map(|limit| limit / PART);
    Limited {
        limit: part.map_or(LIMIT, |part| part.min(LIMIT)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_call_gets_a_part_of_the_time_of_the_agent_and_never_more_than_its_limit() {
        let of = |seconds: Option<u64>| {
            git_within(&Supervision {
                limit: seconds.map(Duration::from_secs),
                ..Supervision::default()
            })
        };
        assert_eq!(of(Some(8)).limit, Duration::from_secs(2));
        assert_eq!(of(Some(10_000)).limit, LIMIT);
        assert_eq!(of(None).limit, LIMIT);
    }
}
