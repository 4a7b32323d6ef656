//! How a call fails: its exit code, its hint, its record, and what people read.

use std::fmt;

use uwf_protocol::exit::Exit;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::CasRef;
use uwf_protocol::run::{KitFailure, Phase};
use uwf_storage::Scratch;
use uwf_util::causes::{causes, with_causes};
use uwf_util::mask::Masks;
use uwf_util::printable::labelled;

use crate::KitError;
use crate::conversation::Unfinished;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The kit could not do its part.
    #[error(transparent)]
    Kit(#[from] KitError),
    /// The agent failed, or its answer did not fit.
    #[error("{agent} as `{role}`: {source}")]
    Unfinished {
        /// The label of the agent.
        agent: String,
        /// Its role.
        role: uwf_protocol::ids::RoleName,
        /// What went wrong.
        source: Box<Unfinished>,
        /// The text node with the last answer, if there was one.
        raw: Option<CasRef>,
        /// What the agent was not allowed to do, as people read it.
        refused: Option<String>,
    },
}

/// Writes the failure record of an error of the kit.
pub(super) fn write_kit_failure(scratch: &Scratch, error: &KitError, masks: &Masks) {
    let _ = scratch.write_failure(&KitFailure {
        phase: Phase::Agent,
        class: Some(FailureClass::Crash),
        error: masks.text(&with_causes(error)),
        hint: error.hint().map(|hint| masks.text(&hint)),
        feedback: None,
        session_id: None,
        retry_after_ms: None,
        usage: None,
        raw: None,
        turns: Vec::new(),
    });
}

/// Returns what the user can do about a conversation that failed: the advice of the agent, or that of the extracting
/// model and how to look at the answer.
pub(super) fn hint_of(
    source: &Unfinished,
    raw: Option<CasRef>,
    refused: Option<String>,
) -> Option<String> {
    let (advice, look) = match source {
        Unfinished::Agent(error) => (error.hint.clone(), None),
        Unfinished::Rejected { unread, .. } => (
            unread.as_ref().and_then(|it| it.hint.clone()),
            raw.map(|raw| format!("`uwf cas get {raw}` shows the answer")),
        ),
        Unfinished::ChecksFailed { .. } => (
            None,
            raw.map(|raw| {
                format!("`uwf cas get {raw}` shows the answer and what the checks printed")
            }),
        ),
        Unfinished::Stopped(_) => (None, None),
    };
    let hints: Vec<String> = [refused, advice, look].into_iter().flatten().collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

impl Failure {
    /// Returns the exit code of the call.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Kit(KitError::Busy { .. }) => Exit::Busy.code().into(),
            Self::Kit(_) => Exit::Request.code().into(),
            Self::Unfinished { source, .. } => match source.as_ref() {
                Unfinished::Agent(error) => error.exit_code,
                Unfinished::Rejected { .. } | Unfinished::ChecksFailed { .. } => 1,
                Unfinished::Stopped(signal) => 128 + signal,
            },
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Kit(error) => error.hint(),
            Self::Unfinished {
                source,
                raw,
                refused,
                ..
            } => hint_of(source, *raw, refused.clone()),
        }
    }
}

/// A failure as people read it: what, why, and what to type next.
pub(super) struct Report<'a>(pub(super) &'a Failure);

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", labelled("error", &self.0.to_string()))?;
        // The message of an unfinished conversation includes its cause.
        if let Failure::Kit(error) = self.0 {
            for cause in causes(error) {
                writeln!(f, "{}", labelled("cause", &cause))?;
            }
        }
        match self.0.hint() {
            Some(hint) => writeln!(f, "{}", labelled("hint", &hint)),
            None => Ok(()),
        }
    }
}
