//! What differs between two steps. Pure.

use serde::Serialize;
use serde_json::Value;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::Usage;
use uwf_util::line_diff::{Line, hunks};

/// How many common lines stand around a difference.
const CONTEXT: usize = 3;

/// A step, as far as it is compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedStep {
    /// The step.
    pub step: CasRef,
    /// Its place in its thread, from 1.
    pub number: usize,
    /// Who did it.
    pub role: RoleName,
    /// The label of the agent.
    pub agent: String,
    /// How long it took, in milliseconds, if it is known.
    pub duration_ms: Option<u64>,
    /// What it used up, if anything is known.
    pub usage: Option<Usage>,
    /// The instruction that the agent got.
    #[serde(skip)]
    pub(crate) instruction: String,
    /// The data of the answer.
    #[serde(skip)]
    pub(crate) output: Value,
    /// The text of the answer.
    #[serde(skip)]
    pub(crate) text: String,
}

/// The difference between two steps. Either may be missing: then the other one is shown alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepDifference {
    /// The first step.
    pub a: Option<ComparedStep>,
    /// The second step.
    pub b: Option<ComparedStep>,
    /// Whether role, instruction, data and text are the same.
    pub same: bool,
    /// The differences of the instructions.
    pub instruction: Vec<TextHunk>,
    /// The fields of the data that differ.
    pub data: Vec<FieldDifference>,
    /// The differences of the texts.
    pub text: Vec<TextHunk>,
}

/// Lines of two texts that differ, with common lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextHunk {
    /// The number of its first line in the first text, from 1.
    pub a_line: usize,
    /// The number of its first line in the second text, from 1.
    pub b_line: usize,
    /// Its lines, each after ` `, `-` or `+`.
    pub lines: Vec<String>,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldDifference {
    /// Its place in the data, such as `plan.files[2]`; empty for the data as a whole.
    pub path: String,
    /// The first value; `None` if there is no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Value>,
    /// The second value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Value>,
}

impl StepDifference {
    /// Compares two steps.
    pub(crate) fn between(a: ComparedStep, b: ComparedStep) -> Self {
        let instruction = text_hunks(&a.instruction, &b.instruction);
        let mut data = Vec::new();
        fields("", Some(&a.output), Some(&b.output), &mut data);
        let text = text_hunks(&a.text, &b.text);
        let same_role = a.role == b.role;
        Self {
            same: same_role && instruction.is_empty() && data.is_empty() && text.is_empty(),
            a: Some(a),
            b: Some(b),
            instruction,
            data,
            text,
        }
    }

    /// Returns the difference to a step of the first thread that the second one lacks.
    pub(crate) fn only_a(step: ComparedStep) -> Self {
        Self::alone(Some(step), None)
    }

    /// Returns the difference to a step of the second thread that the first one lacks.
    pub(crate) fn only_b(step: ComparedStep) -> Self {
        Self::alone(None, Some(step))
    }

    fn alone(a: Option<ComparedStep>, b: Option<ComparedStep>) -> Self {
        Self {
            a,
            b,
            same: false,
            instruction: Vec::new(),
            data: Vec::new(),
            text: Vec::new(),
        }
    }
}

/// Returns the differences of two texts; none if they are the same.
#[must_use]
pub fn text_hunks(a: &str, b: &str) -> Vec<TextHunk> {
    let line = |line: &Line<'_>| match line {
        Line::Same(text) => format!(" {text}"),
        Line::Removed(text) => format!("-{text}"),
        Line::Added(text) => format!("+{text}"),
    };
    let hunks = hunks(a, b, CONTEXT).into_iter();
    hunks
        .map(|hunk| TextHunk {
            a_line: hunk.first,
            b_line: hunk.second,
            lines: hunk.lines.iter().map(line).collect(),
        })
        .collect()
}

/// Adds the places at which two values differ. Objects and lists are compared part by part.
fn fields(path: &str, a: Option<&Value>, b: Option<&Value>, found: &mut Vec<FieldDifference>) {
    match (a, b) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let of_other = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(of_other) {
                let inner = match path {
                    "" => key.clone(),
                    _ => format!("{path}.{key}"),
                };
                fields(&inner, one.get(key), other.get(key), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for at in 0..one.len().max(other.len()) {
                fields(&format!("{path}[{at}]"), one.get(at), other.get(at), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(FieldDifference {
            path: path.to_owned(),
            a: a.cloned(),
            b: b.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(output: Value, text: &str) -> ComparedStep {
        ComparedStep {
            step: CasRef::from_u64(1),
            number: 1,
            role: "writer".parse().unwrap(),
            agent: "a".to_owned(),
            duration_ms: Some(1),
            usage: None,
            instruction: "Go.".to_owned(),
            output,
            text: text.to_owned(),
        }
    }

    fn differing(a: Value, b: Value) -> Vec<(String, Option<Value>, Option<Value>)> {
        let data = StepDifference::between(step(a, ""), step(b, "")).data;
        data.into_iter()
            .map(|one| (one.path, one.a, one.b))
            .collect()
    }

    #[test]
    fn data_differs_at_the_fields_that_differ() {
        let a = json!({ "plan": { "files": ["x", "y"], "size": 1 }, "gone": null, "kept": 2 });
        let b = json!({ "plan": { "files": ["x", "z", "w"], "size": 1 }, "kept": 2, "new": {} });
        let expected = [
            (
                "plan.files[1]".to_owned(),
                Some(json!("y")),
                Some(json!("z")),
            ),
            ("plan.files[2]".to_owned(), None, Some(json!("w"))),
            ("gone".to_owned(), Some(json!(null)), None),
            ("new".to_owned(), None, Some(json!({}))),
        ];
        assert_eq!(differing(a, b), expected);
        assert_eq!(differing(json!("x"), json!([1])).len(), 1);
    }

    #[test]
    fn steps_of_the_same_content_are_the_same_whoever_did_them_and_for_how_much() {
        let cheaper = ComparedStep {
            step: CasRef::from_u64(2),
            agent: "b".to_owned(),
            duration_ms: None,
            ..step(json!({ "x": 1 }), "Done.")
        };
        let other_role = ComparedStep {
            role: "reviewer".parse().unwrap(),
            ..cheaper.clone()
        };
        let first = || step(json!({ "x": 1 }), "Done.");
        assert!(StepDifference::between(first(), cheaper).same);
        assert!(!StepDifference::between(first(), other_role).same);
        assert!(!StepDifference::only_a(first()).same);
    }

    #[test]
    fn texts_differ_in_lines() {
        let difference = StepDifference::between(step(json!(1), "a\nb"), step(json!(1), "a\nc"));
        assert_eq!(difference.text[0].lines, [" a", "-b", "+c"]);
        assert!(!difference.same);
    }
}
