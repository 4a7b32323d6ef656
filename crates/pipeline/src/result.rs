//! What came of a step, as it is stored: a result without times, so that equal results are equal.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use uwf_util::mask::Masks;

/// The result of a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// How it ended.
    pub status: StepStatus,
    /// The exit code; 0 of a step that was skipped.
    pub exit_code: i64,
    /// What the program printed.
    #[serde(flatten)]
    pub captured: Option<Captured>,
    /// What was waited for.
    #[serde(flatten)]
    pub waited: Option<Waited>,
    /// What came of the items of a loop.
    #[serde(flatten)]
    pub looped: Option<Looped>,
    /// What became of the file of an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// Why the step failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
}

/// How a visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// With exit code 0.
    Completed,
    /// With another exit code.
    Failed,
    /// Its condition did not hold.
    Skipped,
}

impl StepStatus {
    /// Returns the word for it in files and variables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What a program printed, as data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CapturedFields", into = "CapturedFields")]
pub enum Captured {
    /// The beginning as text.
    Text {
        /// The text.
        output: String,
        /// Whether there was more.
        truncated: bool,
    },
    /// The first lines.
    Lines {
        /// The lines without their ends.
        lines: Vec<String>,
        /// Whether there were more.
        truncated: bool,
    },
    /// One JSON value.
    Json(Value),
}

/// The fields of captured output in files.
#[derive(Serialize, Deserialize)]
struct CapturedFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_capture: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<String>>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    json: Option<Value>,
    truncated: bool,
}

/// Reads a value that is there, even if it is null.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl From<Captured> for CapturedFields {
    fn from(captured: Captured) -> Self {
        let none = Self {
            output: None,
            output_capture: None,
            lines: None,
            json: None,
            truncated: false,
        };
        match captured {
            Captured::Text { output, truncated } => Self {
                output: Some(output),
                truncated,
                ..none
            },
            Captured::Lines { lines, truncated } => Self {
                output_capture: Some("lines".to_owned()),
                lines: Some(lines),
                truncated,
                ..none
            },
            Captured::Json(json) => Self {
                output_capture: Some("json".to_owned()),
                json: Some(json),
                ..none
            },
        }
    }
}

impl TryFrom<CapturedFields> for Captured {
    type Error = &'static str;

    fn try_from(fields: CapturedFields) -> Result<Self, Self::Error> {
        let truncated = fields.truncated;
        match (fields.output, fields.lines, fields.json) {
            (Some(output), None, None) => Ok(Self::Text { output, truncated }),
            (None, Some(lines), None) => Ok(Self::Lines { lines, truncated }),
            (None, None, Some(json)) => Ok(Self::Json(json)),
            _ => Err("not exactly one of `output`, `lines` and `json`"),
        }
    }
}

/// What was waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// The files that were there at the end, sorted.
    pub files: Vec<String>,
    /// How long it took, in milliseconds.
    pub wait_duration_ms: u64,
    /// How often was looked.
    pub poll_count: u64,
    /// Whether the time was over first.
    pub timed_out: bool,
}

/// What came of the items of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looped {
    /// How many items were done.
    pub count: u64,
    /// How many of them failed.
    pub failed: u64,
}

/// What became of the file of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifecycle {
    /// Whether the item succeeded.
    pub result: ItemResult,
    /// What was to be done; only moving is known.
    pub action: LifecycleAction,
    /// The file.
    pub from: String,
    /// Where it was to be moved to.
    pub to: String,
    /// Whether it was moved.
    pub action_applied: bool,
    /// Why not.
    pub error: Option<String>,
}

impl Lifecycle {
    /// Says what came of the item and its file.
    #[must_use]
    pub fn said(&self) -> String {
        let Self { from, to, .. } = self;
        let item = match self.result {
            ItemResult::Success => "succeeded",
            ItemResult::Failure => "failed",
        };
        match self.action_applied {
            true => format!("the item {item}, and `{from}` was moved to `{to}`"),
            false => format!("the item {item}, and `{from}` was not moved"),
        }
    }
}

/// What is done with the file of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LifecycleAction {
    /// It is moved.
    Move,
}

/// Whether an item of a loop succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ItemResult {
    Success,
    Failure,
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepError {
    /// The kind, which scripts match on.
    #[serde(rename = "type")]
    pub kind: ErrorKind,
    /// What happened, for people.
    pub message: String,
    /// The exit code of the step.
    pub exit_code: i64,
    /// The last lines of the output.
    #[serde(default)]
    pub stdout_tail: Vec<String>,
    /// The last lines of the error output.
    #[serde(default)]
    pub stderr_tail: Vec<String>,
    /// The facts about it.
    #[serde(default)]
    pub context: Map<String, Value>,
}

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are those in files, and say it")]
pub enum ErrorKind {
    ArgumentTooLong,
    Cancelled,
    CommandFailed,
    CommandNotExecutable,
    CommandNotFound,
    ConditionError,
    CycleGuardExceeded,
    FailedDeps,
    InputFileError,
    InvalidArgument,
    InvalidReference,
    ItemFailed,
    JsonOverflow,
    JsonParseError,
    MissingSecrets,
    PathError,
    PathViolation,
    RunTimeout,
    Signal,
    Timeout,
    UndefinedVariables,
    WorkflowFailed,
    WorkflowInvalid,
    WorkflowStopped,
    /// A kind that a newer program wrote.
    #[serde(other)]
    Other,
}

