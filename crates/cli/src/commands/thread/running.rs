//! `uwf run` and `uwf thread run`: steps until a thread stops.

use std::cell::Cell;
use std::rc::Rc;

use uwf_engine::{
    AgentChoice, Early, EngineError, NoSlot, Pace, Session, StepOptions, StepReport, ThreadAt,
    ThreadState, ThreadStatus,
};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use super::background::leave_session_if;
use super::next_try;
use super::start_thread;
use super::stepping::{
    Wait, failure_of, or_print_failure, step_options, step_patiently, warn_blocked,
};
use crate::args::{Patience, RunArgs, RunHowArgs, RunThreadArgs};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::hints;
use crate::output::{Format, print, write};
use crate::stderr;
use crate::text::{RunStepView, StartedView, StepView, StoppedView};

/// Starts a thread and runs it.
pub(crate) fn run_new(context: &Context, args: RunArgs) -> Result<Exit, Failure> {
    leave_session_if(args.how.agent.detached)?;
    if args.how.quiet {
        stderr::be_quiet();
    }
    let steps = Rc::default();
    let options = options(context, &args.how, false, &steps);
    let started = start_thread(context, args.start)?;
    let thread = started.thread;
    match (context.format, args.how.quiet) {
        (Format::Text, _) => write(thread.as_str())?,
        (_, true) => print(&StartedView::from(started), context.format)?,
        (_, false) => note(&format!("thread {thread} was started")),
    }
    let run = Run {
        context,
        thread,
        patience: None,
        is_new: true,
        is_quiet: args.how.quiet,
        steps,
    };
    run.to_its_stop(thread.into(), options).map_err(|failure| match failure.exit {
        // The same call again would start another thread.
        Exit::Request if failure.note.is_none() => Failure {
            note: Some(format!(
                "thread {thread} is kept: `uwf thread run {thread}` goes on with it, `uwf thread rm --force {thread}` removes it"
            ).into()),
            ..failure
        },
        _ => failure,
    })
}

/// Goes on with a thread.
pub(super) fn run_known(context: &Context, args: &RunThreadArgs) -> Result<Exit, Failure> {
    leave_session_if(args.how.agent.detached)?;
    if args.how.quiet {
        stderr::be_quiet();
    }
    let steps = Rc::default();
    let options = StepOptions {
        early: args.early.into(),
        ..options(context, &args.how, args.new_session, &steps)
    };
    let thread = context.thread(&args.thread)?;
    let at = context.thread_at(thread, &args.at)?;
    Run {
        context,
        thread,
        patience: args.patience.wait,
        is_new: false,
        is_quiet: args.how.quiet,
        steps,
    }
    .to_its_stop(at, options)
}

/// Returns how the steps of a run are done: branches go on as long as they can, and each cycle of one is counted and printed
/// when it has ended.
fn options(
    context: &Context,
    how: &RunHowArgs,
    new_session: bool,
    steps: &Rc<Cell<u64>>,
) -> StepOptions {
    let (format, is_quiet, steps) = (context.format, how.quiet, steps.clone());
    let tell = move |report: &StepReport| {
        steps.update(|steps| steps + report.steps_done());
        if !is_quiet {
            // A stdout that is closed is found when the run prints next.
            let _ = print_report(report, AgentChoice::default(), format);
        }
    };
    StepOptions {
        jobs: how.jobs,
        pace: Pace::ToTheEnd(Rc::new(tell)),
        ..step_options(&how.agent, new_session)
    }
}

fn print_report(report: &StepReport, choice: AgentChoice, format: Format) -> Result<(), Failure> {
    let view = StepView {
        report: report.clone(),
        choice,
    };
    print(&RunStepView(view), format)
}

/// A thread that is run until it stops.
struct Run<'a> {
    context: &'a Context,
    thread: ThreadId,
    patience: Option<Patience>,
    /// Whether this call has started the thread.
    is_new: bool,
    is_quiet: bool,
    /// How many steps were recorded.
    steps: Rc<Cell<u64>>,
}

