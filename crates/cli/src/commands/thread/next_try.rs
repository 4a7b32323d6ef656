//! Waiting for the time of the next attempt, before a step is done.

use std::time::Instant;

use uwf_engine::{EngineError, PlannedTry, StepOptions, StepReport, ThreadAt, wait_for_next_try};
use uwf_protocol::exit::Exit;

use super::stepping::{Wait, step_patiently};
use crate::args::Patience;
use crate::commands::Context;
use crate::failure::note;
use crate::local_time;
use crate::stderr;

/// Does a step. If the thread is busy, or waits for its next attempt, waits for that as long as the caller wants, for both
/// together.
pub(super) fn step_in_time(
    context: &Context,
    thread: ThreadAt,
    options: &StepOptions,
    patience: Option<Patience>,
) -> Result<StepReport, EngineError> {
    let patience = patience.map(Wait::from);
    loop {
        let result = step_patiently(context, thread, options, patience);
        let next = result.as_ref().err().and_then(awaited);
        let (Some(next), Some(Wait { deadline })) = (next, patience) else {
            return result;
        };
        if !wait(context, next, deadline)? {
            return result;
        }
    }
}

/// Returns the attempt that a call came too early for.
fn awaited(error: &EngineError) -> Option<&PlannedTry> {
    error.planned_try().filter(|_| error.exit() == Exit::Busy)
}

/// Waits for the time of an attempt, and says so. Returns `false` if it has not come at the deadline.
pub(super) fn wait(
    context: &Context,
    next: &PlannedTry,
    deadline: Option<Instant>,
) -> Result<bool, EngineError> {
    let PlannedTry {
        thread,
        at_ms,
        agent,
    } = next;
    if *at_ms > context.site().env.now_ms() {
        let at = local_time::moment(*at_ms);
        note(&format!(
            "thread {thread} waits until {at}, then agent `{agent}` makes the next attempt"
        ));
    }
    let has_line = context.runner.observer.progress.is_some();
    let mut tell = || {
        if has_line {
            let left_ms = at_ms.saturating_sub(context.site().env.now_ms());
            stderr::show_line(&next_try_line(agent, left_ms));
        }
    };
    let waited = wait_for_next_try(&context.runner, next, deadline, &mut tell);
    stderr::erase_line();
    waited
}

/// Returns the line about a wait: `waits for the next attempt by claude, in 1:05`.
fn next_try_line(agent: &str, left_ms: i64) -> String {
    let seconds = left_ms.max(0).saturating_add(999) / 1000;
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let left = match minutes / 60 {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{:02}:{seconds:02}", minutes % 60),
    };
    format!("waits for the next attempt by {agent}, in {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_counts_down_to_the_attempt() {
        let check = |ms, left: &str| {
            let line = format!("waits for the next attempt by a, in {left}");
            assert_eq!(next_try_line("a", ms), line);
        };
        check(-5, "0:00");
        check(1, "0:01");
        check(65_000, "1:05");
        check(3_661_000, "1:01:01");
    }
}
