//! The nouns of a run as they are stored. A reference is the hash of a node.
//!
//! A store need not keep the order of the members of JSON data, nor how a number was written. So JSON data of a user is stored
//! as text.

mod json_text;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::attempt::Ended;
use crate::capture::CaptureDebug;
use crate::course::{Archived, Event, OnError, Resume, RunStart, Steering};
use crate::scope::RunFacts;
use crate::{ErrorKind, Pipeline, StepError, StepResult};

/// The hash of a node.
pub type NodeRef = String;

/// The key of the control step of a resume.
pub const RESUME_KEY: &str = "_resume";
/// The key of the control step of the archive.
pub const ARCHIVE_KEY: &str = "_archive";

/// What a run was made with, beside its pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunNode {
    /// The id of the thread that the run is. A thread with another id is a fork of it.
    pub thread: String,
    /// The id of the run.
    pub run_id: String,
    /// When it was made, as `YYYYMMDDTHHMMSSZ`.
    pub timestamp_utc: String,
    /// The folder of all runs, relative to the workspace if it is in it.
    pub state_dir: String,
    /// The workflow file.
    pub workflow_file: String,
    /// The checksum of the workflow file.
    pub workflow_checksum: String,
    /// The text of the workflow file.
    pub source: NodeRef,
    /// The context, merged from all its sources.
    #[serde(with = "json_text")]
    pub context: Map<String, Value>,
    /// What the caller asked for.
    #[serde(default)]
    pub steering: Steering,
    /// The only step, for a run of one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<OnlyNode>,
}

/// What a run of one step was made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlyNode {
    /// The name of the step.
    pub step: String,
    /// The item, if it is for one. It may be null.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "json_text::serialize_some",
        deserialize_with = "json_text::deserialize_some"
    )]
    pub item: Option<Value>,
    /// Whether its condition counts.
    #[serde(default)]
    pub respect_when: bool,
    /// The head of the run whose results it sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeRef>,
}

/// How a visit went: the detail of its step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VisitNode {
    /// The number of the visit.
    pub visit: u64,
    /// The words of the program, masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Remarks about the last attempt.
    #[serde(default)]
    pub debug: VisitDebug,
    /// The attempts, the first one first.
    #[serde(default)]
    pub attempts: Vec<AttemptRecord>,
    /// The logs.
    #[serde(default)]
    pub logs: Vec<LogRecord>,
    /// The files that the step wrote: its `output_file`.
    #[serde(default)]
    pub writes: Vec<String>,
    /// The files that the step read: its `input_file`, and what matched `depends_on`.
    #[serde(default)]
    pub reads: Vec<String>,
    /// What the step used up; no program tells it so far.
    #[serde(default)]
    pub usage: Option<Value>,
    /// The snapshots of the files before and after the step, if they were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Value>,
    /// The child thread that did the step, if one did.
    #[serde(flatten)]
    pub played: Option<PlayedNode>,
}

impl VisitNode {
    /// Returns the detail of a visit that has done nothing so far.
    #[must_use]
    pub fn new(visit: u64) -> Self {
        Self {
            visit,
            argv: Vec::new(),
            debug: VisitDebug::default(),
            attempts: Vec::new(),
            logs: Vec::new(),
            writes: Vec::new(),
            reads: Vec::new(),
            usage: None,
            files: None,
            played: None,
        }
    }
}

/// The child threads that did a step, and what they used up, as the detail of every step tells it that child threads did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayedNode {
    /// The child thread.
    pub children: Vec<PlayerNode>,
    /// What it used up.
    pub used: Value,
}

/// A child thread that did a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayerNode {
    /// The branch: a step has none, so it is empty.
    pub key: String,
    /// The thread.
    pub thread: String,
    /// Its head then.
    pub head: NodeRef,
    /// How it ended.
    pub status: String,
    /// How many steps it did, with those of its own children.
    pub steps: u64,
}

/// Remarks about an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitDebug {
    /// The folder that the program worked in, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// How many variables its environment had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_count: Option<u64>,
    /// Whether processes were left that had to be killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaked_processes: bool,
    /// Remarks about the output.
    #[serde(flatten)]
    pub capture: CaptureDebug,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// How it ended.
    pub ended: Ended,
    /// The exit code.
    pub exit_code: i64,
    /// When it was started, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
}

impl AttemptRecord {
    /// Tells whether a program ran. What could not be started has used nothing up.
    #[must_use]
    pub fn ran(&self) -> bool {
        let kind = self.error.as_ref().map(|error| error.kind);
        !matches!(
            kind,
            Some(
                ErrorKind::ArgumentTooLong
                    | ErrorKind::CommandNotExecutable
                    | ErrorKind::CommandNotFound
                    | ErrorKind::FailedDeps
                    | ErrorKind::InputFileError
                    | ErrorKind::MissingSecrets
            )
        )
    }
}

/// One log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// What was written.
    pub stream: Stream,
    /// The run that has the file.
    pub run_id: String,
    /// The file, in the folder of the run.
    pub path: String,
    /// How large it is.
    pub bytes: u64,
    /// Its text, if it is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<NodeRef>,
}

/// What a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Stream {
    Stdout,
    Stderr,
    Prompt,
}

/// How a run was resumed: the output of the control step `_resume`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResumeNode {
    /// The attempt that was lost with its engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostAttempt>,
    /// The step where the run goes on, if that is not where it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What a failure does from now on, if that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<OnError>,
    /// The pipeline from now on, if that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
}

/// An attempt that nobody saw the end of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostAttempt {
    /// The key of its step.
    pub key: String,
    /// The number of the attempt.
    pub attempt: u64,
}

/// Another pipeline that a run goes on under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The pipeline.
    pub pipeline: NodeRef,
    /// The checksum of the file before.
    pub old_checksum: String,
    /// The checksum of the file now.
    pub new_checksum: String,
}

