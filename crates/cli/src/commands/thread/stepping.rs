//! A step of one thread, as the commands do it, and `uwf thread resume` and `poke`.

use std::time::Instant;

use uwf_engine::{
    BusyElsewhere, EngineError, Intervention, NoSlot, Runner, Session, Sharing, StepOptions,
    StepReport, ThreadAt, wait_until_free, wait_until_free_elsewhere,
};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::limits::Setting;

use super::background::leave_session_if;
use crate::args::{AgentArgs, HeadArgs, HowArgs, Patience};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::hints::{self, Given};
use crate::input::prompt_text;
use crate::output::{Format, print};
use crate::stderr;
use crate::text::{FailedStepView, StepView};

/// A wait that has begun.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    /// When it is given up, if it is.
    pub(super) deadline: Option<Instant>,
}

impl From<Patience> for Wait {
    fn from(patience: Patience) -> Self {
        Self {
            deadline: patience.deadline(),
        }
    }
}

/// Refuses to compare the heads of several threads with one.
pub(super) fn refuse_head_of_many(at: &HeadArgs, threads: usize) -> Result<(), Failure> {
    match at.head.is_some() && threads != 1 {
        true => Err(Failure::usage("`--head` is the head of one thread")),
        false => Ok(()),
    }
}

/// Does a step. If the thread is busy, here or on another machine, waits for it as long as the caller wants.
pub(super) fn step_patiently(
    context: &Context,
    thread: ThreadAt,
    options: &StepOptions,
    wait: Option<Wait>,
) -> Result<StepReport, EngineError> {
    let mut is_told = false;
    loop {
        let result = uwf_engine::step(&context.runner, thread, options);
        let busy = result.as_ref().err().and_then(Busy::of);
        let (Some(busy), Some(wait)) = (busy, wait) else {
            return result;
        };
        if !std::mem::replace(&mut is_told, true) {
            note(&busy.told());
        }
        if !busy.wait(&context.runner, wait.deadline)? {
            return result;
        }
    }
}

/// A busy thread.
enum Busy {
    /// A process of this machine works on it.
    Here(ThreadId),
    /// Another machine works on it.
    Elsewhere(BusyElsewhere),
}

impl Busy {
    fn of(error: &EngineError) -> Option<Self> {
        let here = error.busy().map(Self::Here);
        here.or_else(|| error.busy_elsewhere().map(Self::Elsewhere))
    }

    fn told(&self) -> String {
        match self {
            Self::Here(thread) => format!("thread {thread} is busy: waiting until it is free"),
            Self::Elsewhere(BusyElsewhere { thread, machine }) => {
                format!("thread {thread} is busy, {machine} works on it: waiting until it is free")
            }
        }
    }

    /// Waits until the thread is free. Returns `false` if it is not at the deadline.
    fn wait(&self, runner: &Runner, deadline: Option<Instant>) -> Result<bool, EngineError> {
        match self {
            Self::Here(thread) => wait_until_free(runner, *thread, deadline),
            Self::Elsewhere(busy) => wait_until_free_elsewhere(runner, busy.thread, deadline),
        }
    }
}

/// Returns how a step is done.
pub(super) fn step_options(agent: &AgentArgs, new_session: bool) -> StepOptions {
    StepOptions {
        choice: agent.choice(),
        no_slot: no_slot(agent.no_wait),
        sharing: sharing(agent.shared_ok),
        session: session(new_session),
        ..StepOptions::default()
    }
}

/// Converts the flag `--no-wait`.
fn no_slot(no_wait: bool) -> NoSlot {
    if no_wait {
        NoSlot::GiveUp
    } else {
        NoSlot::Wait
    }
}

/// Converts the flag `--shared-ok`.
fn sharing(shared_ok: bool) -> Sharing {
    if shared_ok {
        Sharing::Allowed
    } else {
        Sharing::AsConfigured
    }
}

/// Converts the flag `--new-session`.
fn session(new_session: bool) -> Session {
    if new_session {
        Session::New
    } else {
        Session::Known
    }
}

