//! Steps of several threads: `uwf thread step A B C`, `--all`, and `--jobs`.

use uwf_engine::{
    Early, EngineError, ListFilter, Session, StepOptions, ThreadItem, ThreadStatus, glance,
};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use super::listing;
use super::next_try::step_in_time;
use super::parallel;
use super::stepping::{or_print_failure, print_report, step_options};
use super::tally::{Later, Tally, is_skipped};
use crate::args::{Many, StepArgs};
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
        // `context.thread` accepts any well-formed id, so look here whether the thread exists. Other errors are reported by
        // the thread's own step.
        match are_several.then(|| glance(context.site(), thread)) {
            Some(Err(error @ (EngineError::UnknownThread(_) | EngineError::Removed(_)))) => {
                Err(Failure::from(error))
            }
            Some(Ok(_) | Err(_)) | None => Ok(thread),
        }
    };
    let found: Result<Vec<ThreadId>, Failure> = args.threads.iter().map(find).collect();
    found.map_err(|failure| Failure {
        note: are_several.then(|| "no thread got a step: all names are checked first".into()),
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
    let mut tally = Tally::default();
    let threads = match args.all {
        true => {
            let found = steppable(context, args)?;
            for item in &found.damaged {
                tally.add(many, report_damaged(context, item)?);
            }
            tally.later = found.later;
            found.threads
        }
        false => named,
    };
    if args.jobs.unwrap_or(1) > 1 && threads.len() > 1 {
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

/// The threads that `--all` means.
struct Steppable {
    /// Those that get a step, the oldest first.
    threads: Vec<ThreadId>,
    /// Those that cannot be read. Nobody knows whether they are idle, and they must not be forgotten in silence.
    damaged: Vec<ThreadItem>,
    /// Those that get no step because their next attempt is made later.
    later: Option<Later>,
}

/// Returns the threads that `--all` means: the idle ones, unless other statuses were chosen, and with `--now` those that wait for
/// their next attempt. Damaged threads get no step, so they do not count against `--limit`.
fn steppable(context: &Context, args: &StepArgs) -> Result<Steppable, Failure> {
    let chosen = listing::filter(context, &args.filter)?;
    let usual = match args.early.now {
        true => vec![ThreadStatus::Idle, ThreadStatus::Waiting],
        false => vec![ThreadStatus::Idle],
    };
    // Nobody who chooses statuses asks about other threads that wait.
    let counted = match &chosen.statuses {
        Some(_) => vec![ThreadStatus::Corrupt],
        None => vec![ThreadStatus::Corrupt, ThreadStatus::Waiting],
    };
    let statuses = chosen.statuses.unwrap_or(usual);
    let has_step = |status: &ThreadStatus| {
        matches!(
            status,
            ThreadStatus::Idle
                | ThreadStatus::Failed
                | ThreadStatus::Waiting
                | ThreadStatus::Running
        )
    };
    if let Some(other) = statuses.iter().find(|status| !has_step(status)) {
        return Err(Failure::usage(format!(
            "a thread that is {} has no next step",
            other.as_str()
        ))
        .hint("`--all` takes `--status` idle, failed, waiting or active"));
    }
    let gets_step = |item: &ThreadItem| statuses.contains(&item.status);
    let filter = ListFilter {
        statuses: Some([&statuses[..], &counted].concat()),
        take: None,
        ..chosen
    };
    let listed = uwf_engine::list(context.site(), &filter)?;
    // A damaged thread is named by one of them.
    for warning in &listed.warnings {
        warn(warning);
    }
    let is_damaged = |item: &ThreadItem| item.status == ThreadStatus::Corrupt;
    let (damaged, good): (Vec<_>, Vec<_>) = listed.threads.into_iter().partition(is_damaged);
    let (mut good, later): (Vec<_>, Vec<_>) = good.into_iter().partition(gets_step);
    // The thread that has waited longest comes first. So each thread gets its turn, also with `--limit`.
    good.sort_by_key(|item| (item.outline.changed_at_ms, item.thread));
    good.truncate(args.filter.limit.unwrap_or(usize::MAX));
    let threads = good.iter().map(|item| item.thread).collect();
    Ok(Steppable {
        threads,
        damaged,
        later: Later::of(&later),
    })
}

/// Prints for programs that a damaged thread got no step, and returns its exit code.
fn report_damaged(context: &Context, item: &ThreadItem) -> Result<Exit, Failure> {
    let thread = item.thread;
    let failure = Failure {
        exit: Exit::Store,
        ..Failure::request(item.error.clone().unwrap_or_default())
    };
    let failure = failure.hint(format!("`uwf thread show {thread}` says what to do"));
    print(&NotDoneView::of(thread, &failure), context.format)?;
    Ok(failure.exit)
}

/// Returns the line above what comes of one of several threads, as text.
pub(super) fn heading(thread: ThreadId) -> String {
    format!("{thread}:")
}

/// Does the steps of one of several threads, and prints what came of it. Returns the exit code of a single call.
fn step_one(
    context: &Context,
    args: &StepArgs,
    many: Many,
    thread: ThreadId,
) -> Result<Exit, Failure> {
    if context.format == Format::Text {
        write(&heading(thread))?;
    }
    let mut options = StepOptions {
        early: args.early.into(),
        ..step_options(&args.agent, args.new_session)
    };
    for number in 0..args.count {
        let result = step_in_time(context, thread.into(), &options, args.patience.wait);
        let is_on_record = result.as_ref().is_err_and(has_attempt);
        let is_removed = matches!(result, Err(EngineError::Removed(_)));
        match or_print_failure(context, result, &options, None) {
            Ok(report) => {
                options.session = Session::Known;
                options.early = Early::Refuse;
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
