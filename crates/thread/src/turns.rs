//! The turns of an agent's session and the text of its answer, read from the detail of a step. The agent kit or another
//! program recorded them.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::ids::CasRef;

/// The role of the model's turns.
const ASSISTANT: &str = "assistant";

/// A turn, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// The position in the session, from 0.
    pub index: u64,
    /// Who spoke.
    pub role: String,
    /// What was said; may be empty.
    pub content: String,
    /// The tools that were called.
    #[serde(rename = "toolCalls")]
    pub calls: Vec<Call>,
    /// The call that this answers, if that is known.
    pub answers: Option<Answers>,
}

/// The call that a turn answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answers {
    /// The call.
    pub id: String,
    /// The name of the tool, if the call is among the turns.
    pub tool: Option<String>,
    /// The outcome: `ok`, `error` or `refused`.
    pub outcome: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub args: Option<String>,
    /// The id by which answers refer to it, if the agent records it.
    pub id: Option<String>,
}

impl Turn {
    /// Reads a turn at this place of its session. It tolerates the details of other programs: fields may be missing, and the
    /// arguments of a tool may be called `input`.
    #[must_use]
    pub fn from_json(turn: &Value, place: usize) -> Self {
        let calls = turn.get("toolCalls").and_then(Value::as_array);
        Self {
            index: turn
                .get("index")
                .and_then(Value::as_u64)
                .unwrap_or(place as u64),
            role: text_of(turn.get("role")).unwrap_or_else(|| ASSISTANT.to_owned()),
            content: text_of(turn.get("content")).unwrap_or_default(),
            calls: calls.into_iter().flatten().map(Call::from_json).collect(),
            answers: turn.get("answers").and_then(Answers::from_json),
        }
    }

    /// Tells whether the turn has nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.content.trim().is_empty() && self.calls.is_empty()
    }
}

impl Answers {
    fn from_json(answers: &Value) -> Option<Self> {
        Some(Self {
            id: text_of(answers.get("callId"))?,
            tool: None,
            outcome: text_of(answers.get("outcome"))?,
        })
    }
}

impl Call {
    fn from_json(call: &Value) -> Self {
        let args = call.get("args").or_else(|| call.get("input"));
        Self {
            name: text_of(call.get("name")).unwrap_or_else(|| "tool".to_owned()),
            args: text_of(args).filter(|args| !args.trim().is_empty()),
            id: text_of(call.get("id")),
        }
    }
}

/// Returns a text unchanged, other data as JSON, and `None` for `null`.
fn text_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Reads the turns of a detail, oldest first. An entry that is neither a turn nor the hash of a turn is skipped.
///
/// # Errors
/// When a turn cannot be read.
pub fn read_turns(store: &Store, detail: &Value) -> Result<Vec<Turn>, StoreError> {
    let mut turns = Vec::new();
    for (place, entry) in entries(detail).iter().enumerate() {
        if let Some(turn) = read(store, entry, place)? {
            turns.push(turn);
        }
    }
    name_answers(&mut turns);
    Ok(turns)
}

/// Adds the names of tools to the turns that answer their calls.
pub fn name_answers(turns: &mut [Turn]) {
    let calls = turns.iter().flat_map(|turn| &turn.calls);
    let names = calls.filter_map(|call| Some((call.id.clone()?, call.name.clone())));
    let names: HashMap<String, String> = names.collect();
    for answers in turns.iter_mut().filter_map(|turn| turn.answers.as_mut()) {
        answers.tool = names.get(&answers.id).cloned();
    }
}

/// Returns the agent's answer from the detail. Details of other programs have none: then it is the last turn of the model
/// that is not blank.
///
/// # Errors
/// When the answer or a turn cannot be read.
pub fn answer(store: &Store, detail: &Value) -> Result<Option<String>, StoreError> {
    if let Some(raw) = raw(store, detail)? {
        return Ok(Some(raw));
    }
    for (place, entry) in entries(detail).iter().enumerate().rev() {
        let turn = read(store, entry, place)?;
        let says = |turn: &Turn| turn.role == ASSISTANT && !turn.content.trim().is_empty();
        if let Some(turn) = turn.filter(says) {
            return Ok(Some(turn.content));
        }
    }
    Ok(None)
}

/// Returns the answer that the detail names, unless it is blank.
///
/// # Errors
/// When it cannot be read.
pub fn raw(store: &Store, detail: &Value) -> Result<Option<String>, StoreError> {
    let Some(hash) = detail.get("raw").and_then(hash_of) else {
        return Ok(None);
    };
    let text = text(store, hash)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// Reads a text node; `None` if the node is not a text.
///
/// # Errors
/// When the node cannot be read.
pub fn text(store: &Store, hash: CasRef) -> Result<Option<String>, StoreError> {
    let node = store.need(hash)?;
    Ok(node.payload.as_str().map(str::to_owned))
}

fn entries(detail: &Value) -> &[Value] {
    detail
        .get("turns")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Reads one entry of `turns`: a reference, or the turn itself in details of other programs.
fn read(store: &Store, entry: &Value, place: usize) -> Result<Option<Turn>, StoreError> {
    if entry.is_object() {
        return Ok(Some(Turn::from_json(entry, place)));
    }
    let Some(hash) = hash_of(entry) else {
        return Ok(None);
    };
    let node = store.need(hash)?;
    Ok(Some(Turn::from_json(&node.payload, place)))
}

fn hash_of(value: &Value) -> Option<CasRef> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_of_the_kit_is_understood() {
        let turn = json!({
            "index": 4, "role": "tool", "content": "x",
            "toolCalls": [{ "name": "bash", "args": "ls" }], "reasoning": null,
        });
        let expected = Turn {
            index: 4,
            role: "tool".to_owned(),
            content: "x".to_owned(),
            calls: vec![Call {
                name: "bash".to_owned(),
                args: Some("ls".to_owned()),
                id: None,
            }],
            answers: None,
        };
        assert_eq!(Turn::from_json(&turn, 0), expected);
    }

    #[test]
    fn a_turn_of_another_program_may_lack_fields_and_name_them_otherwise() {
        let turn =
            json!({ "toolCalls": [{ "name": "read", "input": { "path": "a" } }, { "args": "" }] });
        let expected = Turn {
            index: 2,
            role: "assistant".to_owned(),
            content: String::new(),
            calls: vec![
                Call {
                    name: "read".to_owned(),
                    args: Some(r#"{"path":"a"}"#.to_owned()),
                    id: None,
                },
                Call {
                    name: "tool".to_owned(),
                    args: None,
                    id: None,
                },
            ],
            answers: None,
        };
        assert_eq!(Turn::from_json(&turn, 2), expected);
    }

    #[test]
    fn an_answer_gets_the_name_of_the_tool_that_was_called() {
        let call = json!({ "toolCalls": [{ "name": "ls", "args": "", "id": "c1" }] });
        let answer =
            |id: &str| json!({ "role": "tool", "answers": { "callId": id, "outcome": "error" } });
        let turns = [call, answer("c1"), answer("c2")];
        let mut turns: Vec<Turn> = turns.iter().map(|turn| Turn::from_json(turn, 0)).collect();
        name_answers(&mut turns);
        let tool = |at: usize| turns[at].answers.as_ref().unwrap().tool.as_deref();
        assert_eq!((tool(1), tool(2)), (Some("ls"), None));
    }

    #[test]
    fn a_turn_without_text_and_calls_is_empty() {
        assert!(Turn::from_json(&json!({ "content": " \n", "toolCalls": null }), 0).is_empty());
        assert!(!Turn::from_json(&json!({ "content": "x" }), 0).is_empty());
    }
}
