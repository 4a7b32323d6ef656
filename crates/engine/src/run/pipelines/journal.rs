//! `logs/orchestrator.log`: what the processes that worked on a run did, one line for each event, without secrets.

use serde_json::json;
use uwf_pipeline::{Masks, StepStatus};
use uwf_storage::{Env, RunLog, RunRoot};
use uwf_util::text::one_line;
use uwf_util::time::{format_duration, format_iso};

use super::RunEvent;
use crate::EngineError;

/// The log of a run, open for the events of this process.
pub(super) struct Journal<'a> {
    log: RunLog,
    env: &'a Env,
    masks: &'a Masks,
}

impl<'a> Journal<'a> {
    /// Opens the log in the folder of a run.
    pub(super) fn open(
        root: &RunRoot,
        env: &'a Env,
        masks: &'a Masks,
    ) -> Result<Self, EngineError> {
        let log = RunLog::open(root.log_file())?;
        Ok(Self { log, env, masks })
    }

    /// Adds an event.
    pub(super) fn add(&self, event: &RunEvent<'_>) -> Result<(), EngineError> {
        let (level, text) = worded(event, self.env.process_id());
        let text = self.masks.text(&one_line(&text));
        let time = format_iso(self.env.now_ms());
        Ok(self.log.append(&format!("{time} {level} {text}"))?)
    }
}

/// Returns the level and the words of an event.
fn worded(event: &RunEvent<'_>, pid: u32) -> (&'static str, String) {
    match event {
        RunEvent::Begins { run_id, entry } => {
            ("info", format!("run {run_id}: {entry}, by process {pid}"))
        }
        RunEvent::Started { key, attempt } => ("debug", format!("{key}: attempt {attempt} begins")),
        RunEvent::Settled {
            key,
            result,
            duration_ms,
        } => {
            let took = format_duration(*duration_ms);
            let (code, status) = (result.exit_code, result.status);
            let ending = format!("{key}: {}, exit code {code}, {took}", status.as_str());
            match (&result.error, status, &result.lifecycle) {
                (Some(error), StepStatus::Failed, _) => {
                    ("error", format!("{ending}: {}", error.message))
                }
                (_, _, Some(moved)) => ("info", format!("{key}: {}", moved.said())),
                _ => ("info", ending),
            }
        }
        RunEvent::Played { key, thread } => ("info", format!("{key}: thread {thread} does it")),
        RunEvent::Warning(text) => ("warning", (*text).to_owned()),
        RunEvent::Note(text) => ("info", (*text).to_owned()),
        RunEvent::Detail(text) => ("debug", (*text).to_owned()),
        RunEvent::Ends { run_id, status } => {
            let status = json!(status);
            let status = status.as_str().unwrap_or_default();
            ("info", format!("run {run_id}: {status}"))
        }
    }
}
