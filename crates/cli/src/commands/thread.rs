//! `uwf thread …`.

use uwf_engine::{
    EngineError, Intervention, ListFilter, NoSlot, ReadOptions, Runner, Session, Site,
    StartOptions, StepOptions, StepReport, ThreadItem, ThreadStatus,
};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::limits::Setting;
use uwf_storage::State;
use uwf_util::{suggest, time};

use crate::args::{HowArgs, ListArgs, ReadArgs, StartArgs, StepArgs, ThreadCommand};
use crate::commands::workflow::{note_hidden, warn_all};
use crate::commands::{Context, step, text_or_stdin};
use crate::failure::{Failure, note, warn};
use crate::hints::{self, Given};
use crate::output::{Format, print, print_document};
use crate::text::{FailedStepView, KilledView, StartedView, StepView, ThreadsView};

pub(crate) fn run(context: &Context, command: ThreadCommand) -> Result<Exit, Failure> {
    match command {
        ThreadCommand::Start(args) => start(context, args),
        ThreadCommand::Step(args) => run_steps(context, &args),
        ThreadCommand::Show { thread } => show(context, &thread),
        ThreadCommand::List(args) => list(context, &args),
        ThreadCommand::Steps { thread } => step::list(context, &thread),
        ThreadCommand::Read(args) => read(context, &args),
        ThreadCommand::Fork(args) => step::fork(context, &args),
        ThreadCommand::StepDetails { step } => step::details_as_yaml(context, &step),
        ThreadCommand::Kill { thread } => kill(context, &thread),
        ThreadCommand::Resume(args) => intervene(
            context,
            uwf_engine::resume,
            &args.thread,
            args.prompt,
            args.how,
        ),
        ThreadCommand::Poke(args) => intervene(
            context,
            uwf_engine::poke,
            &args.thread,
            args.prompt,
            args.how,
        ),
    }
}

fn start(context: &Context, args: StartArgs) -> Result<Exit, Failure> {
    let options = StartOptions {
        prompt: text_or_stdin(args.prompt)?,
        cwd: args.cwd,
    };
    let started = uwf_engine::start(context.site(), &args.workflow, &options)?;
    note_hidden(started.hidden.as_ref());
    warn_all(&started.warnings);
    print(&StartedView::from(started), context.format)?;
    Ok(Exit::Done)
}

/// Does steps and prints each result as soon as its step is recorded, like a loop of single calls. The first step that
/// fails decides the exit code. If a step completes the thread, the loop ends.
fn run_steps(context: &Context, args: &StepArgs) -> Result<Exit, Failure> {
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

fn show(context: &Context, thread: &str) -> Result<Exit, Failure> {
    let mut view = uwf_engine::show(context.site(), context.thread(thread)?)?;
    view.hint = hints::thread::hint(&view).map(|hint| hints::here(&hint).into_owned());
    print(&view, context.format)?;
    Ok(Exit::Done)
}

fn list(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let filter = filter(context.site(), args)?;
    let listed = uwf_engine::list(context.site(), &filter)?;
    for warning in &listed.warnings {
        warn(warning);
    }
    for warning in costly(&listed.threads) {
        warn(&warning);
    }
    let threads = ThreadsView {
        threads: listed.threads,
        now_ms: context.site().env.now_ms(),
        is_filtered: args.all
            || args.status.is_some()
            || args.after.is_some()
            || args.before.is_some()
            || args.skip > 0
            || args.take.is_some(),
    };
    print(&threads, context.format)?;
    // A damaged line must not hide other threads, so the check comes after the list.
    State::new(&context.site().root).check()?;
    Ok(Exit::Done)
}

/// Returns warnings about threads whose conditions cost too much, or were not evaluated.
pub(crate) fn costly(threads: &[ThreadItem]) -> Vec<String> {
    let mut warnings = Vec::new();
    let costly: Vec<_> = threads.iter().filter(|one| one.costs_too_much).collect();
    if let Some((names, reason)) = first_and_more(&costly) {
        let verb = if costly.len() == 1 { "is" } else { "are" };
        warnings.push(format!("{names} {verb} shown as blocked: {reason}"));
    }
    let not_evaluated: Vec<_> = threads.iter().filter(|one| one.not_evaluated).collect();
    if let Some((names, reason)) = first_and_more(&not_evaluated) {
        warnings.push(format!("{names} could not be checked: {reason}"));
    }
    warnings
}

/// Names the first of some threads and the number of the others, with the reason of the first.
fn first_and_more<'a>(threads: &[&'a ThreadItem]) -> Option<(String, &'a str)> {
    let (first, others) = threads.split_first()?;
    let reason = first.blocked_reason.as_deref().unwrap_or_default();
    let names = match others.len() {
        0 => format!("thread `{}`", first.thread),
        more => format!("thread `{}` and {more} more", first.thread),
    };
    Some((names, reason))
}

fn filter(site: &Site, args: &ListArgs) -> Result<ListFilter, Failure> {
    let now = site.env.now_ms();
    let bound = |text: &Option<String>| -> Result<Option<i64>, Failure> {
        let Some(text) = text else { return Ok(None) };
        let at = time::parse_filter(text, now).map_err(|error| {
            Failure::request(error.to_string())
                .hint("write `7d`, `12h`, `30m`, or a date such as 2026-06-03")
        })?;
        Ok(Some(at))
    };
    Ok(ListFilter {
        all: args.all,
        statuses: args.status.as_deref().map(statuses).transpose()?,
        after_ms: bound(&args.after)?,
        before_ms: bound(&args.before)?,
        skip: args.skip,
        take: args.take,
    })
}

/// Parses a comma list of statuses. `active` stands for idle and running.
fn statuses(text: &str) -> Result<Vec<ThreadStatus>, Failure> {
    let mut statuses = Vec::new();
    for word in text.split(',').map(str::trim) {
        let found = ThreadStatus::ALL
            .into_iter()
            .find(|status| status.as_str() == word);
        match (word, found) {
            ("active", _) => statuses.extend([ThreadStatus::Idle, ThreadStatus::Running]),
            (_, Some(status)) => statuses.push(status),
            (_, None) => return Err(not_a_status(word)),
        }
    }
    Ok(statuses)
}

fn not_a_status(word: &str) -> Failure {
    let known = ThreadStatus::ALL.map(ThreadStatus::as_str);
    let failure = Failure::request(format!("`{word}` is not a status"));
    match suggest::nearest(word, known) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("statuses are {}, and active", known.join(", "))),
    }
}

fn read(context: &Context, args: &ReadArgs) -> Result<Exit, Failure> {
    let before = args.before.as_deref().map(|step| context.hash(step));
    let before = before.transpose()?;
    let options = ReadOptions {
        quota: args.quota,
        before,
        start: args.start,
    };
    let story = uwf_engine::read_thread(context.site(), context.thread(&args.thread)?, &options)?;
    print_document(&story, &story.document, context.asked)?;
    Ok(Exit::Done)
}

fn kill(context: &Context, thread: &str) -> Result<Exit, Failure> {
    let killed = uwf_engine::kill(&context.runner, context.thread(thread)?)?;
    print(&KilledView::from(killed), context.format)?;
    Ok(Exit::Done)
}

/// Runs `resume` or `poke`.
fn intervene(
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