/// The exit code of a step that cannot be done as it is written.
pub(crate) const INVALID: i64 = 2;

impl StepError {
    /// Takes secrets out of what happened, and out of the facts about it.
    pub fn mask(&mut self, masks: &Masks) {
        self.message = masks.text(&self.message);
        self.context = masks.members(&self.context);
    }
}

impl StepResult {
    /// Takes secrets out of what was filled in: paths, and what an error tells. What a program printed has none.
    pub fn mask(&mut self, masks: &Masks) {
        if let Some(error) = &mut self.error {
            error.mask(masks);
        }
        if let Some(moved) = &mut self.lifecycle {
            moved.from = masks.text(&moved.from);
            moved.to = masks.text(&moved.to);
            moved.error = moved.error.as_ref().map(|error| masks.text(error));
        }
    }

    /// Returns a result without any data.
    #[must_use]
    pub fn of(status: StepStatus, exit_code: i64) -> Self {
        Self {
            status,
            exit_code,
            captured: None,
            waited: None,
            looped: None,
            lifecycle: None,
            error: None,
        }
    }

    /// Tells whether the result ends the run whatever its handlers say.
    #[must_use]
    pub fn asks_no_handler(&self) -> bool {
        let kind = self.error.as_ref().map(|error| error.kind);
        matches!(
            kind,
            Some(ErrorKind::CycleGuardExceeded | ErrorKind::RunTimeout | ErrorKind::Cancelled)
        )
    }

    /// Returns the result of a step whose condition did not hold.
    #[must_use]
    pub fn skipped() -> Self {
        Self::of(StepStatus::Skipped, 0)
    }

    /// Returns the result of a step that could not be done.
    #[must_use]
    pub fn refused(failure: Failure) -> Self {
        Self::failed(INVALID, failure)
    }

    /// Returns the result of a step that failed.
    #[must_use]
    pub fn failed(exit_code: i64, failure: Failure) -> Self {
        let error = StepError {
            kind: failure.kind,
            message: failure.message,
            exit_code,
            stdout_tail: Vec::new(),
            stderr_tail: Vec::new(),
            context: failure.context,
        };
        Self {
            error: Some(error),
            ..Self::of(StepStatus::Failed, exit_code)
        }
    }

    /// Returns what was captured as an object, for whoever the pipeline works for.
    #[must_use]
    pub fn answer(&self) -> Value {
        match &self.captured {
            Some(Captured::Json(Value::Object(answer))) => Value::Object(answer.clone()),
            Some(Captured::Json(value)) => json!({ "json": value }),
            Some(Captured::Text { output, .. }) => json!({ "output": output }),
            Some(Captured::Lines { lines, .. }) => json!({ "lines": lines }),
            None => json!({}),
        }
    }

    /// Tells whether the step is one that a cycle guard refused.
    pub(crate) fn is_guarded(&self) -> bool {
        let error = self.error.as_ref();
        error.is_some_and(|error| error.kind == ErrorKind::CycleGuardExceeded)
    }
}

/// Why something could not be done: the error of a step before it has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The kind.
    pub kind: ErrorKind,
    /// What happened, for people.
    pub message: String,
    /// The facts about it.
    pub context: Map<String, Value>,
}

impl Failure {
    /// Returns a failure without facts.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            context: Map::new(),
        }
    }

    /// Returns the failure without secrets.
    #[must_use]
    pub fn masked(&self, masks: &Masks) -> Self {
        Self {
            kind: self.kind,
            message: masks.text(&self.message),
            context: masks.members(&self.context),
        }
    }

    /// Returns the failure of a step whose secrets are not in the environment.
    #[must_use]
    pub fn missing_secrets(names: &[String]) -> Self {
        let message = format!("the environment has no `{}`", names.join("`, `"));
        Self::new(ErrorKind::MissingSecrets, message).fact("missing_secrets", names)
    }

    /// Returns the failure of a step that needs files of which there is none.
    #[must_use]
    pub fn failed_deps(globs: &[String]) -> Self {
        let message = format!("no file matches `{}`", globs.join("`, `"));
        Self::new(ErrorKind::FailedDeps, message).fact("required", globs)
    }

    /// Adds a fact.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.context.insert(name.to_owned(), value.into());
        self
    }
}
