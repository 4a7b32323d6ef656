//! Steps of several threads at once.

use std::time::Instant;

use uwf_protocol::ids::ThreadId;

use super::jobs::{Jobs, Next};
use super::tally::Tally;
use crate::args::{Many, StepArgs};
use crate::commands::{Context, own_program};
use crate::failure::Failure;
use crate::stderr;
use crate::text::{JobCounts, jobs_line};

/// Does the steps of the threads, as many at once as the caller wants. Shows the messages of a process at once, and its result when it
/// has ended.
pub(super) fn step(
    context: &Context,
    args: &StepArgs,
    many: Many,
    threads: &[ThreadId],
    tally: &mut Tally,
) -> Result<(), Failure> {
    let mut jobs = Jobs::new(context)?;
    let mut queue = threads.iter();
    let mut line = Line::new(context, threads.len());
    // After a failure no more are started. Those that are at work are paid for, so they go on to their end.
    let mut failure = Ok(());
    loop {
        while failure.is_ok()
            && jobs.len() < args.jobs.unwrap_or(1)
            && let Some(thread) = queue.next()
        {
            let mut arguments = own_program::step_arguments(args, *thread);
            arguments.push(format!("--part-of={}", many.name()));
            failure = jobs.start(*thread, &arguments);
        }
        if jobs.len() == 0 {
            return failure;
        }
        match jobs.next() {
            Next::Nothing => line.look(context, jobs.threads()),
            Next::Ended(_, exit, shown) => {
                line.done += 1;
                failure = failure.and(shown);
                tally.add(many, exit);
            }
            Next::Stopped(stop) => {
                for (exit, shown) in jobs.end(stop) {
                    failure = failure.and(shown);
                    tally.add(many, exit);
                }
                return failure;
            }
        }
    }
}

/// The line about the threads, for a terminal.
struct Line {
    is_wanted: bool,
    all: usize,
    done: usize,
    started: Instant,
    /// The second in which the line was drawn last.
    second: u64,
}

impl Line {
    fn new(context: &Context, all: usize) -> Self {
        Self {
            is_wanted: context.runner.observer.progress.is_some(),
            all,
            done: 0,
            started: Instant::now(),
            second: 0,
        }
    }

    /// Draws the line if a new second has begun.
    fn look(&mut self, context: &Context, threads: impl Iterator<Item = ThreadId>) {
        let elapsed = self.started.elapsed();
        if self.is_wanted && elapsed.as_secs() != self.second {
            self.second = elapsed.as_secs();
            let (waiting, at_work): (Vec<_>, Vec<_>) = threads.partition(|thread| {
                let record = context.site().root.run(*thread).lease.read_record();
                record.is_some_and(|record| record.waiting)
            });
            let counts = JobCounts {
                at_work: at_work.len(),
                waiting: waiting.len(),
                done: self.done,
                all: self.all,
            };
            stderr::show_line(&jobs_line(&counts, elapsed));
        }
    }
}
