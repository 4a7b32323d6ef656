//! Why a run does not go on, and what to type next.

use serde_json::Value;
use uwf_engine::{EngineError, HeldStep, RunEnd, RunReport};
use uwf_pipeline::course::Stop;
use uwf_pipeline::{Captured, ErrorKind, StepError};
use uwf_protocol::exit::Exit;
use uwf_util::causes::causes;
use uwf_util::shell_words;

use super::Given;
use super::run_name::RunName;
use crate::failure::{Failure, last_lines};

/// How many lines of the error output of a step are shown.
const STDERR_LINES: usize = 10;

/// What helps a run that the limit of an option stopped.
const OF_OPTION: &str = "the limit of `--max-transitions` holds for all of this run: `uwf orchestrate run WORKFLOW --max-transitions N` starts a new one with another limit";

/// Whether the steps of a run see the results of others. A step that runs alone sees none, unless a run is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    Seen,
    Unseen,
}

/// How a run was asked for, as far as it matters for what to type next.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) run: RunName,
    pub(crate) results: Results,
}

/// Returns the failure of a run that did not reach its end, or did not do all that it should. `what` says it in one line.
pub(crate) fn failure(report: &RunReport, asked: &Asked, what: String, code: u8) -> Failure {
    let run = &asked.run;
    let (causes, hint) = match &report.end {
        RunEnd::Failed(stop) => {
            let hint = match is_bound_by_option(report) {
                true => OF_OPTION.to_owned(),
                false => after_failure(stop, asked),
            };
            (stderr_of(stop), Some(hint))
        }
        RunEnd::Held(held) => (causes_of(held), Some(after_held(held, run))),
        RunEnd::Paused => (Vec::new(), Some(after_pause(report, run))),
        RunEnd::Interrupted(_) => (Vec::new(), Some(goes_on(run))),
        RunEnd::Cancelled => (Vec::new(), Some(restarts(run))),
        RunEnd::Completed(_) | RunEnd::NothingToDo | RunEnd::StepDone => (Vec::new(), None),
    };
    Failure {
        exit: Exit::Run(code),
        causes,
        hint,
        ..Failure::request(what)
    }
}

/// Returns the command that lets a run go on, if one does. A child may need a person first.
pub(crate) fn next(report: &RunReport, asked: &Asked) -> Option<String> {
    let run = &asked.run;
    match &report.end {
        RunEnd::Failed(stop) if lacks_results(stop, asked) || is_bound_by_option(report) => None,
        RunEnd::Failed(stop) => Some(match (missing_context(stop), guard(stop)) {
            (Some(options), _) => restart_with(run, &options),
            (None, Some(_)) => accepts(run),
            (None, None) => run.command("resume"),
        }),
        RunEnd::Held(held) => {
            let of_child = super::command(&held.error, Given::default());
            Some(of_child.unwrap_or_else(|| run.command("resume")))
        }
        RunEnd::Paused => Some(unpause(report)),
        RunEnd::Interrupted(_) => Some(run.command("resume")),
        RunEnd::Cancelled | RunEnd::Completed(_) | RunEnd::NothingToDo | RunEnd::StepDone => None,
    }
}

/// Says what starts a run again that a person ended.
pub(crate) fn restarts(run: &RunName) -> String {
    let restart = run.command("resume");
    format!("`{restart} --force-restart` starts it again as a new run")
}

fn goes_on(run: &RunName) -> String {
    format!("`{}` goes on", run.command("resume"))
}

fn unpause(report: &RunReport) -> String {
    format!("uwf thread unpause {}", report.thread)
}

fn after_pause(report: &RunReport, run: &RunName) -> String {
    format!(
        "`{}` ends the pause, then {}",
        unpause(report),
        goes_on(run)
    )
}

fn after_held(held: &HeldStep, run: &RunName) -> String {
    let of_child = match &held.error {
        // Commands about runs have no `--agent`.
        EngineError::NoAgent { .. } => Some("`uwf setup --agent <name>` chooses one".to_owned()),
        error => super::of(error),
    };
    match of_child {
        Some(hint) => format!("{hint}; then {} with the run", goes_on(run)),
        None => goes_on(run),
    }
}

fn after_failure(stop: &Stop, asked: &Asked) -> String {
    let run = &asked.run;
    if lacks_results(stop, asked) {
        let sees = "`--from-run RUN` lets the step see the results of a run";
        return match stop.key.items().first() {
            None => sees.to_owned(),
            // Steps of a loop alone.
            Some((name, _)) => {
                let name = shell_words::quote(name);
                format!(
                    "{sees}, but none of those within its loops; `uwf orchestrate run-step {name} --workflow FILE` does the whole loop"
                )
            }
        };
    }
    if let Some(options) = missing_context(stop) {
        let restart = restart_with(run, &options);
        return format!("`{restart}` starts a new run with the value");
    }
    if let Some(guard) = guard(stop) {
        return of_guard(guard, run);
    }
    let again = format!("`{}` does the step again", run.command("resume"));
    if let Some(change) = change_of_file(stop) {
        return format!("{change}; then `{}` goes on", accepts(run));
    }
    if !has_printed(stop) {
        return again;
    }
    let logs = run.logs(&stop.key.to_string());
    format!("`{logs}` shows what it printed; {again}")
}