/// What came of the archive: the output of the control step `_archive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveNode {
    /// The archive.
    pub path: String,
    /// Why it could not be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A pipeline as it is stored.
#[derive(Serialize, Deserialize)]
struct PipelineNode<P> {
    name: String,
    #[serde(
        with = "json_text",
        bound(
            serialize = "P: Serialize",
            deserialize = "P: serde::de::DeserializeOwned"
        )
    )]
    program: P,
}

/// Returns the payload of the node of a pipeline.
#[must_use]
pub fn pipeline_payload(pipeline: &Pipeline) -> Value {
    let name = pipeline.name.clone();
    let node = PipelineNode {
        name,
        program: pipeline,
    };
    plain(&node)
}

/// Returns the pipeline of a node.
///
/// # Errors
/// When the payload is of another shape.
pub fn pipeline_of(payload: &Value) -> Result<Pipeline, serde_json::Error> {
    Ok(PipelineNode::deserialize(payload)?.program)
}

/// Returns the payload of the node of a result.
#[must_use]
pub fn result_payload(result: &StepResult) -> Value {
    let mut payload = plain(result);
    if let Some(json) = payload.get_mut("json") {
        *json = Value::String(json.to_string());
    }
    payload
}

/// Returns the result of a node.
///
/// # Errors
/// When the payload is of another shape.
pub fn result_of_payload(mut payload: Value) -> Result<StepResult, serde_json::Error> {
    if let Some(json) = payload.get_mut("json")
        && let Some(text) = json.as_str()
    {
        *json = serde_json::from_str(text)?;
    }
    serde_json::from_value(payload)
}

fn plain<T: Serialize>(node: &T) -> Value {
    serde_json::to_value(node).expect("a node is plain data with text for keys")
}

impl RunNode {
    /// Returns what the course of the run begins with.
    #[must_use]
    pub fn start(&self) -> RunStart {
        RunStart {
            facts: RunFacts {
                id: self.run_id.clone(),
                timestamp_utc: self.timestamp_utc.clone(),
                root: format!("{}/{}", self.state_dir, self.run_id),
            },
            context: self.context.clone(),
            steering: self.steering.clone(),
            from_run: None,
        }
    }
}

impl ResumeNode {
    /// Returns the resume as an event. `accepted` is the pipeline that the node names.
    #[must_use]
    pub fn event(&self, accepted: Option<Arc<Pipeline>>) -> Event {
        Event::Resume(Resume {
            from: self.from.clone(),
            on_error: self.on_error,
            accepted,
        })
    }
}

impl ArchiveNode {
    /// Returns the archive as an event.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::Archived(match &self.error {
            None => Archived::Made,
            Some(error) => Archived::Failed(error.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_run_begins_its_course() {
        let stored = json!({
            "thread": "01K", "run_id": "r-1", "timestamp_utc": "20261123T000000Z", "state_dir": ".orchestrate/runs",
            "workflow_file": "f.yaml", "workflow_checksum": "sha256:9f", "source": "SRC", "context": "{\"b\":1.0,\"a\":1}",
            "steering": {"on_error": "continue", "retries": {"max": 2, "delay_ms": 5}, "max_transitions": 7,
                "archive": {"destination": null}},
            "only": {"step": "A", "item": "null", "respect_when": true, "from": "HEAD"},
        });
        let node: RunNode = serde_json::from_value(stored).unwrap();
        let start = node.start();
        assert_eq!(start.facts.root, ".orchestrate/runs/r-1");
        assert_eq!(start.steering.on_error, OnError::Continue);
        assert_eq!(start.steering.max_transitions, Some(7));
        assert!(start.steering.archive.is_some());
        assert_eq!(node.only.as_ref().unwrap().item, Some(json!(null)));
        let again: RunNode = serde_json::from_value(json!(node)).unwrap();
        assert_eq!(again, node);
    }

    #[test]
    fn a_stored_visit_is_the_same_again() {
        let error = json!({"type": "signal", "message": "m", "exit_code": 137});
        let stored = json!({
            "visit": 2, "argv": ["make"], "debug": {"cwd": ".", "env_count": 3, "leaked_processes": true, "invalid_utf8": true},
            "attempts": [
                {"ended": {"signal": 9}, "exit_code": 137, "started_at_ms": 5, "duration_ms": 7, "error": error},
                {"ended": "timed_out", "exit_code": 124, "started_at_ms": 5, "duration_ms": 7},
            ],
            "logs": [{"stream": "stdout", "run_id": "r", "path": "logs/A.stdout", "bytes": 3, "text": "T"}],
            "writes": ["out"], "reads": ["in"], "usage": null,
            "children": [{"key": "", "thread": "01K", "head": "H", "status": "done", "steps": 2}], "used": {"runs": 2},
        });
        let node: VisitNode = serde_json::from_value(stored).unwrap();
        assert!(node.debug.capture.invalid_utf8);
        assert_eq!(node.played.as_ref().unwrap().children[0].steps, 2);
        let again: VisitNode = serde_json::from_value(json!(node)).unwrap();
        assert_eq!(again, node);
    }

    #[test]
    fn control_steps_are_events() {
        let resume: ResumeNode =
            serde_json::from_value(json!({"from": "A", "on_error": "stop"})).unwrap();
        let expected = Resume {
            from: Some("A".to_owned()),
            on_error: Some(OnError::Stop),
            accepted: None,
        };
        assert_eq!(resume.event(None), Event::Resume(expected));
        let archive = ArchiveNode {
            path: "p.zip".to_owned(),
            error: Some("full".to_owned()),
        };
        assert_eq!(
            archive.event(),
            Event::Archived(Archived::Failed("full".to_owned()))
        );
    }
}
