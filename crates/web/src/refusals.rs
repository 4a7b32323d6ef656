//! How many refusals are logged: so many in a period, and so many at the same time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many refusals are logged in a [period](PERIOD). A visitor who sends many wrong requests must not fill the disk.
const MOST: u32 = 20;
/// How long a period is.
const PERIOD: Duration = Duration::from_secs(10);

/// How many lines about refused requests are written at the same time. If the disk is slow, further refusals are only counted, so
/// that strangers do not take the threads of the blocking pool from other visitors.
pub(crate) const WRITERS: usize = 2;

/// How many refusals were logged in the current period.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    /// When the period started.
    since: Option<Instant>,
    /// How many refusals of the period were logged.
    logged: u32,
    /// How many lines are being written.
    at_once: usize,
    /// How many refusals were left out since the last line.
    left_out: u64,
}

impl Refusals {
    /// Counts a refusal. Returns how many were left out since the last line, and takes a place for the line of this one; `None` if
    /// this one is left out, too.
    pub(crate) fn count(&self, now: Instant) -> Option<u64> {
        let mut count = self.lock();
        let is_over = |since: Instant| now.saturating_duration_since(since) >= PERIOD;
        if count.since.is_none_or(is_over) {
            count.since = Some(now);
            count.logged = 0;
        }
        if count.logged == MOST || count.at_once == WRITERS {
            count.left_out += 1;
            return None;
        }
        count.logged += 1;
        count.at_once += 1;
        Some(std::mem::take(&mut count.left_out))
    }

    /// Gives back the place of a line.
    pub(crate) fn was_written(&self) {
        self.lock().at_once -= 1;
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_refusals_are_logged_and_the_next_tells_of_the_rest() {
        let refusals = Refusals::default();
        let start = Instant::now();
        let written = |now| {
            let count = refusals.count(now);
            refusals.was_written();
            count
        };
        for _ in 0..MOST {
            assert_eq!(written(start), Some(0));
        }
        assert_eq!(refusals.count(start), None);
        assert_eq!(refusals.count(start), None);
        assert_eq!(written(start + PERIOD), Some(2));
        assert_eq!(written(start + PERIOD), Some(0));
    }

    #[test]
    fn while_the_disk_is_slow_only_a_few_refusals_wait_for_it() {
        let refusals = Refusals::default();
        let now = Instant::now();
        for _ in 0..WRITERS {
            assert_eq!(refusals.count(now), Some(0));
        }
        assert_eq!(refusals.count(now), None);
        assert_eq!(refusals.count(now), None);
        refusals.was_written();
        assert_eq!(refusals.count(now), Some(2));
    }
}
