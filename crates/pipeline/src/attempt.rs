//! How an attempt at a step ended, and what follows from that.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uwf_util::text::counted;

use crate::Retries;
use crate::capture::CaptureEnd;
use crate::result::{ErrorKind, Failure, StepResult, StepStatus, Waited};

/// The exit code of a step whose time was over.
pub const TIMED_OUT: i64 = 124;
/// How many lines of output an error shows.
pub const STDOUT_TAIL_LINES: usize = 10;
/// How many lines of error output an error shows.
pub const STDERR_TAIL_LINES: usize = 20;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With this exit code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Because its time was over.
    TimedOut,
    /// Because the time of the whole run was over.
    RunTimedOut,
    /// There is no such program.
    NotFound,
    /// The file is not a program.
    NotExecutable,
}

impl Ended {
    /// Returns the exit code of the step, before its output is looked at.
    #[must_use]
    pub fn exit_code(self) -> i64 {
        match self {
            Self::Exit(code) => code.into(),
            Self::Signal(signal) => 128 + i64::from(signal),
            Self::TimedOut | Self::RunTimedOut => TIMED_OUT,
            Self::NotFound => 127,
            Self::NotExecutable => 126,
        }
    }

    /// Returns why the step failed, if it did. `program` is what was to be started.
    fn failure(self, program: &str, limits: Limits) -> Option<Failure> {
        let (kind, message) = match self {
            Self::Exit(0) => return None,
            Self::Exit(code) => (
                ErrorKind::CommandFailed,
                format!("the program ended with exit code {code}"),
            ),
            Self::Signal(signal) => (
                ErrorKind::Signal,
                format!("signal {signal} ended the program"),
            ),
            Self::TimedOut => (
                ErrorKind::Timeout,
                format!(
                    "the time of the step was over{}",
                    limits.said(LimitOf::Step)
                ),
            ),
            Self::RunTimedOut => (
                ErrorKind::RunTimeout,
                format!("the time of the run was over{}", limits.said(LimitOf::Run)),
            ),
            Self::NotFound => (
                ErrorKind::CommandNotFound,
                match program.contains('/') {
                    true => format!("there is no program `{program}`"),
                    false => format!("there is no program `{program}` on PATH"),
                },
            ),
            Self::NotExecutable => (
                ErrorKind::CommandNotExecutable,
                format!("the file `{program}` cannot be executed"),
            ),
        };
        Some(Failure::new(kind, message))
    }
}

/// Returns the result of an attempt at a program. Its name and the tails are without secrets.
#[must_use]
pub fn result_of(
    (program, ended, limits): (&str, Ended, Limits),
    end: CaptureEnd,
    stdout_tail: Vec<String>,
    stderr_tail: Vec<String>,
) -> StepResult {
    let result = match ended.failure(program, limits).or(end.failure) {
        None => StepResult::of(StepStatus::Completed, end.exit_code),
        Some(failure) => StepResult::failed(end.exit_code, failure),
    };
    let error = result.error.map(|error| crate::StepError {
        stdout_tail,
        stderr_tail,
        ..error
    });
    StepResult {
        captured: end.captured,
        error,
        ..result
    }
}

/// Whose limit of time ends an attempt first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOf {
    /// That of the step.
    Step,
    /// What is left of that of the run.
    Run,
}

/// The limits of time that somebody gave, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// That of the step.
    pub step_ms: Option<u64>,
    /// That of the run, with what it has used up.
    pub run_ms: Option<u64>,
}

impl Limits {
    /// Says how long a limit is and where it was given, as the end of a sentence.
    pub(crate) fn said(self, of: LimitOf) -> String {
        let (limit, key) = match of {
            LimitOf::Step => (self.step_ms, "the `timeout_sec` of the step"),
            LimitOf::Run => (self.run_ms, "the `--timeout` of the run"),
        };
        let seconds = limit.map(|limit| Duration::from_millis(limit).as_secs_f64());
        seconds.map_or_else(String::new, |seconds| format!(": {key} is {seconds}"))
    }
}

/// Returns the result of a wait for so many files that match a pattern. `limit` tells whose time was over, if it was. The
/// pattern is without secrets.
#[must_use]
pub fn waited(
    waited: Waited,
    (glob, min_count): (&str, u64),
    (limit, limits): (LimitOf, Limits),
) -> StepResult {
    let result = if waited.timed_out {
        let kind = match limit {
            LimitOf::Step => ErrorKind::Timeout,
            LimitOf::Run => ErrorKind::RunTimeout,
        };
        let found = waited.files.len();
        let message = format!(
            "{} {} `{glob}` after {} ms, and {min_count} must{}",
            counted(found, "file"),
            if found == 1 { "matches" } else { "match" },
            waited.wait_duration_ms,
            limits.said(limit),
        );
        StepResult::failed(TIMED_OUT, Failure::new(kind, message))
    } else {
        StepResult::of(StepStatus::Completed, 0)
    };
    StepResult {
        waited: Some(waited),
        ..result
    }
}

/// Returns how long to wait before the next attempt, or `None` if there is none. `attempts` have been made.
///
/// Only exit code 1 and a time limit of the step are worth another attempt.
#[must_use]
pub fn retry_after(result: &StepResult, attempts: u64, retries: Retries) -> Option<u64> {
    let error = result.error.as_ref()?;
    let may_help = match error.kind {
        ErrorKind::CommandFailed => matches!(result.exit_code, 1 | TIMED_OUT),
        ErrorKind::Timeout => true,
        _ => false,
    };
    (may_help && attempts <= retries.max).then_some(retries.delay_ms)
}
