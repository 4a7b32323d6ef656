//! One record of the file: a step and what came of it.

use serde_json::{Map, Value, json};
use uwf_util::time::format_iso;

use super::members_of;
use crate::course::Visit;

/// The facts about a running attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFacts {
    /// When the visit was started, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// The number of the attempt, from 1.
    pub attempt: u64,
}

/// The facts about a settled visit that its result does not have.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordFacts {
    /// When it was started, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When it settled, in milliseconds since 1970.
    pub completed_at_ms: i64,
    /// How many attempts it took.
    pub attempts: u64,
    /// How often the step was entered so far.
    pub visit_count: u64,
    /// What helps to find mistakes: the command, and remarks about its output. It is masked.
    pub debug: Map<String, Value>,
    /// The node that has the result.
    pub output_ref: Option<String>,
}

/// The members that can become references, and the names of these.
const BULKY: [(&str, &str); 3] = [
    ("output", "output_ref"),
    ("lines", "lines_ref"),
    ("json", "json_ref"),
];

/// A record as text.
#[derive(Debug)]
pub(super) struct Record {
    /// The record without its output; it ends before the closing brace.
    text: String,
    output: Option<Output>,
}

/// The output of a record as text.
#[derive(Debug)]
enum Output {
    /// As it is: a member of the record.
    Whole {
        text: String,
        /// What stands in its place if it gives way.
        reference: Option<String>,
    },
    /// The reference.
    Reference(String),
}

/// Returns the members of a step that runs.
pub(super) fn running(facts: &AttemptFacts) -> Map<String, Value> {
    members_of(&json!({
        "status": "running",
        "started_at": format_iso(facts.started_at_ms),
        "attempts": facts.attempt,
    }))
}

/// Returns the members of a step that settled.
pub(super) fn settled(visit: &Visit, facts: &RecordFacts) -> Map<String, Value> {
    let mut result = members_of(&visit.result);
    let mut members = Map::new();
    for name in ["status", "exit_code"] {
        members.extend(result.shift_remove_entry(name));
    }
    members.extend(members_of(&json!({
        "started_at": format_iso(facts.started_at_ms),
        "completed_at": format_iso(facts.completed_at_ms),
        "duration_ms": visit.duration_ms,
        "duration": visit.duration_ms,
        "attempts": facts.attempts,
        "visit_count": facts.visit_count,
    })));
    members.extend(result);
    if let Some(waited) = &visit.result.waited {
        members.insert("wait_duration".to_owned(), waited.wait_duration_ms.into());
    }
    if !facts.debug.is_empty() {
        members.insert("debug".to_owned(), Value::Object(facts.debug.clone()));
    }
    members
}

impl Record {
    /// Returns a record of these members. `reference` names the node that has the output, too.
    pub(super) fn of(members: &Map<String, Value>, reference: Option<&str>) -> Self {
        let mut members = members.clone();
        let output = BULKY.into_iter().find_map(|(name, name_of_ref)| {
            let value = members.shift_remove(name)?;
            let text = format!("\"{name}\":{value}");
            let reference = reference.map(|node| format!("\"{name_of_ref}\":{}", json!(node)));
            Some(Output::Whole { text, reference })
        });
        let mut text = json!(members).to_string();
        text.pop();
        Self { text, output }
    }

    /// Returns a record that is an object, and that has no output.
    pub(super) fn of_value(value: &Value) -> Self {
        Self::of(&members_of(value), None)
    }

    /// Returns how many bytes it takes.
    pub(super) fn len(&self) -> usize {
        let output = match &self.output {
            Some(Output::Whole { text, .. } | Output::Reference(text)) => text.len() + 1,
            None => 0,
        };
        self.text.len() + output + 1
    }

    /// Returns how many bytes it would lose if its output gave way.
    pub(super) fn spare(&self) -> usize {
        match &self.output {
            Some(Output::Whole {
                text,
                reference: Some(reference),
            }) => text.len().saturating_sub(reference.len()),
            _ => 0,
        }
    }

    /// Lets the output give way to its reference.
    pub(super) fn shrink(&mut self) {
        if let Some(Output::Whole { reference, .. }) = &mut self.output
            && let Some(reference) = reference.take()
        {
            self.output = Some(Output::Reference(reference));
        }
    }

    pub(super) fn write(&self, text: &mut String) {
        text.push_str(&self.text);
        if let Some(Output::Whole { text: output, .. } | Output::Reference(output)) = &self.output {
            text.push(',');
            text.push_str(output);
        }
        text.push('}');
    }
}
