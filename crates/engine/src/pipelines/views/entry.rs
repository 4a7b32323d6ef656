//! One step of the chain of a run, for people: without secrets, and its output cut.

use serde::Serialize;
use uwf_pipeline::course::Visit;
use uwf_pipeline::nodes::{
    Accepted, ArchiveNode, LogRecord, LostAttempt, ResumeNode, Stream, VisitNode,
};
use uwf_pipeline::{Captured, Ended, Lifecycle, Looped, Masks, StepError, StepStatus, Waited};
use uwf_protocol::nodes::StepNode;
use uwf_util::text::cut;
use uwf_util::time::format_iso;

/// How much of an output is shown, in characters.
const MOST_OUTPUT: usize = 2000;

/// One step of the chain.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum RunEntry {
    /// A visit of a step.
    Visit(Box<VisitView>),
    /// The run was resumed.
    Resume(ResumeView),
    /// Finished tasks were archived.
    Archive(ArchiveView),
}

/// A visit of a step.
#[derive(Debug, Clone, Serialize)]
pub struct VisitView {
    /// The key of the step.
    pub key: String,
    /// Who did it.
    pub agent: String,
    /// The number of the visit.
    pub visit: u64,
    /// How it ended.
    pub status: StepStatus,
    /// The exit code.
    pub exit_code: i64,
    /// When it was started.
    pub started_at: Option<String>,
    /// How long it took, in milliseconds; a loop, from its first item to its end.
    pub duration_ms: u64,
    /// The words of the program.
    pub argv: Vec<String>,
    /// The attempts, the first one first.
    pub attempts: Vec<TryView>,
    /// What it printed.
    pub output: Option<OutputView>,
    /// What was waited for.
    pub waited: Option<Waited>,
    /// What came of the items of a loop.
    pub items: Option<Looped>,
    /// What became of the file of an item.
    pub lifecycle: Option<Lifecycle>,
    /// Why it failed.
    pub error: Option<StepError>,
    /// Its logs.
    pub logs: Vec<LogRecord>,
    /// The files that it wrote.
    pub writes: Vec<String>,
    /// The files that it read.
    pub reads: Vec<String>,
}

/// One attempt.
#[derive(Debug, Clone, Serialize)]
pub struct TryView {
    /// How it ended.
    pub ended: Ended,
    /// The exit code.
    pub exit_code: i64,
    /// When it was started.
    pub started_at: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What a step printed.
#[derive(Debug, Clone, Serialize)]
pub struct OutputView {
    /// `text`, `lines` or `json`.
    pub capture: &'static str,
    /// The beginning of it, as text.
    pub text: String,
    /// Whether there is more.
    pub cut: bool,
}

/// The run was resumed.
#[derive(Debug, Clone, Serialize)]
pub struct ResumeView {
    /// Always `_resume`.
    pub key: &'static str,
    /// When.
    pub started_at: Option<String>,
    /// The attempt that was lost with its process.
    pub lost: Option<LostAttempt>,
    /// The step where the run went on, if a person chose one.
    pub from: Option<String>,
    /// The pipeline from then on, if it changed.
    pub accepted: Option<Accepted>,
}

/// Finished tasks were archived.
#[derive(Debug, Clone, Serialize)]
pub struct ArchiveView {
    /// Always `_archive`.
    pub key: &'static str,
    /// When.
    pub started_at: Option<String>,
    /// The archive.
    pub path: String,
    /// Why it could not be made.
    pub error: Option<String>,
}

impl VisitView {
    pub(super) fn of(step: &StepNode, visit: &Visit, detail: VisitNode, masks: &Masks) -> Self {
        let result = &visit.result;
        let attempts = detail.attempts.into_iter().map(|attempt| TryView {
            ended: attempt.ended,
            exit_code: attempt.exit_code,
            started_at: format_iso(attempt.started_at_ms),
            duration_ms: attempt.duration_ms,
        });
        Self {
            key: visit.key.to_string(),
            agent: step.agent.clone(),
            visit: detail.visit,
            status: result.status,
            exit_code: result.exit_code,
            started_at: step.started_at_ms.map(format_iso),
            duration_ms: visit.duration_ms,
            argv: masked(&detail.argv, masks),
            attempts: attempts.collect(),
            output: result.captured.as_ref().map(|it| output_of(it, masks)),
            waited: result.waited.clone().map(|waited| Waited {
                files: masked(&waited.files, masks),
                ..waited
            }),
            items: result.looped,
            lifecycle: result.lifecycle.clone(),
            error: result
                .error
                .as_ref()
                .map(|error| masked_error(error, masks)),
            logs: detail.logs,
            writes: masked(&detail.writes, masks),
            reads: masked(&detail.reads, masks),
        }
    }
}

impl ResumeView {
    pub(super) fn of(step: &StepNode, resume: ResumeNode) -> Self {
        Self {
            key: uwf_pipeline::nodes::RESUME_KEY,
            started_at: step.started_at_ms.map(format_iso),
            lost: resume.lost,
            from: resume.from,
            accepted: resume.accepted,
        }
    }
}

impl ArchiveView {
    pub(super) fn of(step: &StepNode, archive: ArchiveNode) -> Self {
        Self {
            key: uwf_pipeline::nodes::ARCHIVE_KEY,
            started_at: step.started_at_ms.map(format_iso),
            path: archive.path,
            error: archive.error,
        }
    }
}

impl VisitView {
    /// Returns the log of a stream, if there is one.
    #[must_use]
    pub fn log(&self, stream: Stream) -> Option<&LogRecord> {
        self.logs.iter().find(|log| log.stream == stream)
    }
}

/// Returns the beginning of an output as text.
fn output_of(captured: &Captured, masks: &Masks) -> OutputView {
    let (capture, text, truncated) = match captured {
        Captured::Text { output, truncated } => ("text", output.clone(), *truncated),
        Captured::Lines { lines, truncated } => ("lines", lines.join("\n"), *truncated),
        Captured::Json(json) => ("json", json.to_string(), false),
    };
    // A secret that the cut splits must not be seen in part.
    let text = masks.text(&text);
    let shown = cut(&text, MOST_OUTPUT);
    OutputView {
        capture,
        cut: truncated || shown.len() < text.len(),
        text: shown.into_owned(),
    }
}

/// Returns an error without secrets.
pub(super) fn masked_error(error: &StepError, masks: &Masks) -> StepError {
    let context = error.context.iter();
    let context = context.map(|(key, value)| (masks.text(key), masks.json(value)));
    StepError {
        kind: error.kind,
        message: masks.text(&error.message),
        exit_code: error.exit_code,
        stdout_tail: masked(&error.stdout_tail, masks),
        stderr_tail: masked(&error.stderr_tail, masks),
        context: context.collect(),
    }
}

/// Returns texts without secrets.
pub(super) fn masked(texts: &[String], masks: &Masks) -> Vec<String> {
    texts.iter().map(|text| masks.text(text)).collect()
}
