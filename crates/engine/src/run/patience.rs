//! Waiting for a busy thread, and for the next attempt at a step.
//!
//! The lock of a thread is a kernel lock, and the kernel wakes its waiters. But such a wait has no time limit and cannot
//! be ended by a signal, and the lock may be held by leftovers that the next owner ends. So the wait glances at the thread
//! a few times a second instead, which costs some small files. A remote wakes nobody either, and is asked each second or two.

use std::io;
use std::time::{Duration, Instant};

use uwf_process::Event;
use uwf_protocol::ids::ThreadId;
use uwf_remote::{Remote, RemoteError, Standing};

use crate::planned_try::PlannedTry;
use crate::read::glance::glance;
use crate::sharing::error::SharingError;
use crate::sharing::{owner, pause_before_question};
use crate::{EngineError, Runner};

/// The pause between two glances.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until nobody works on a thread that was found busy. Returns `false` if somebody still does at the deadline.
///
/// # Errors
/// When a signal told us to stop, or the thread cannot be read.
pub fn wait_until_free(
    runner: &Runner,
    id: ThreadId,
    deadline: Option<Instant>,
) -> Result<bool, EngineError> {
    runner.signals.watch().map_err(failed)?;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        // The pause comes first: a caller who was told that the thread is busy does not ask again at once.
        let pause = left.map_or(PAUSE, |left| left.min(PAUSE));
        if let Event::Stop(stop) = runner.signals.wait(pause) {
            return Err(EngineError::NotStarted(stop.signal));
        }
        if !glance(&runner.site, id)?.is_at_work {
            return Ok(true);
        }
    }
}

/// Waits until no other machine works on a shared thread that was found busy. Returns `false` if one still does at the deadline.
///
/// # Errors
/// When a signal told us to stop, or the remote fails with an error that does not pass by itself.
pub fn wait_until_free_elsewhere(
    runner: &Runner,
    id: ThreadId,
    deadline: Option<Instant>,
) -> Result<bool, EngineError> {
    runner.signals.watch().map_err(failed)?;
    let site = &runner.site;
    let mut remote = (runner.remotes)(site)?;
    let mut is_told = false;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(false);
        }
        let pause = pause_before_question(site);
        let pause = left.map_or(pause, |left| left.min(pause));
        if let Event::Stop(stop) = runner.signals.wait(pause) {
            return Err(EngineError::NotStarted(stop.signal));
        }
        let Some((again, standing)) = ask_standing(runner, remote, id, deadline)? else {
            return Ok(false);
        };
        remote = again;
        let standing = match standing {
            Ok(standing) => standing,
            // It may answer again before the deadline.
            Err(error) if error.may_pass() => {
                if !std::mem::replace(&mut is_told, true) {
                    (runner.notice)(&format!("{error}: asking again until it answers"));
                }
                continue;
            }
            Err(error) => return Err(SharingError::from(error).into()),
        };
        // The next step here takes over a lease of this root.
        let own = site.root.shared(id).read()?.map(|own| owner(&own));
        if !matches!(standing, Standing::Leased(lease) if Some(&lease.owner) != own.as_ref()) {
            return Ok(true);
        }
    }
}

/// The pause between two looks whether the remote has answered.
const TICK: Duration = Duration::from_millis(20);

/// A remote that another thread of this process can ask.
type Connected = Box<dyn Remote + Send>;
/// A remote with its answer.
type Answered = (Connected, Result<Standing, RemoteError>);

/// Asks a remote who has the lease of a thread, and returns the remote, too. Returns `None` at the deadline. A remote may be silent for
/// a long time, so another thread of this process asks it, and a signal need not wait for the answer.
fn ask_standing(
    runner: &Runner,
    mut remote: Connected,
    id: ThreadId,
    deadline: Option<Instant>,
) -> Result<Option<Answered>, EngineError> {
    let asking = std::thread::spawn(move || {
        let standing = remote.standing(id);
        (remote, standing)
    });
    while !asking.is_finished() {
        if let Event::Stop(stop) = runner.signals.wait(TICK) {
            return Err(EngineError::NotStarted(stop.signal));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
    }
    match asking.join() {
        Ok(answered) => Ok(Some(answered)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn failed(source: io::Error) -> EngineError {
    EngineError::Io {
        action: "watch for signals".to_owned(),
        source,
    }
}

/// The pause between two looks at a thread that waits for its next attempt. The attempt itself begins in time.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// Waits until the time of the next attempt has come, or something has happened to the thread. `tell` is called about once a
/// second. Returns `false` if the thread still waits at the deadline.
///
/// # Errors
/// When a signal told us to stop, or the thread cannot be read.
pub fn wait_for_next_try(
    runner: &Runner,
    next: &PlannedTry,
    deadline: Option<Instant>,
    tell: &mut dyn FnMut(),
) -> Result<bool, EngineError> {
    runner.signals.watch().map_err(failed)?;
    let before = glance(&runner.site, next.thread)?;
    let left = || {
        let left_ms = next.at_ms.saturating_sub(runner.site.env.now_ms());
        Duration::from_millis(u64::try_from(left_ms).unwrap_or_default())
    };
    // The wait is not longer than it was to be, even if the clock is set back meanwhile.
    let end = Instant::now().checked_add(left());
    loop {
        let until =
            |time: Option<Instant>| time.map(|time| time.saturating_duration_since(Instant::now()));
        let left = left().min(until(end).unwrap_or(Duration::MAX));
        if left.is_zero() {
            return Ok(true);
        }
        let patience = until(deadline).unwrap_or(Duration::MAX);
        if patience.is_zero() {
            return Ok(false);
        }
        tell();
        if let Event::Stop(stop) = runner.signals.wait(left.min(patience).min(LONG_PAUSE)) {
            return Err(EngineError::NotStarted(stop.signal));
        }
        if glance(&runner.site, next.thread)? != before {
            return Ok(true);
        }
    }
}
