//! The commands that do steps: `uwf thread step`, `resume` and `poke`.

use uwf_engine::{EngineError, Intervention, NoSlot, Runner, Session, StepOptions, StepReport};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::limits::Setting;

use crate::args::{HowArgs, StepArgs};
use crate::commands::{Context, text_or_stdin};
use crate::failure::{Failure, note, warn};
use crate::hints::{self, Given};
use crate::output::{Format, print};
use crate::text::{FailedStepView, StepView};

/// Does steps and prints each result as soon as its step is recorded, like a loop of single calls. The first step that
/// fails decides the exit code. If a step completes the thread, the loop ends.
pub(super) fn run_steps(context: &Context, args: &StepArgs) -> Result<Exit, Failure> {
    let thread = context.thread(&args.thread)?;
    let mut options = StepOptions {
        agent: args.agent.clone(),
        no_slot: no_slot(args.no_wait),
        session: session(args.new_session),
    };
    for _ in 0..args.count {
        let report = uwf_engine::step(&context.runner, thread, &options);
        let report = or_print_failure(context, report, &options, None)?;
        options.session = Session::Known;
        let is_done = report.state.done;
        print_report(context, report, &options)?;
        if is_done {
            break;
        }
    }
    Ok(Exit::Done)
}

/// Converts the flag `--no-wait`.
fn no_slot(no_wait: bool) -> NoSlot {
    if no_wait {
        NoSlot::GiveUp
    } else {
        NoSlot::Wait
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
fn or_print_failure(
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
    let given = Given {
        agent: options.agent.as_deref(),
        message,
    };
    let hint = hints::after(&error, given);
    Err(Failure {
        hint,
        ..Failure::from(error)
    })
}

fn print_report(
    context: &Context,
    report: StepReport,
    options: &StepOptions,
) -> Result<(), Failure> {
    if let Some(reason) = &report.blocked_reason {
        warn(&format!(
            "the step is recorded, but the graph gives no next step: {reason}"
        ));
    }
    let view = StepView {
        report,
        agent: options.agent.clone(),
    };
    print(&view, context.format)
}

/// Runs `resume` or `poke`.
pub(super) fn intervene(
    context: &Context,
    operation: fn(&Runner, ThreadId, &Intervention) -> Result<StepReport, EngineError>,
    thread: &str,
    prompt: Option<String>,
    how: HowArgs,
) -> Result<Exit, Failure> {
    let prompt = prompt.map(text_or_stdin).transpose()?;
    if prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::request("the text of `-p` is empty").hint(
            "say something, or leave `-p` out: then the role is told that nothing was said",
        ));
    }
    let intervention = Intervention {
        prompt,
        raises: how.raises,
        accepts: how.accept_unknown,
        step: StepOptions {
            agent: how.agent,
            no_slot: no_slot(how.no_wait),
            session: session(how.new_session),
        },
    };
    let report = operation(&context.runner, context.thread(thread)?, &intervention);
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
