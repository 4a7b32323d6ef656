//! The payloads of the nodes that make up a thread: start, steps, and the detail of a step.

mod usage;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::artifact::Artifact;
use crate::checks::{CheckResult, PinnedFile};
use crate::child::Parent;
use crate::ids::{CasRef, RoleName};
pub use crate::permissions::RefusedCalls;
use crate::permissions::{AskedPermission, Permissions};
use crate::schemas::{self, CostKind, DetailField};
use crate::step_files::StepFiles;
pub use usage::Usage;

/// The root of a thread: which workflow, and what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartNode {
    /// The workflow node; the thread is pinned to it.
    pub workflow: CasRef,
    /// What the user asked.
    pub prompt: String,
    /// The working directory of the thread's agents; older nodes have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The parent, if the thread is a child thread. Such a start has a type of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// What the run was made with, if the thread is a run of a pipeline. Such a start has a type of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<CasRef>,
    /// The files of its checks, as they were when it started. A start with such files has a type of its own.
    #[serde(default, rename = "checkFiles", skip_serializing_if = "Vec::is_empty")]
    pub check_files: Vec<PinnedFile>,
}

/// One completed step of a thread. Older nodes lack all that is optional here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepNode {
    /// The thread's start node.
    pub start: CasRef,
    /// The step before; `None` for the first step, which never points to the start node.
    pub prev: Option<CasRef>,
    /// Who did the step.
    pub role: RoleName,
    /// The answer's data, typed by the role's schema.
    pub output: CasRef,
    /// What happened in detail, typed by the agent.
    pub detail: CasRef,
    /// The label of the agent, such as `uwf-mock`.
    pub agent: String,
    /// The instruction that the moderator rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_prompt: Option<String>,
    /// When the agent began, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<i64>,
    /// When its answer was complete, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at_ms: Option<i64>,
    /// Where the agent ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The text node with the whole prompt; stored as `null` when it was not kept.
    #[serde(default)]
    pub assembled_prompt: Option<CasRef>,
}

impl StepNode {
    /// Returns how long the step took in milliseconds, if both times are known.
    #[must_use]
    pub fn duration_ms(&self) -> Option<u64> {
        let (started, completed) = (self.started_at_ms?, self.completed_at_ms?);
        Some(u64::try_from(completed.saturating_sub(started)).unwrap_or(0))
    }
}

/// What the agent kit records about a step, whatever the adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The label of the agent, such as `uwf-mock`.
    pub agent: String,
    /// The agent's own session, if it has sessions.
    pub session_id: Option<String>,
    /// The model that answered, if known.
    pub model: Option<String>,
    /// The turns that the adapter could observe, oldest first: nodes of [`Turn`].
    pub turns: Vec<CasRef>,
    /// What the step used up, summed over corrections; `None` if the agent does not report it.
    pub usage: Option<Usage>,
    /// How the data was extracted from the answer.
    pub extraction: Extraction,
    /// The text node with the final answer.
    pub raw: CasRef,
    /// The tool calls that the agent was not allowed to make. A detail with refused calls has a type of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// The files before and after the step, if the agent worked in a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<StepFiles>,
    /// What came of the checks of the role. A detail with checks has a type of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The files that the agent left. A detail with artefacts has a type of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What the agent was allowed to do without asking, if anything said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The call for which the agent needs the permission of a person, if that suspended the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_permission: Option<AskedPermission>,
}

impl Detail {
    /// Returns the type under which it is stored, with the schema of that unless every store has it.
    #[must_use]
    pub fn stored_type(&self) -> (CasRef, Option<Value>) {
        if self.is_extended() {
            let schema = schemas::detail_extended();
            return (schemas::DETAIL_EXTENDED, Some(schema));
        }
        let fields = self.fields();
        let schema = (!fields.is_empty()).then(|| DetailField::schema(&fields));
        (DetailField::type_hash(&fields), schema)
    }

