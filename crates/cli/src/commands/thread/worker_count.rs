//! What a worker says about its steps at its end.

use uwf_protocol::exit::Exit;
use uwf_util::text::counted;

/// What came of the steps of a worker.
#[derive(Default)]
pub(super) struct Count {
    done: usize,
    failed: usize,
    /// How many have failed since one was done.
    pub(super) in_a_row: u32,
    /// The exit code of the last one that failed.
    pub(super) last: Exit,
}

impl Count {
    pub(super) fn done(&mut self) {
        self.done += 1;
        self.in_a_row = 0;
    }

    pub(super) fn failed(&mut self, exit: Exit) {
        self.failed += 1;
        self.in_a_row += 1;
        self.last = exit;
    }

    pub(super) fn summary(&self) -> String {
        let steps = counted(self.done, "step");
        match self.failed {
            0 => format!("{steps} done"),
            failed => format!("{steps} done, {failed} failed"),
        }
    }
}
