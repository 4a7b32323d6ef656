//! What a step results in, as far as a file says it: which values a variable and a loop can take from it.

use crate::{Capture, StepField, Work};

/// What a step results in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Text,
    Lines,
    Json,
    /// JSON, or text if the output is no JSON.
    JsonOrText,
    /// The files of a wait.
    Files,
    /// The counts of a loop.
    Items,
    /// The answer of a workflow.
    Answer,
    /// The step could not be read.
    Unknown,
}

impl Output {
    pub(super) fn of(work: &Work) -> Self {
        match work {
            Work::Run(run) => match run.capture {
                Capture::Text => Self::Text,
                Capture::Lines => Self::Lines,
                Capture::Json {
                    allow_parse_error: false,
                } => Self::Json,
                Capture::Json {
                    allow_parse_error: true,
                } => Self::JsonOrText,
            },
            Work::Workflow(_) => Self::Answer,
            Work::WaitFor(_) => Self::Files,
            Work::ForEach(_) => Self::Items,
        }
    }

    /// Tells whether a result of the step can have a value.
    pub(super) fn has(self, field: StepField) -> bool {
        match field {
            StepField::ExitCode | StepField::Duration | StepField::Status => true,
            _ => self == Self::Unknown || self.own().contains(&field),
        }
    }

    /// Returns the values that not every step has.
    fn own(self) -> &'static [StepField] {
        use StepField as F;
        match self {
            Self::Text => &[F::Output, F::Truncated],
            Self::Lines => &[F::Lines, F::Truncated],
            Self::Json | Self::Answer => &[F::Json, F::Truncated],
            Self::JsonOrText => &[F::Json, F::Output, F::Truncated],
            Self::Files => &[F::Files, F::TimedOut, F::WaitDuration, F::PollCount],
            Self::Items => &[F::Count, F::Failed],
            Self::Unknown => &[],
        }
    }

    /// Says what the step does, to go on after its name.
    pub(super) fn says(self) -> &'static str {
        match self {
            Self::Text => "captures its output as text",
            Self::Lines => "captures its output as lines",
            Self::Json | Self::JsonOrText => "captures its output as JSON",
            Self::Files => "waits for files",
            Self::Items => "is a loop",
            Self::Answer => "starts a workflow",
            Self::Unknown => "cannot be read",
        }
    }

    /// Returns how the step gets a value, or which ones it has instead.
    pub(super) fn hint(self, field: StepField) -> String {
        let is_program = matches!(
            self,
            Self::Text | Self::Lines | Self::Json | Self::JsonOrText
        );
        let capture = match field {
            StepField::Output => Some("text"),
            StepField::Lines => Some("lines"),
            StepField::Json => Some("json"),
            _ => None,
        };
        match capture {
            Some(capture) if is_program => {
                format!("give the step `output_capture: {capture}`")
            }
            _ => {
                let own = self.own().iter().map(|field| field.name());
                let all = ["exit_code", "status", "duration"].into_iter().chain(own);
                format!("it has `{}`", all.collect::<Vec<_>>().join("`, `"))
            }
        }
    }
}
