//! What the commands that do steps of runs have in common: their settings, what they say meanwhile, and how they end.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use uwf_engine::{Backups, MadeRun, Prompts, RunEvent, RunReport, RunSettings, USUAL_LOG_BYTES};
use uwf_pipeline::StepStatus;
use uwf_protocol::exit::Exit;
use uwf_runner::{OutputText, Stream};
use uwf_util::printable::printable;
use uwf_util::time::format_duration;

use super::place;
use crate::args::{LogLevel, PlaceArgs, WorkArgs};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::hints::stopped_runs::{self, Asked, Results};
use crate::output::{Format, print, print_line};
use crate::text::{NoRunView, RunView};

/// How long a process may work on a run, as `timeout_sec` of a step.
const MAX_TIMEOUT: Duration = Duration::from_secs(31 * 24 * 3600);

/// Returns how a process does steps.
pub(super) fn settings(context: &Context, args: &WorkArgs) -> Result<RunSettings, Failure> {
    let timeout = match args.timeout {
        None => None,
        Some(seconds) => match Duration::try_from_secs_f64(seconds) {
            Ok(timeout) if !timeout.is_zero() && timeout <= MAX_TIMEOUT => Some(timeout),
            _ => {
                let what = format!("`--timeout {seconds}` is no time that a run may take");
                let hint = "give a number of seconds above 0, and at most 31 days";
                return Err(Failure::usage(what).hint(hint));
            }
        },
    };
    Ok(RunSettings {
        timeout,
        max_log_bytes: args.max_log_bytes.unwrap_or(USUAL_LOG_BYTES),
        output_text: match args.mask_output_files {
            true => OutputText::Masked,
            false => OutputText::Exact,
        },
        backups: match args.backup_state || args.debug {
            true => Backups::LastThree,
            false => Backups::None,
        },
        prompts: match args.debug {
            true => Prompts::Kept,
            false => Prompts::Dropped,
        },
        show: match args.stream_output {
            true => show,
            false => |_, _| {},
        },
        progress: match args.progress {
            true => context.runner.observer.progress,
            false => None,
        },
        tell: match (level(context, args), args.progress) {
            (LogLevel::Error, _) => |_| {},
            (LogLevel::Warn, _) => tell_warnings,
            // Where no line can be redrawn, each step that begins has one of its own.
            (LogLevel::Info, true) if context.runner.observer.progress.is_none() => tell_all,
            (LogLevel::Info, _) => tell,
            (LogLevel::Debug, _) => tell_all,
        },
    })
}

/// Returns what is said of a run.
fn level(context: &Context, args: &WorkArgs) -> LogLevel {
    match (args.log_level, args.quiet, context.global.verbose > 0) {
        (Some(level), _, _) => level,
        (None, true, _) => LogLevel::Warn,
        (None, false, true) => LogLevel::Debug,
        (None, false, false) => LogLevel::Info,
    }
}

/// Says which run was made: nothing is said of it before.
pub(super) fn announce(context: &Context, args: &WorkArgs, run: &MadeRun) {
    if level(context, args) >= LogLevel::Info {
        note(&format!("run {}", run.run_id));
    }
}

/// Prints the output of a program. Results of ours alone go to stdout. A terminal shows what it would obey.
fn show(_: Stream, bytes: &[u8]) {
    let mut stderr = std::io::stderr();
    let _ = match stderr.is_terminal() {
        true => {
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            stderr.write_all(printable(&text).as_bytes())
        }
        false => stderr.write_all(bytes),
    };
}

fn tell_warnings(event: &RunEvent<'_>) {
    if let RunEvent::Warning(warning) = event {
        warn(warning);
    }
}

fn tell(event: &RunEvent<'_>) {
    match event {
        // That it was made is said before.
        RunEvent::Begins { entry: "run", .. } => {}
        RunEvent::Begins { run_id, .. } => note(&format!("run {run_id}")),
        RunEvent::Started { .. } | RunEvent::Detail(_) | RunEvent::Ends { .. } => {}
        RunEvent::Played { key, thread } => note(&format!("{key}: thread {thread} does it")),
        RunEvent::Settled {
            key,
            result,
            duration_ms,
        } => {
            let took = format_duration(*duration_ms);
            let status = match (result.status, &result.error, &result.lifecycle) {
                (StepStatus::Failed, Some(error), _) => {
                    format!("failed ({}): {}", result.exit_code, error.message)
                }
                (_, _, Some(moved)) => moved.said(),
                (status, _, None) => status.as_str().to_owned(),
            };
            note(&format!("{key}: {status}, {took}"));
        }
        RunEvent::Warning(warning) => warn(warning),
        RunEvent::Note(text) => note(text),
    }
}

fn tell_all(event: &RunEvent<'_>) {
    match event {
        RunEvent::Started { key, attempt: 1 } => note(&format!("{key}: begins")),
        RunEvent::Started { key, attempt } => note(&format!("{key}: begins, attempt {attempt}")),
        RunEvent::Detail(text) => note(text),
        event => tell(event),
    }
}

/// Prints for programs what came of a command that failed before its run had ended. `run` is that run, if it was made or had
/// begun to go on.
pub(super) fn unfinished(args: &WorkArgs, run: Option<(&str, &Path)>, failure: Failure) -> Failure {
    if args.json
        && let Err(unprinted) = print_line(&NoRunView::new(run, failure.exit.code()))
    {
        return unprinted;
    }
    failure
}

/// Prints what came of a run, and returns the exit code.
pub(super) fn finish(
    context: &Context,
    args: &WorkArgs,
    (place, results): (&PlaceArgs, Results),
    report: &RunReport,
) -> Result<Exit, Failure> {
    let run = place::name_of(context, place, report);
    let asked = Asked { run, results };
    let view = RunView::of(report, &asked);
    if args.json {
        print(&view, Format::Json)?;
    }
    let code = view.exit_code();
    if code != 0 {
        // It is printed on stderr only: with `--json`, stdout has it already.
        stopped_runs::failure(report, &asked, view.line(), code).print();
    } else if !args.json && level(context, args) >= LogLevel::Info {
        note(&view.line());
    }
    Ok(Exit::Run(code))
}