/// Returns the report. If the step failed instead, prints the failed attempt to stdout for programs, which read steps
/// there, too.
pub(super) fn or_print_failure(
    context: &Context,
    report: Result<StepReport, EngineError>,
    options: &StepOptions,
    message: Option<&str>,
) -> Result<StepReport, Failure> {
    let error = match report {
        Ok(report) => return Ok(report),
        Err(EngineError::Unrouted { report, source }) => {
            let unrouted = EngineError::Unrouted {
                report: report.clone(),
                source,
            };
            print_report(context, *report, options)?;
            unrouted
        }
        Err(error) => error,
    };
    if let Some(attempt) = error.attempt()
        && context.format != Format::Text
    {
        print(&FailedStepView::from(attempt), context.format)?;
    }
    Err(failure_of(error, options, message))
}

/// Returns the failure of a step that was given this.
pub(super) fn failure_of(
    error: EngineError,
    options: &StepOptions,
    message: Option<&str>,
) -> Failure {
    let given = Given {
        choice: Some(&options.choice),
        message,
    };
    Failure {
        hint: hints::after(&error, given),
        next: hints::command(&error, given).map(String::into_boxed_str),
        ..Failure::from(error)
    }
}

/// Prints the report of a step.
pub(super) fn print_report(
    context: &Context,
    report: StepReport,
    options: &StepOptions,
) -> Result<(), Failure> {
    warn_blocked(&report);
    let view = StepView {
        report,
        choice: options.choice.clone(),
    };
    print(&view, context.format)
}

/// Warns that the step leads nowhere, if it does.
pub(super) fn warn_blocked(report: &StepReport) {
    if let Some(reason) = &report.blocked_reason {
        warn(&format!(
            "the step is recorded, but the graph gives no next step: {reason}"
        ));
    }
}

/// What a person says to a thread.
pub(super) struct Said {
    pub(super) prompt: Option<String>,
    /// Whether the files that a step found are put back before it is done again.
    pub(super) restore: bool,
    pub(super) how: HowArgs,
}

/// Runs `resume` or `poke`.
pub(super) fn intervene(
    context: &Context,
    operation: fn(&Runner, ThreadAt, &Intervention) -> Result<StepReport, EngineError>,
    thread: &str,
    Said {
        prompt,
        restore,
        how,
    }: Said,
) -> Result<Exit, Failure> {
    let prompt = prompt.map(prompt_text).transpose()?;
    if prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::request("the text of `-p` is empty").hint(
            "say something, or leave `-p` out: then the role is told that nothing was said",
        ));
    }
    leave_session_if(how.agent.detached)?;
    if how.quiet {
        stderr::be_quiet();
    }
    let intervention = Intervention {
        prompt,
        raises: how.raises,
        accepts: how.accept_unknown,
        restore,
        step: step_options(&how.agent, how.new_session),
    };
    let thread = context.thread_at(context.thread(thread)?, &how.at)?;
    let report = operation(&context.runner, thread, &intervention);
    note_raises(&report, &intervention.raises);
    let report = or_print_failure(
        context,
        report,
        &intervention.step,
        intervention.prompt.as_deref(),
    )?;
    if report.adopted && intervention.prompt.is_some() {
        // An earlier call with the same prompt may have started the adopted step. Only the user knows.
        note("this step was finished before: its agent was not told what you said with `-p`");
    }
    print_report(context, report, &intervention.step)?;
    Ok(Exit::Done)
}

/// Notes that limits were raised, although another limit still stops the thread.
fn note_raises(result: &Result<StepReport, EngineError>, raises: &[Setting]) {
    if matches!(result, Err(EngineError::Limit { .. })) && !raises.is_empty() {
        let kept: Vec<String> = raises.iter().map(ToString::to_string).collect();
        let kept = kept.join(", ");
        note(&format!("the thread keeps what was raised: {kept}"));
    }
}
