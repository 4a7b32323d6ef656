//! Runs the command of one check under the supervisor, and keeps the end of what it prints.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use std::os::unix::process::ExitStatusExt as _;

use uwf_process::{
    EndRequest, HeldSignals, Limits, Output, OutputSeen, Signals, Stop, Tree, WaitEnd,
};
use uwf_protocol::checks::Check;
use uwf_util::time::exact_duration;

/// The most space that the output of a check may take, in bytes. Then its beginning is dropped.
const OUTPUT_CAP: u64 = 2 << 20;
/// How much of the end of the output is kept, in bytes: not more than what is never dropped.
const KEPT: u64 = OUTPUT_CAP / 2;
/// How far the first line of a cut output is looked for, in bytes.
const FIRST_LINE: usize = 4096;

/// Where a check runs.
pub(super) struct Place<'a> {
    pub(super) cwd: &'a Path,
    /// The file that gets its output.
    pub(super) output: PathBuf,
    /// The time that its processes have to end after they were asked to.
    pub(super) grace: Duration,
}

/// A command that has ended.
pub(super) struct Ended {
    /// Why it did not succeed; `None` if it did.
    pub(super) problem: Option<String>,
    /// Its exit code, if it ended by itself.
    pub(super) exit_code: Option<i32>,
    pub(super) took: Duration,
    /// The end of what it printed.
    pub(super) output: String,
    /// Whether it printed more before that.
    pub(super) is_cut: bool,
}

/// Runs a check to its end, and ends all that it started. `Err` if this process was told to stop meanwhile.
///
/// # Errors
/// When the output cannot be kept.
pub(super) fn run(check: &Check, place: &Place<'_>) -> io::Result<Result<Ended, Stop>> {
    let started = Instant::now();
    let mut output = Output::create(&place.output, OUTPUT_CAP)?;
    let mut command = command(check, place.cwd);
    command
        .stdin(Stdio::null())
        .stdout(output.for_child()?)
        .stderr(output.for_child()?);
    let held = HeldSignals::new()?;
    if let Some(stop) = held.with(Signals::stop) {
        return Ok(Err(stop));
    }
    let mut tree = match Tree::spawn(&mut command) {
        Ok(tree) => tree,
        Err(error) => return Ok(Ok(not_started(check, &error, started))),
    };
    // The files of the command must not keep the output open.
    drop(command);
    let limits = Limits {
        wall: Some(Duration::from_millis(check.timeout_ms())),
        idle: None,
    };
    let (end, status) = held.with(|signals| {
        let mut look = || {
            output.look();
            OutputSeen::Nothing
        };
        let end = tree.wait(signals, limits, &mut look);
        let status = tree.status();
        let request = match end {
            WaitEnd::Stopped(stop) if stop.by_supervisor => EndRequest::SentBySupervisor,
            _ => EndRequest::NotSent,
        };
        // What a check leaves running could change what the next one sees.
        let _ = tree.end(request, place.grace, signals);
        (end, status)
    });
    let failed = status.is_none_or(|status| !status.success());
    if let Some(stop) = held.with(Signals::stop).filter(|_| failed) {
        return Ok(Err(stop));
    }
    output.look();
    let kept = uwf_durable::read_end(&place.output, KEPT).map_err(io::Error::other)?;
    let is_cut = output.length() > KEPT;
    Ok(Ok(Ended {
        problem: problem(end, status),
        exit_code: status
            .filter(|_| end == WaitEnd::Exited)
            .and_then(|it| it.code()),
        took: started.elapsed(),
        output: text(&kept.unwrap_or_default(), is_cut),
        is_cut,
    }))
}

fn command(check: &Check, cwd: &Path) -> Command {
    let (program, args) = check.command.split_first().expect("a check has a program");
    let mut command = match program.contains('/') {
        true => Command::new(cwd.join(program)),
        false => Command::new(program),
    };
    command.args(args).current_dir(cwd);
    command
}

fn not_started(check: &Check, error: &io::Error, started: Instant) -> Ended {
    let program = &check.command[0];
    Ended {
        problem: Some(format!("`{program}` could not be started: {error}")),
        exit_code: None,
        took: started.elapsed(),
        output: String::new(),
        is_cut: false,
    }
}

/// Returns why a command did not succeed.
fn problem(end: WaitEnd, status: Option<ExitStatus>) -> Option<String> {
    if let WaitEnd::TimedOut(limit) = end {
        let limit = exact_duration(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        return Some(format!("it was ended after its time limit of {limit}"));
    }
    match status {
        Some(status) if status.success() => None,
        Some(status) => Some(match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("it was ended by signal {signal}"),
            (None, None) => "it did not end well".to_owned(),
        }),
        None => Some("it was ended".to_owned()),
    }
}

/// Returns the output as text. If its beginning was cut off, it begins with a whole line.
fn text(bytes: &[u8], is_cut: bool) -> String {
    let bytes = match is_cut {
        false => bytes,
        true => {
            let start = bytes
                .iter()
                .take(FIRST_LINE)
                .position(|byte| *byte == b'\n');
            &bytes[start.map_or(0, |at| at + 1)..]
        }
    };
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // No test here starts a command: a process can supervise one at a time, and tests run side by side.

    #[test]
    fn a_command_passes_with_exit_code_0_only() {
        let said = |wait_status: i32| {
            let status = ExitStatus::from_raw(wait_status);
            problem(WaitEnd::Exited, Some(status))
        };
        assert_eq!(said(0), None);
        assert_eq!(said(7 << 8).as_deref(), Some("exit code 7"));
        assert_eq!(said(9).as_deref(), Some("it was ended by signal 9"));
        let late = problem(WaitEnd::TimedOut(Duration::from_secs(90)), None);
        let expected = "it was ended after its time limit of 1m30s";
        assert_eq!(late.as_deref(), Some(expected));
    }

    #[test]
    fn a_cut_output_begins_with_a_whole_line() {
        assert_eq!(text(b"half\nwhole\n", true), "whole\n");
        assert_eq!(text(b"half\nwhole\n", false), "half\nwhole\n");
        assert_eq!(text(b"no end", true), "no end");
    }
}
