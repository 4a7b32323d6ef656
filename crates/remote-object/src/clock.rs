//! The time of a store, which it tells with each answer. No clock of a machine counts. Point 7 of "Threads in an object storage" in
//! `docs/architecture.md` argues why no lease ends too early.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;

/// What tells the time of a store.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// Returns the time since 1970 that the store has told last, if it has told one. When it is told, it may be behind by less than
    /// the [precision](Self::precision).
    fn now(&self) -> Option<Duration>;

    /// Returns how far the told time may be behind.
    fn precision(&self) -> Duration;
}

/// The time that the answers of a server tell in their header `Date`.
#[derive(Debug, Default)]
pub(crate) struct Dates {
    last: Mutex<Option<Duration>>,
}

impl Dates {
    /// Remembers the date of an answer. An answer without one changes nothing.
    pub(crate) fn tell(&self, date: &str) {
        if let Some(date) = since_1970(date) {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(date);
        }
    }
}

impl Clock for Dates {
    fn now(&self) -> Option<Duration> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn precision(&self) -> Duration {
        Duration::from_secs(1)
    }
}

fn since_1970(date: &str) -> Option<Duration> {
    let date = DateTimeParser::new().parse_timestamp(date).ok()?;
    u64::try_from(date.as_second())
        .ok()
        .map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_date_counts_and_what_is_no_date_does_not() {
        let dates = Dates::default();
        assert_eq!(dates.now(), None);
        dates.tell("Sun, 06 Nov 1994 08:49:37 GMT");
        dates.tell("soon");
        assert_eq!(dates.now(), Some(Duration::from_secs(784_111_777)));
    }
}
