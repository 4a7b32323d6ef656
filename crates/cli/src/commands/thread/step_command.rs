//! `uwf thread step`: of one thread or several, at once, in the background, or not at all.

use uwf_engine::{Early, Session, StepOptions, ThreadAt};
use uwf_protocol::exit::Exit;

use super::next_try::step_in_time;
use super::stepping::{or_print_failure, print_report, refuse_head_of_many, step_options};
use super::{background, dry_run, many, next};
use crate::args::StepArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::stderr;

/// Runs `uwf thread step`.
pub(super) fn run_steps(context: &Context, args: &StepArgs) -> Result<Exit, Failure> {
    background::leave_session_if(args.agent.detached)?;
    if args.quiet {
        stderr::be_quiet();
    }
    let options = StepOptions {
        jobs: args.jobs,
        early: args.early.into(),
        ..step_options(&args.agent, args.new_session)
    };
    if args.next {
        refuse_head_of_many(&args.at, 0)?;
        next::step(context, args, |thread| {
            step_thread(context, thread.into(), args, options.clone())
        })?;
        return Ok(Exit::Done);
    }
    let threads = many::named(context, args)?;
    refuse_head_of_many(&args.at, threads.len())?;
    if args.background {
        for thread in threads {
            background::start(context, args, thread)?;
        }
    } else if args.dry_run {
        for thread in threads {
            dry_run::show(context, context.thread_at(thread, &args.at)?, &options)?;
        }
    } else if let ([thread], None) = (threads.as_slice(), args.part_of) {
        step_thread(
            context,
            context.thread_at(*thread, &args.at)?,
            args,
            options,
        )?;
    } else {
        return many::step_many(context, args, threads);
    }
    Ok(Exit::Done)
}

/// Does steps of one thread and prints each result as soon as its step is recorded, like a loop of single calls. The first
/// step that fails decides the exit code. If a step completes the thread, the loop ends.
fn step_thread(
    context: &Context,
    mut thread: ThreadAt,
    args: &StepArgs,
    mut options: StepOptions,
) -> Result<(), Failure> {
    for _ in 0..args.count {
        let report = step_in_time(context, thread, &options, args.patience.wait);
        let report = or_print_failure(context, report, &options, None)?;
        options.session = Session::Known;
        options.early = Early::Refuse;
        thread.head = None;
        let is_done = report.state.done;
        print_report(context, report, &options)?;
        if is_done {
            break;
        }
    }
    Ok(())
}