    /// Returns which of the fields it has that each make a type of their own.
    fn fields(&self) -> Vec<DetailField> {
        let has = |field: &DetailField| match field {
            DetailField::RefusedCalls => !self.refused_calls.is_empty(),
            DetailField::CostEstimated => {
                let usage = self.usage.as_ref();
                usage.is_some_and(|usage| usage.cost_kind() == CostKind::Estimated)
            }
            DetailField::Files => self.files.is_some(),
        };
        DetailField::ALL.into_iter().filter(has).collect()
    }

    /// Tells whether it has a field that is in the extended type of details only.
    #[must_use]
    pub fn is_extended(&self) -> bool {
        let has_permissions = self.permissions.is_some() || self.asked_permission.is_some();
        has_permissions || !self.checks.is_empty() || !self.artifacts.is_empty()
    }
}

/// How the data was extracted from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extraction {
    /// The method that succeeded.
    pub method: ExtractionMethod,
    /// How many answers were examined, with the accepted one: those of the agent, and those of a model that extracted.
    pub attempts: u32,
    /// The model that extracted, when a model did.
    pub model: Option<String>,
}

impl Extraction {
    /// Returns a note for people about the method and the number of answers; `None` if the first answer fitted.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let method = match self.method {
            ExtractionMethod::Frontmatter => return None,
            ExtractionMethod::Correction => "correction".to_owned(),
            ExtractionMethod::Llm => {
                let model = self.model.as_deref().unwrap_or("unknown model");
                format!("llm {model}")
            }
        };
        Some(format!("{method}, attempt {}", self.attempts))
    }
}

/// The methods to extract data from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtractionMethod {
    /// The first answer's front matter fitted the schema.
    Frontmatter,
    /// The agent got feedback about its mistake, and a later answer fitted.
    Correction,
    /// A model read the answer.
    Llm,
}

/// One turn of an agent's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The position in the session, from 0.
    pub index: u32,
    /// Who spoke.
    pub role: TurnRole,
    /// What was said.
    pub content: String,
    /// The tools that were called in this turn.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The model's reasoning, if it is shown.
    pub reasoning: Option<String>,
    /// Which call of a tool this answers, in turns of tools whose agent tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answered>,
}

/// The call of a tool that a turn answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The call's [`ToolCall::id`].
    pub call_id: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The tool did what it was asked.
    Ok,
    /// It failed.
    Error,
    /// The agent was not allowed to call it.
    Refused,
}

impl Turn {
    /// Returns a turn with a text and nothing else. The collector of the turns sets its index.
    #[must_use]
    pub fn spoken(role: TurnRole, content: &str) -> Self {
        Self {
            index: 0,
            role,
            content: content.to_owned(),
            tool_calls: None,
            reasoning: None,
            answers: None,
        }
    }

    /// Tells whether calls and answers in the turn can be matched, which gives its node a type of its own.
    #[must_use]
    pub fn has_ids(&self) -> bool {
        let mut calls = self.tool_calls.iter().flatten();
        self.answers.is_some() || calls.any(|call| call.id.is_some())
    }
}

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnRole {
    /// The model.
    Assistant,
    /// A tool that answers the model.
    Tool,
    /// A person, or the engine in their place.
    User,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The arguments as text, usually JSON.
    pub args: String,
    /// The id of the call within the session, if the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_calls_are_counted_by_tool() {
        let tools = ["Edit", "Bash", "Edit"].map(str::to_owned);
        let counted = RefusedCalls::count(&tools);
        let pairs: Vec<_> = counted
            .iter()
            .map(|one| (one.tool.as_str(), one.calls))
            .collect();
        assert_eq!(pairs, [("Edit", 2), ("Bash", 1)]);
        let note = |refused: &[RefusedCalls]| RefusedCalls::note(refused);
        assert_eq!(
            note(&counted).unwrap(),
            "3 tool calls were refused: Edit, Bash"
        );
        assert_eq!(
            note(&counted[1..]).unwrap(),
            "1 tool call was refused: Bash"
        );
        assert_eq!(note(&[]), None);
    }
}
