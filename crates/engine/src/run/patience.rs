//! Waiting for a busy thread.
//!
//! The lock of a thread is a kernel lock, and the kernel wakes its waiters. But such a wait has no time limit and cannot
//! be ended by a signal, and the lock may be held by leftovers that the next owner ends. So the wait glances at the thread
//! a few times a second instead, which costs some small files.

use std::time::{Duration, Instant};

use uwf_process::Event;
use uwf_protocol::ids::ThreadId;

use crate::read::glance::glance;
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
    let failed = |source| EngineError::Io {
        action: "watch for signals".to_owned(),
        source,
    };
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
