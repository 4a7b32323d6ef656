//! The records about an answer that was accepted and whose checks run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CasRef, RoleName};
use crate::nodes::{Extraction, Turn, Usage};

/// An answer that was accepted and whose checks have not all passed yet. If its agent dies, the next attempt at the same step
/// runs the checks again, and asks nobody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The head that the step would follow.
    pub head: CasRef,
    /// The step that it would replace, if it is poked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// The role of the step.
    pub role: RoleName,
    /// The key under which the agent's sessions are stored.
    pub agent: String,
    /// The whole prompt. The answer is one to this prompt only.
    pub prompt: String,
    /// The numbers of the attempts that worked on it, the first one first. The last one gets its number if it fails.
    pub attempts: Vec<u64>,
    /// When the first of them began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// How long all of them worked until the answer was accepted, in milliseconds.
    pub worked_ms: i64,
    /// What was said, oldest first.
    pub exchanges: Vec<Said>,
    /// The agent's own session, if it has sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model that answered, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What all of them used up, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tools whose calls were refused, one entry for each call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The type of the answer's data.
    pub type_hash: CasRef,
    /// The data of the answer.
    pub output: Value,
    /// The Markdown of the answer.
    pub body: String,
    /// How the data was extracted.
    pub extraction: Extraction,
}

/// A message to the agent, if it was not the whole prompt, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The message; `None` for the whole prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answer.
    pub text: String,
    /// The turns that were observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
}

/// The check that runs now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningCheck {
    /// Its name.
    pub name: String,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: i64,
}
