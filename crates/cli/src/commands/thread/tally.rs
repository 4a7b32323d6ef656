//! What came of the steps of several threads: how many were done, and the exit code of the whole call.

use uwf_engine::ThreadItem;
use uwf_protocol::exit::Exit;
use uwf_util::text::counted;

use crate::args::Many;
use crate::local_time;

/// Threads that wait for their next attempts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Later {
    count: usize,
    /// When the first of them is made, in milliseconds since 1970.
    first_ms: i64,
}

impl Later {
    /// Returns what is told of these threads, if there are any.
    pub(super) fn of(threads: &[ThreadItem]) -> Option<Self> {
        let times = threads.iter().filter_map(|item| item.next_try.as_ref());
        Some(Self {
            count: threads.len(),
            first_ms: times.map(|next| next.at_ms).min()?,
        })
    }

    fn text(self) -> String {
        let until = local_time::moment(self.first_ms);
        match self.count {
            1 => format!("1 waits until {until} for its next attempt"),
            more => format!("{more} wait for their next attempts, the first until {until}"),
        }
    }
}

/// What came of the threads.
#[derive(Debug, Default)]
pub(super) struct Tally {
    done: usize,
    skipped: usize,
    failed: usize,
    /// The threads that got no step because they wait for their next attempt.
    pub(super) later: Option<Later>,
    /// The exit code of the whole call: a signal, else the first failure.
    pub(super) decided: Exit,
    /// The exit code of the last thread.
    pub(super) last: Exit,
}

impl Tally {
    /// Counts a thread by the exit code of its steps.
    pub(super) fn add(&mut self, many: Many, exit: Exit) {
        self.last = exit;
        if exit == Exit::Done {
            self.done += 1;
        } else if many == Many::All && is_skipped(exit) {
            self.skipped += 1;
        } else {
            self.failed += 1;
            if self.decided == Exit::Done || matches!(exit, Exit::Signal(_)) {
                self.decided = exit;
            }
        }
    }

    /// Returns the counts as a text: `4 threads: 1 stepped, 3 failed; 1 waits until … for its next attempt`.
    pub(super) fn summary(&self) -> String {
        let later = self.later.map(|later| format!("; {}", later.text()));
        self.counts() + &later.unwrap_or_default()
    }

    fn counts(&self) -> String {
        let threads = counted(self.done + self.skipped + self.failed, "thread");
        let counts = [
            (self.done, "stepped"),
            (self.skipped, "skipped"),
            (self.failed, "failed"),
        ];
        let parts = counts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        match parts.is_empty() {
            true => threads,
            false => format!("{threads}: {}", parts.join(", ")),
        }
    }
}

/// Tells whether a call with this exit code did nothing because the thread was busy, or not idle any more.
pub(super) fn is_skipped(exit: Exit) -> bool {
    matches!(exit, Exit::Busy | Exit::Suspended | Exit::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_skipped_is_no_failure_and_the_first_failure_decides() {
        let mut tally = Tally::default();
        for exit in [Exit::Done, Exit::Busy, Exit::Agent, Exit::Store] {
            tally.add(Many::All, exit);
        }
        assert_eq!(tally.decided, Exit::Agent);
        assert_eq!(tally.summary(), "4 threads: 1 stepped, 1 skipped, 2 failed");
        let mut named = Tally::default();
        named.add(Many::Named, Exit::Busy);
        assert_eq!(named.decided, Exit::Busy);
        named.add(Many::Named, Exit::Signal(2));
        assert_eq!(named.decided, Exit::Signal(2));
        assert_eq!(Tally::default().summary(), "0 threads");
    }
}
