//! Steps of several threads: `uwf thread step A B C`, `--all`, and `--jobs`.

use uwf_engine::{EngineError, ListFilter, Session, ThreadStatus, glance};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_util::text::counted;

use super::listing;
use super::parallel;
use super::stepping::{or_print_failure, print_report, step_options, step_patiently};
use crate::args::{Many, Patience, StepArgs};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::output::{Format, print, write};
use crate::text::{NotDoneView, SkippedView};

/// Returns the threads that were named. All are looked for before the first one gets a step: a mistyped name is found at
/// once, and not after hours of work.
pub(super) fn named(context: &Context, args: &StepArgs) -> Result<Vec<ThreadId>, Failure> {
    let are_several = args.threads.len() > 1;
    let find = |text: &String| {
        let thread = context.thread(text)?;
        // An id is a name whether there is such a thread or not. All else that is wrong with a thread is its own matter.
        match are_several.then(|| glance(context.site(), thread)) {
            Some(Err(error @ (EngineError::UnknownThread(_) | EngineError::Removed(_)))) => {
                Err(Failure::from(error))
            }
            Some(Ok(_) | Err(_)) | None => Ok(thread),
        }
    };
    let found: Result<Vec<ThreadId>, Failure> = args.threads.iter().map(find).collect();
    found.map_err(|failure| Failure {
        note: are_several.then(|| "no thread got a step: all names are checked first".to_owned()),
        ..failure
    })
}

/// Does steps of each thread. A thread that fails does not stop the others; the first failure decides the exit code.
pub(super) fn step_many(
    context: &Context,
    args: &StepArgs,
    named: Vec<ThreadId>,
) -> Result<Exit, Failure> {
    let many = match args.part_of {
        Some(many) => many,
        None if args.all => Many::All,
        None => Many::Named,
    };
    let threads = match args.all {
        true => steppable(context, args)?,
        false => named,
    };
    let mut tally = Tally::default();
    if args.jobs > 1 && threads.len() > 1 {
        parallel::step(context, args, many, &threads, &mut tally)?;
    } else {
        for thread in threads {
            let exit = step_one(context, args, many, thread)?;
            tally.add(many, exit);
            if matches!(exit, Exit::Signal(_)) {
                break;
            }
        }
    }
    match args.part_of {
        // The process that started this one counts.
        Some(_) => Ok(tally.last),
        None => {
            // Nobody is to get a mail of cron because all went well.
            if !args.quiet || tally.decided != Exit::Done {
                note(&tally.summary());
            }
            Ok(tally.decided)
        }
    }
}

/// Returns the threads that `--all` names: the idle ones, unless other statuses were chosen. Damaged threads are named, too:
/// nobody knows whether they are idle, and they must not be forgotten in silence. Their steps fail.
fn steppable(context: &Context, args: &StepArgs) -> Result<Vec<ThreadId>, Failure> {
    let chosen = listing::filter(context, &args.filter)?;
    let statuses = chosen.statuses.unwrap_or_else(|| vec![ThreadStatus::Idle]);
    let has_step = |status: &ThreadStatus| {
        matches!(
            status,
            ThreadStatus::Idle | ThreadStatus::Failed | ThreadStatus::Running
        )
    };
    if let Some(other) = statuses.iter().find(|status| !has_step(status)) {
        return Err(Failure::usage(format!(
            "a thread that is {} has no next step",
            other.as_str()
        ))
        .hint("`--all` takes `--status` idle, failed or active"));
    }
    let filter = ListFilter {
        statuses: Some([statuses, vec![ThreadStatus::Corrupt]].concat()),
        ..chosen
    };
    let listed = uwf_engine::list(context.site(), &filter)?;
    for warning in &listed.warnings {
        warn(warning);
    }
    // The oldest thread has waited longest.
    let oldest_first = listed.threads.iter().rev();
    Ok(oldest_first.map(|item| item.thread).collect())
}

/// Does the steps of one of several threads, and prints what came of it. Returns the exit code of a single call.
fn step_one(
    context: &Context,
    args: &StepArgs,
    many: Many,
    thread: ThreadId,
) -> Result<Exit, Failure> {
    if context.format == Format::Text {
        write(&format!("{thread}:"))?;
    }
    let mut options = step_options(&args.agent, args.new_session);
    for number in 0..args.count {
        let result = step_patiently(context, thread, &options, args.patience.wait);
        let is_on_record = result.as_ref().is_err_and(has_attempt);
        let is_removed = matches!(result, Err(EngineError::Removed(_)));
        match or_print_failure(context, result, &options, None) {
            Ok(report) => {
                options.session = Session::Known;
                let is_done = report.state.done;
                print_report(context, report, &options)?;
                if is_done {
                    break;
                }
            }
            // Somebody removed it after it was listed. It counts as one that has ended.
            Err(failure) if many == Many::All && is_removed => {
                print(&SkippedView::of(thread, &failure), context.format)?;
                return Ok(Exit::Ended);
            }
            // The last report has said where the thread stands.
            Err(failure) if many == Many::All && is_skipped(failure.exit) && number > 0 => break,
            Err(failure) if many == Many::All && is_skipped(failure.exit) => {
                print(&SkippedView::of(thread, &failure), context.format)?;
                return Ok(failure.exit);
            }
            Err(failure) => {
                failure.print();
                if !is_on_record {
                    print(&NotDoneView::of(thread, &failure), context.format)?;
                }
                return Ok(failure.exit);
            }
        }
    }
    Ok(Exit::Done)
}

fn has_attempt(error: &EngineError) -> bool {
    error.attempt().is_some()
}

/// Tells whether a call with this exit code did nothing because the thread was busy, or not idle any more.
fn is_skipped(exit: Exit) -> bool {
    matches!(exit, Exit::Busy | Exit::Suspended | Exit::Ended)
}

/// What came of the threads.
#[derive(Debug, Default)]
pub(super) struct Tally {
    done: usize,
    skipped: usize,
    failed: usize,
    /// The exit code of the whole call: a signal, else the first failure.
    decided: Exit,
    last: Exit,
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

    fn summary(&self) -> String {
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

/// Returns the arguments of a call that does the same for one thread, in a process of its own.
pub(super) fn step_arguments(args: &StepArgs, thread: ThreadId) -> Vec<String> {
    let mut arguments = ["thread", "step", thread.as_str(), "--quiet", "--count"]
        .map(str::to_owned)
        .to_vec();
    arguments.push(match args.count {
        u64::MAX => "all".to_owned(),
        count => count.to_string(),
    });
    arguments.extend(
        args.agent
            .agent
            .iter()
            .map(|agent| format!("--agent={agent}")),
    );
    let flags = [
        (args.new_session, "--new-session"),
        (args.agent.no_wait, "--no-wait"),
    ];
    let given = flags.iter().filter(|(is_given, _)| *is_given);
    arguments.extend(given.map(|(_, flag)| (*flag).to_owned()));
    arguments.extend(args.patience.wait.map(|patience| match patience {
        Patience::Endless => "--wait".to_owned(),
        Patience::Limited(time) => format!("--wait={}ms", time.as_millis()),
    }));
    arguments
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
