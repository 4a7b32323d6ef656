//! What came of the steps of several threads: how many were done, and the exit code of the whole call.

use uwf_protocol::exit::Exit;
use uwf_util::text::counted;

use crate::args::Many;

/// What came of the threads.
#[derive(Debug, Default)]
pub(super) struct Tally {
    done: usize,
    skipped: usize,
    failed: usize,
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

    /// Returns the counts as a text: `4 threads: 1 stepped, 3 failed`.
    pub(super) fn summary(&self) -> String {
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
