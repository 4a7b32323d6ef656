//! Waiting for files: the folder is looked at again and again, with sleeps in between.

use std::time::{Duration, Instant};

use uwf_pipeline::course::WaitTask;
use uwf_pipeline::{Failure, LimitOf, Limits, Waited};
use uwf_process::{Signals, Stop};

use crate::attempt::{Attempt, AttemptEnd, Report, RunTime, Surroundings, refused};
use crate::dependencies::needs;
use crate::error::{NotWanted, RunError};

/// How often the caller is told that the wait goes on.
const TICK: Duration = Duration::from_millis(500);

/// Why a wait has no result.
enum NoResult {
    Refused(Failure),
    /// The caller does not want it to go on.
    NotWanted,
}

impl From<Failure> for NoResult {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

/// Waits for files. `tick` is called while nothing happens. A signal to this process ends the wait at once.
///
/// # Errors
/// When the signals cannot be watched, and when `tick` does not want the wait to go on.
pub fn wait(
    around: &Surroundings<'_>,
    task: &WaitTask,
    run_time: Option<RunTime>,
    tick: &mut dyn FnMut() -> Result<(), NotWanted>,
) -> Result<Attempt, RunError> {
    around.signals.watch().map_err(RunError::Signals)?;
    let mut report = Report::default();
    report.reads = match needs(around, &task.secrets, &task.depends_on) {
        Ok(files) => files,
        Err(failure) => return Ok(refused(around, &failure, report)),
    };
    let started = Instant::now();
    let polled = poll(around, task, (run_time, started), tick);
    report.duration = started.elapsed();
    let end = match polled {
        Ok(end) => end,
        Err(NoResult::Refused(failure)) => return Ok(refused(around, &failure, report)),
        Err(NoResult::NotWanted) => return Err(RunError::NotWanted),
    };
    Ok(Attempt { end, report })
}

/// Looks until there are enough files, or the time is over.
fn poll(
    around: &Surroundings<'_>,
    task: &WaitTask,
    (run_time, started): (Option<RunTime>, Instant),
    tick: &mut dyn FnMut() -> Result<(), NotWanted>,
) -> Result<AttemptEnd, NoResult> {
    let timeout = Duration::from_millis(task.timeout_ms);
    let deadline = run_time.map_or(timeout, |run| run.left.min(timeout));
    let mut polls = 0;
    loop {
        if let Some(stop) = around.signals.stop() {
            return Ok(AttemptEnd::Interrupted(stop));
        }
        let looked_at = started.elapsed();
        let files = around.workspace.files(&task.glob)?;
        polls += 1;
        let is_enough = files.len() as u64 >= task.min_count;
        let next = next_poll(looked_at, Duration::from_millis(task.poll_ms), deadline);
        match next {
            Some(next) if !is_enough => {
                let slept = sleep(around.signals, started + next, tick);
                if let Some(stop) = slept.map_err(|NotWanted| NoResult::NotWanted)? {
                    return Ok(AttemptEnd::Interrupted(stop));
                }
            }
            _ => {
                let waited = Waited {
                    files: files.iter().map(|file| around.masks.text(file)).collect(),
                    wait_duration_ms: whole_ms(started.elapsed()),
                    poll_count: polls,
                    timed_out: !is_enough,
                };
                let limit = match deadline < timeout {
                    true => LimitOf::Run,
                    false => LimitOf::Step,
                };
                let glob = around.masks.text(&task.glob);
                let wanted = (glob.as_str(), task.min_count);
                let limits = Limits {
                    step_ms: Some(task.timeout_ms),
                    run_ms: run_time.map(RunTime::whole_ms),
                };
                let result = uwf_pipeline::waited(waited, wanted, (limit, limits));
                return Ok(AttemptEnd::Settled(Box::new(result)));
            }
        }
    }
}

/// Returns when to look next: at a multiple of the interval, and a last time at the deadline. `None` if that is over.
fn next_poll(elapsed: Duration, interval: Duration, deadline: Duration) -> Option<Duration> {
    if elapsed >= deadline {
        return None;
    }
    let done = elapsed.as_nanos() / interval.as_nanos().max(1);
    let next = interval.checked_mul(u32::try_from(done + 1).unwrap_or(u32::MAX));
    Some(next.map_or(deadline, |next| next.min(deadline)))
}

/// Sleeps until a time, or until this process is told to stop.
fn sleep(
    signals: &Signals,
    until: Instant,
    tick: &mut dyn FnMut() -> Result<(), NotWanted>,
) -> Result<Option<Stop>, NotWanted> {
    loop {
        tick()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if let Some(stop) = signals.sleep(left.min(TICK)) {
            return Ok(Some(stop));
        }
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(elapsed: u64, interval: u64, deadline: u64) -> Option<u64> {
        let ms = Duration::from_millis;
        next_poll(ms(elapsed), ms(interval), ms(deadline)).map(whole_ms)
    }

    #[test]
    fn polls_come_at_multiples_of_the_interval_and_once_at_the_deadline() {
        assert_eq!(next(0, 500, 1200), Some(500));
        assert_eq!(next(503, 500, 1200), Some(1000));
        assert_eq!(next(1000, 500, 1200), Some(1200));
        assert_eq!(next(1200, 500, 1200), None);
        // One that took too long leaves those out that it missed.
        assert_eq!(next(1100, 200, 5000), Some(1200));
        assert_eq!(next(0, 500, 0), None);
        assert_eq!(next(0, u64::MAX, 100), Some(100));
        assert_eq!(next(0, 500, 1000), Some(500));
        assert_eq!(next(999, 500, 1000), Some(1000));
    }
}
