//! The time of a store, which it tells with each answer. No clock of a machine counts. Point 7 of "Threads in an object storage" in
//! `docs/architecture.md` argues why no lease ends too early.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;

/// What tells the time of a store.
pub trait Clock: std::fmt::Debug + Send + Sync {
    /// Returns the time since 1970 that the last answer of the store has told, if it has told one. When it is told, it may be behind
    /// by less than the [precision](Self::precision).
    fn now(&self) -> Option<Duration>;

    /// Returns how far the told time may be behind.
    fn precision(&self) -> Duration;
}

/// The time that the last answer of a server tells in its header `Date`.
#[derive(Debug, Default)]
pub(crate) struct Dates {
    last: Mutex<Option<Duration>>,
}

impl Dates {
    /// Remembers the date of an answer. After an answer without a date the time is unknown: an earlier date may be hours old.
    pub(crate) fn tell(&self, date: Option<&str>) {
        let date = date.and_then(since_1970);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = date;
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
    fn only_the_date_of_the_last_answer_counts() {
        let dates = Dates::default();
        assert_eq!(dates.now(), None);
        for without in [None, Some("soon"), Some("Sun, 06 Nov 1904 08:49:37 GMT")] {
            dates.tell(Some("Sun, 06 Nov 1994 08:49:37 GMT"));
            assert_eq!(dates.now(), Some(Duration::from_secs(784_111_777)));
            dates.tell(without);
            assert_eq!(dates.now(), None, "{without:?}");
        }
    }
}
