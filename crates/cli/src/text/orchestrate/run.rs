//! What a command did for a run, as data and as text.

use std::path::Path;

use serde::Serialize;
use uwf_engine::{EngineError, RunEnd, RunReport};
use uwf_protocol::exit::Exit;

use crate::hints;
use crate::hints::runs::LOCKED;
use crate::hints::stopped_runs::Asked;
use crate::output::Show;
use crate::text::Page;

/// What a command did for a run.
#[derive(Serialize)]
pub(crate) struct RunView {
    run_id: String,
    thread: String,
    status: &'static str,
    exit_code: u8,
    /// The thread that cannot go on for now, if it does a step of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    child: Option<String>,
    failed_step: Option<String>,
    failed_steps: Vec<String>,
    duration_ms: u64,
    state_file: String,
    /// The command that lets the run go on, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip)]
    message: Option<String>,
}

/// What a command has to tell that ended before a run did.
#[derive(Serialize)]
pub(crate) struct NoRunView {
    /// The run, if it was made, or had begun to go on.
    run_id: Option<String>,
    status: &'static str,
    exit_code: u8,
    failed_step: Option<String>,
    failed_steps: Vec<String>,
    duration_ms: u64,
    state_file: Option<String>,
}

impl NoRunView {
    pub(crate) fn new(run: Option<(&str, &Path)>, exit_code: u8) -> Self {
        Self {
            run_id: run.map(|(id, _)| id.to_owned()),
            status: match (run, exit_code) {
                (None, _) => "failed",
                // Another process works on it.
                (Some(_), LOCKED) => "busy",
                // Its picture says the same: nothing stopped it that `resume` does not go on from.
                (Some(_), _) => "interrupted",
            },
            exit_code,
            failed_step: None,
            failed_steps: Vec::new(),
            duration_ms: 0,
            state_file: run.map(|(_, file)| file.display().to_string()),
        }
    }
}

impl RunView {
    pub(crate) fn of(report: &RunReport, asked: &Asked) -> Self {
        let next = hints::stopped_runs::next(report, asked);
        let (status, exit_code) = match &report.end {
            RunEnd::Completed(outcome) => ("completed", code(outcome.exit_code)),
            RunEnd::NothingToDo => ("completed", 0),
            RunEnd::Failed(stop) => ("failed", code(stop.exit_code())),
            RunEnd::Interrupted(signal) => ("interrupted", Exit::Signal(*signal).code()),
            RunEnd::Cancelled => ("cancelled", 1),
            RunEnd::Paused => ("interrupted", 1),
            RunEnd::StepDone => ("interrupted", 0),
            RunEnd::Held(held) => ("interrupted", held_code(&held.error)),
        };
        let (failed_step, message) = match &report.end {
            RunEnd::Failed(stop) => (Some(stop.key.to_string()), Some(stop.message())),
            RunEnd::Cancelled => (None, Some("a person ended it".to_owned())),
            RunEnd::Paused => (None, Some("a person paused it".to_owned())),
            RunEnd::NothingToDo => (None, Some("nothing is left to do".to_owned())),
            RunEnd::Held(held) => {
                let message = format!("step `{}` has no result yet", held.key);
                (None, Some(message))
            }
            _ => (None, None),
        };
        let failed_steps = match &report.end {
            RunEnd::Completed(outcome) => outcome.failed_steps.clone(),
            _ => failed_step.iter().cloned().collect(),
        };
        Self {
            run_id: report.run_id.clone(),
            thread: report.thread.to_string(),
            status,
            exit_code,
            child: match &report.end {
                RunEnd::Held(held) => Some(held.child.to_string()),
                _ => None,
            },
            failed_step,
            failed_steps,
            duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
            state_file: report.state_file.display().to_string(),
            next: next.map(|next| hints::here(&next).into_owned()),
            message,
        }
    }

    /// Returns the exit code of the command.
    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Returns the last line of a command, for people.
    pub(crate) fn line(&self) -> String {
        let took = uwf_util::time::format_duration(self.duration_ms);
        let mut line = format!("run {} {} after {took}", self.run_id, self.status);
        if let Some(message) = &self.message {
            line = format!("{line}: {message}");
        } else if !self.failed_steps.is_empty() {
            line = format!(
                "{line}; these steps failed: {}",
                self.failed_steps.join(", ")
            );
        }
        line
    }
}

/// Returns the exit code of a run whose child cannot go on. Another process may work on the child.
fn held_code(error: &EngineError) -> u8 {
    match error.exit() {
        Exit::Busy => LOCKED,
        _ => 1,
    }
}

fn code(code: i64) -> u8 {
    u8::try_from(code).unwrap_or(1)
}

impl Show for RunView {
    fn text(&self, _page: Page) -> String {
        self.line()
    }
}