impl Run<'_> {
    /// Does steps until the thread stops, and says why it did. The exit code is that of the stop.
    fn to_its_stop(&self, mut at: ThreadAt, mut options: StepOptions) -> Result<Exit, Failure> {
        loop {
            let steps = self.steps.get();
            let report = step_patiently(self.context, at, &options, self.patience.map(Wait::from));
            let report = match self.wait_if_planned(report, &options) {
                Ok(()) => {
                    options.session = Session::Known;
                    options.early = Early::Refuse;
                    // A run of a pipeline may have done steps before one of them failed.
                    at.head = at.head.filter(|_| self.steps.get() == steps);
                    continue;
                }
                Err(report) => *report,
            };
            let why = match &report {
                Err(EngineError::Blocked { .. }) => Some("blocked"),
                Err(EngineError::Paused { .. }) => Some("paused"),
                Err(EngineError::OtherHead { .. }) => Some("changed"),
                Err(error) if error.exit() == Exit::Busy && error.planned_try().is_some() => {
                    Some("waiting")
                }
                Ok(_) | Err(_) => None,
            };
            let report = match self.or_failure(report, &options) {
                Ok(report) => report,
                Err(failure) => {
                    let stopped = why.unwrap_or_else(|| failure_word(failure.exit));
                    return Err(self.failed(stopped, failure, &options)?);
                }
            };
            options.session = Session::Known;
            options.early = Early::Refuse;
            at.head = None;
            let has_told = self.steps.get() > steps;
            self.steps.update(|steps| steps + report.steps_done());
            warn_blocked(&report);
            let stop = stop_of(&report.state);
            let stopped = stop.map(|exit| self.stopped(exit, &report, &options));
            // What its branches did was printed when it was done.
            if !(has_told && report.steps_done() == 0) {
                self.print_step(&report, &options)?;
            }
            if let (Some(exit), Some(stopped)) = (stop, stopped) {
                self.print_stop(stopped)?;
                return Ok(exit);
            }
        }
    }

    /// Waits for the attempt that follows by itself, if one does. Otherwise, returns the report. A call that does not want to wait
    /// asks for the attempt at once, and so is told that it comes too early.
    fn wait_if_planned(
        &self,
        report: Result<StepReport, EngineError>,
        options: &StepOptions,
    ) -> Result<(), Box<Result<StepReport, EngineError>>> {
        let error = match report {
            Err(error) if options.no_slot == NoSlot::Wait || error.exit() == Exit::Agent => error,
            report => return Err(Box::new(report)),
        };
        let Some(next) = error.planned_try().cloned() else {
            return Err(Box::new(Err(error)));
        };
        if error.exit() == Exit::Agent {
            warn(&format!("{error}"));
            // A stdout that is closed is found when the run prints next.
            let _ = self.or_failure(Err(error), options);
        }
        if options.no_slot == NoSlot::GiveUp {
            return Ok(());
        }
        match next_try::wait(self.context, &next, None) {
            Ok(_) => Ok(()),
            Err(error) => Err(Box::new(Err(error))),
        }
    }

    /// Returns the report, or the failure, whose attempt is printed unless the call is quiet.
    fn or_failure(
        &self,
        report: Result<StepReport, EngineError>,
        options: &StepOptions,
    ) -> Result<StepReport, Failure> {
        match report {
            Err(error) if self.is_quiet => Err(failure_of(error, options, None)),
            report => or_print_failure(self.context, report, options, None),
        }
    }

    fn print_step(&self, report: &StepReport, options: &StepOptions) -> Result<(), Failure> {
        if self.is_quiet {
            return Ok(());
        }
        print_report(report, options.choice.clone(), self.context.format)
    }

    fn stopped(&self, exit: Exit, report: &StepReport, options: &StepOptions) -> StoppedView {
        let (thread, state) = (self.thread, &report.state);
        let next = match hints::thread::next_with(thread, state, &options.choice) {
            Some(next) => Some(next),
            None if state.status == ThreadStatus::Completed => {
                Some(format!("uwf thread read {thread}"))
            }
            None => Some(format!("uwf thread show {thread}")),
        };
        StoppedView {
            thread,
            stopped: state.status.as_str(),
            status: Some(state.status),
            steps: self.steps.get(),
            exit: exit.code(),
            message: state
                .suspend_message
                .clone()
                .or_else(|| report.blocked_reason.clone()),
            result: report.result.clone(),
            result_problem: report.result_problem.clone(),
            next,
            state: Some(state.clone()),
        }
    }

    /// Says that the run stopped at a failure, and returns the failure with what goes on with this thread.
    fn failed(
        &self,
        stopped: &'static str,
        mut failure: Failure,
        options: &StepOptions,
    ) -> Result<Failure, Failure> {
        let thread = self.thread;
        let go_on = format!("uwf thread run {thread}{}", options.choice.options());
        // A person looks at a thread that has changed, before anything goes on.
        let is_seen = stopped != "changed";
        let is_again =
            is_seen && matches!(failure.exit, Exit::Agent | Exit::Busy | Exit::Signal(_));
        // "The same command" of the usual hints would start another thread. The hint of a busy thread says more than how to go on.
        let is_told = !self.is_new && failure.exit == Exit::Busy && failure.hint.is_some();
        if is_again && failure.exit != Exit::Agent && !is_told {
            failure.hint = Some(format!("`{go_on}` goes on"));
        }
        let next = match stopped {
            "paused" => Some(format!("uwf thread unpause {thread}")),
            _ => match &failure.next {
                Some(next) => Some(next.to_string()),
                None => is_again.then_some(go_on),
            },
        };
        let view = StoppedView {
            thread,
            stopped,
            status: None,
            steps: self.steps.get(),
            exit: failure.exit.code(),
            message: Some(failure.what.clone()),
            result: None,
            result_problem: None,
            next,
            state: None,
        };
        self.print_stop(view)?;
        Ok(failure)
    }

    fn print_stop(&self, mut view: StoppedView) -> Result<(), Failure> {
        if self.is_quiet && self.context.format == Format::Text {
            view.next = None;
        }
        print(&view, self.context.format)
    }
}

/// Returns the exit code of a run whose thread has this state; `None` if the run goes on.
fn stop_of(state: &ThreadState) -> Option<Exit> {
    match state.status {
        ThreadStatus::Idle
        | ThreadStatus::Failed
        | ThreadStatus::Waiting
        | ThreadStatus::Running => None,
        ThreadStatus::Completed => Some(Exit::Done),
        ThreadStatus::Suspended | ThreadStatus::Paused => Some(Exit::Suspended),
        ThreadStatus::Blocked => Some(Exit::Request),
        ThreadStatus::Cancelled => Some(Exit::Ended),
        ThreadStatus::Corrupt => Some(Exit::Store),
    }
}

/// Returns the word for the failure at which a run stopped.
fn failure_word(exit: Exit) -> &'static str {
    match exit {
        Exit::Done | Exit::Request | Exit::Usage => "refused",
        Exit::Suspended => "suspended",
        Exit::Agent | Exit::Run(_) => "failed",
        Exit::Store => "damaged",
        Exit::Busy => "busy",
        Exit::Ended => "ended",
        Exit::Signal(_) => "interrupted",
    }
}
