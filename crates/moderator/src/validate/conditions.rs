//! Checks that conditions can be parsed, and that the names in them exist.

use serde_json::Value;
use uwf_protocol::answer::{REASON_FIELD, STATUS_FIELD};
use uwf_protocol::ids::RoleName;
use uwf_protocol::workflow::{Edges, Problem, Workflow};
use uwf_schema::{Presence, Shape};
use uwf_util::suggest;

use super::{quoted, with_suggestion};
use crate::condition::{self, Mention};

/// How many nested lists are looked through. An expression looks through all of them.
const MOST_LISTS: usize = 4;

/// The members of the start of a thread.
const START_NAMES: [&str; 2] = ["prompt", "workflow"];

/// The members of a step.
const STEP_NAMES: [&str; 4] = ["role", "output", "detail", "agent"];

/// Returns the problems of all conditions, and warnings about lists whose last edge has one.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, condition) in &workflow.conditions {
        let path = ["conditions", name, "expression"];
        match condition::mentions(&condition.expression) {
            Err(error) => problems.push(Problem::new(&path, error.to_string())),
            Ok(mentions) => {
                let wrong = mentions
                    .iter()
                    .filter_map(|one| wrong(workflow, one, &condition::ROOT_NAMES));
                problems.extend(wrong.map(|message| Problem::new(&path, message)));
            }
        }
    }
    problems.extend(open_ended(workflow));
    problems
}

/// Returns the problem of a name in an expression that sees these names at its top level, if there is one.
pub(super) fn wrong(
    workflow: &Workflow<Value>,
    mention: &Mention,
    seen: &[&str],
) -> Option<String> {
    match mention {
        Mention::Unknown(word) if seen.contains(&word.as_str()) => None,
        Mention::Unknown(word) => Some(unknown_name(word, seen)),
        Mention::UnknownOfStart(word) => Some(undefined(word, "the start", &START_NAMES)),
        Mention::UnknownOfStep(word) => Some(undefined(word, "a step", &STEP_NAMES)),
        Mention::Impure(name) => Some(format!(
            "`${name}` is not available: an expression depends on the thread alone, so that the same thread always goes the same way"
        )),
        Mention::UnknownFunction(name) => {
            let message = format!("there is no function `${name}`");
            let near = suggest::nearest(name, condition::FUNCTIONS);
            Some(match near {
                Some(near) => format!("{message}; did you mean `${near}`?"),
                None => message,
            })
        }
        Mention::BareFunction(name) => Some(format!(
            "`{name}(…)` calls no function: did you mean `${name}(…)`?"
        )),
        Mention::Role(name) => {
            let mut known = workflow.roles.keys().map(RoleName::as_str);
            if known.any(|known| known == name) {
                return None;
            }
            let message = format!("the expression looks for `{name}`, which is not a role");
            let known = workflow.roles.keys().map(RoleName::as_str);
            Some(with_suggestion(message, name, known))
        }
        Mention::Answer { role, keys } => missing_in_answers(workflow, role.as_deref(), keys),
    }
}

/// Returns the message for a member that a part of a thread never has.
fn undefined(word: &str, part: &str, known: &[&str]) -> String {
    let names = quoted(known.iter().copied());
    let message = format!("`{word}` is always undefined: {part} has {names}");
    with_suggestion(message, word, known.iter().copied())
}

/// Returns the message for a name that no thread has at its top level.
fn unknown_name(word: &str, seen: &[&str]) -> String {
    let known = quoted(seen.iter().copied());
    let message = format!(
        "`{word}` is always undefined: the expression sees {known}, and answers by `$first(role)` and `$last(role)`"
    );
    with_suggestion(message, word, seen.iter().copied())
}

/// Returns the message for a part that is in no answer of the role, or of any role; `None` if it may be in one.
fn missing_in_answers(
    workflow: &Workflow<Value>,
    role: Option<&str>,
    keys: &[String],
) -> Option<String> {
    let (last, before) = keys.split_last()?;
    // Every role may suspend its thread, whatever its schema says.
    if before.is_empty() && matches!(last.as_str(), STATUS_FIELD | REASON_FIELD) {
        return None;
    }
    let mut shapes = Vec::new();
    for (name, found) in &workflow.roles {
        if role.is_none_or(|role| role == name.as_str()) {
            shapes.push(before.iter().fold(Shape::of(&found.schema), |shape, key| {
                through_lists(shape).member(key)
            }));
        }
    }
    let shapes: Vec<Shape<'_>> = shapes.into_iter().map(through_lists).collect();
    let is_there = |shape: &Shape<'_>| shape.presence(last) != Presence::Never;
    // If the part around it is missing in all answers, that was reported already.
    let is_known = |shape: &Shape<'_>| shape.forms() > 0;
    if shapes.iter().any(is_there) || !shapes.iter().any(is_known) {
        return None;
    }
    let whose = match role {
        Some(role) => format!("the answer of `{role}`"),
        None => "the answer of any role".to_owned(),
    };
    let path = keys.join(".");
    let message = format!("`{path}` is always undefined: it is not in {whose}");
    let known = shapes.iter().flat_map(Shape::names);
    Some(with_suggestion(message, last, known))
}

/// Returns the shape of a value, or of the items if it is a list: a name in an expression looks into lists.
fn through_lists(shape: Shape<'_>) -> Shape<'_> {
    (0..MOST_LISTS).fold(shape, |shape, _| {
        shape.inside().unwrap_or_else(Shape::nothing)
    })
}

/// Warns about lists in which every edge has a condition.
fn open_ended(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for (node, edges) in &workflow.graph {
        let Edges::InOrder(list) = edges else {
            continue;
        };
        if list.is_empty() || list.iter().any(|edge| edge.condition.is_none()) {
            continue;
        }
        let message = format!(
            "every edge of `{node}` has a condition: where none holds, the thread is blocked; let the last edge have none"
        );
        warnings.push(Problem::warning(&["graph", node.as_str()], message));
    }
    warnings
}