/// Returns the change of the workflow file that the failed step needs, if only such a change helps.
fn change_of_file(stop: &Stop) -> Option<&'static str> {
    let error = stop.result.error.as_ref()?;
    if error.kind == ErrorKind::ArgumentTooLong {
        return Some(
            "give a long text to a program on its standard input: `input_mode: stdin` of a provider, or a file for a command",
        );
    }
    let ends_with_line = error.context.contains_key("line_end");
    ends_with_line.then_some(
        "the output of most commands ends with a line end: capture the path as JSON (`task claim --json` prints one), and name `${steps.<Name>.json.path}`",
    )
}

/// Returns the limit of cycles that stopped a run; `None` if something else did.
fn guard(stop: &Stop) -> Option<&str> {
    stop.result.error.as_ref()?.context.get("guard")?.as_str()
}

fn accepts(run: &RunName) -> String {
    format!("{} --accept-changed-workflow", run.command("resume"))
}

/// Tells whether a run was stopped by the limit of transitions that an option gave. It holds for all of the run, whatever its file
/// says.
fn is_bound_by_option(report: &RunReport) -> bool {
    let RunEnd::Failed(stop) = &report.end else {
        return false;
    };
    report.max_transitions.is_some() && guard(stop) == Some("max_transitions")
}

/// Says how a run goes on that a limit of cycles stopped: the counts stay, so the limit must be another one.
fn of_guard(guard: &str, run: &RunName) -> String {
    let accepts = accepts(run);
    format!("raise `{guard}` in the workflow file, then `{accepts}` goes on")
}

fn restart_with(run: &RunName, options: &str) -> String {
    format!("{} --force-restart{options}", run.command("resume"))
}

/// Returns the variables without a value that stopped a run; none if something else did.
fn undefined(stop: &Stop) -> Vec<&str> {
    let error = stop.result.error.as_ref();
    let error = error.filter(|error| error.kind == ErrorKind::UndefinedVariables);
    let names = error.and_then(|error| error.context.get("undefined_vars")?.as_array());
    let names = names.into_iter().flatten();
    names.filter_map(Value::as_str).map(str::trim).collect()
}

/// Tells whether a step that ran alone lacked what other steps printed, also as the items of its loop.
fn lacks_results(stop: &Stop, asked: &Asked) -> bool {
    let is_result = |name: &&str| name.starts_with("steps.");
    let error = stop.result.error.as_ref();
    let lacks_items = error.is_some_and(|error| error.context.contains_key("items_from"));
    asked.results == Results::Unseen && (lacks_items || undefined(stop).iter().any(is_result))
}

/// Returns the options that give a step the values of the context that it lacks, if it lacks nothing else.
fn missing_context(stop: &Stop) -> Option<String> {
    let names = undefined(stop);
    let option = |name: &&str| {
        // Only values at the top can be given so.
        let key = name.strip_prefix("context.")?;
        let is_plain = |c: char| c.is_alphanumeric() || "_-".contains(c);
        key.chars()
            .all(is_plain)
            .then(|| format!(" --context {key}=…"))
    };
    let options: Option<String> = names.iter().map(option).collect();
    options.filter(|options| !options.is_empty())
}

fn has_printed(stop: &Stop) -> bool {
    let tails = |error: &StepError| !error.stdout_tail.is_empty() || !error.stderr_tail.is_empty();
    let result = &stop.result;
    let is_captured = result
        .captured
        .as_ref()
        .is_some_and(|captured| match captured {
            Captured::Text { output, .. } => !output.is_empty(),
            Captured::Lines { lines, .. } => !lines.is_empty(),
            Captured::Json(_) => true,
        });
    is_captured || result.error.as_ref().is_some_and(tails)
}

/// Returns the end of what a failed step wrote to stderr.
fn stderr_of(stop: &Stop) -> Vec<String> {
    let error = stop.result.error.as_ref();
    let lines = error.map(|error| error.stderr_tail.join("\n"));
    let lines = lines.filter(|lines| !lines.trim().is_empty());
    let end = lines.map(|lines| format!("stderr: {}", last_lines(&lines, STDERR_LINES)));
    end.into_iter().collect()
}

fn causes_of(held: &HeldStep) -> Vec<String> {
    let mut all = vec![held.error.to_string()];
    all.extend(causes(&held.error));
    all
}
