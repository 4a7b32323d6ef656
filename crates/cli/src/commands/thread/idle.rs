//! For how long a worker has had nothing to do.

use std::time::{Duration, Instant};

/// The time since a worker had something to do. The time in which steps were at work that did nothing is left out: it is no pause, and
/// no work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    /// When something was done last. The time of a step that was skipped is left out.
    last_work: Instant,
    /// Since when steps are at work of which none has done anything yet.
    busy_since: Option<Instant>,
    /// How many steps are at work.
    at_work: usize,
}

impl Idle {
    /// Begins to count.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            last_work: now,
            busy_since: None,
            at_work: 0,
        }
    }

    /// A step begins.
    pub(super) fn begin(&mut self, now: Instant) {
        self.at_work += 1;
        self.busy_since.get_or_insert(now);
    }

    /// A step has ended. One that was skipped has done nothing.
    pub(super) fn end(&mut self, now: Instant, is_skipped: bool) {
        self.at_work = self.at_work.saturating_sub(1);
        if !is_skipped {
            self.last_work = now;
            self.busy_since = Some(now);
        }
        if self.at_work == 0
            && let Some(since) = self.busy_since.take()
        {
            self.last_work += now - since;
        }
    }

    /// Returns how long nothing was ready, while nothing is at work.
    pub(super) fn time(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last_work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does what the steps do at these seconds, and checks how long nothing was ready at the last one.
    #[track_caller]
    fn check(steps: &[(u64, Step)], at: u64, expected: u64) {
        let zero = Instant::now();
        let second = |second| zero + Duration::from_secs(second);
        let mut idle = Idle::new(zero);
        for (at, step) in steps {
            match step {
                Begins => idle.begin(second(*at)),
                IsDone => idle.end(second(*at), false),
                IsSkipped => idle.end(second(*at), true),
            }
        }
        assert_eq!(idle.time(second(at)), Duration::from_secs(expected));
    }

    enum Step {
        Begins,
        IsDone,
        IsSkipped,
    }
    use Step::{Begins, IsDone, IsSkipped};

    #[test]
    fn the_time_counts_from_the_last_step_that_was_done() {
        check(&[], 7, 7);
        check(&[(2, Begins), (5, IsDone)], 9, 4);
        check(&[(2, Begins), (5, IsDone), (6, Begins), (8, IsDone)], 9, 1);
    }

    #[test]
    fn the_time_of_a_skipped_step_is_left_out() {
        check(&[(2, Begins), (5, IsSkipped)], 9, 6);
    }

    #[test]
    fn time_in_which_several_steps_were_skipped_counts_once() {
        let both = [(2, Begins), (3, Begins), (5, IsSkipped), (6, IsSkipped)];
        check(&both, 9, 5);
        let three = [(2, Begins), (2, Begins), (2, Begins)];
        let skipped = [(4, IsSkipped), (4, IsSkipped), (4, IsSkipped)];
        let all: Vec<_> = three.into_iter().chain(skipped).collect();
        check(&all, 9, 7);
    }

    #[test]
    fn a_step_that_is_done_beside_a_skipped_one_is_work() {
        let done_first = [(2, Begins), (3, Begins), (5, IsDone), (7, IsSkipped)];
        check(&done_first, 9, 2);
        let done_last = [(2, Begins), (3, Begins), (5, IsSkipped), (7, IsDone)];
        check(&done_last, 9, 2);
    }
}
