//! Checks of conditions: whether they can be parsed, and whether what they name is in the workflow.

use serde_json::Value;
use uwf_protocol::answer::{REASON_FIELD, STATUS_FIELD};
use uwf_protocol::ids::RoleName;
use uwf_protocol::workflow::{Edges, Problem, Workflow};
use uwf_schema::{Presence, Shape};
use uwf_util::suggest;

use super::{quoted, with_suggestion};
use crate::condition::{self, Mention};

/// How deep lists in lists are looked through: an expression looks through all.
const MOST_LISTS: usize = 4;

/// What the start of every thread has.
const START_NAMES: [&str; 2] = ["prompt", "workflow"];

/// What every step has.
const STEP_NAMES: [&str; 4] = ["role", "output", "detail", "agent"];

/// Returns the problems of all conditions, and of lists that may come to their end.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, condition) in &workflow.conditions {
        let path = ["conditions", name, "expression"];
        match condition::mentions(&condition.expression) {
            Err(error) => problems.push(Problem::new(&path, error.to_string())),
            Ok(mentions) => {
                let wrong = mentions.iter().filter_map(|one| wrong(workflow, one));
                problems.extend(wrong.map(|message| Problem::new(&path, message)));
            }
        }
    }
    problems.extend(open_ended(workflow));
    problems
}

/// Says what is wrong with what a condition names.
fn wrong(workflow: &Workflow<Value>, mention: &Mention) -> Option<String> {
    match mention {
        Mention::Unknown(word) => Some(unknown_name(word)),
        Mention::UnknownOfStart(word) => Some(undefined(word, "the start", &START_NAMES)),
        Mention::UnknownOfStep(word) => Some(undefined(word, "a step", &STEP_NAMES)),
        Mention::Impure(name) => Some(format!(
            "`${name}` is not available: a condition depends on the thread alone, so that the same thread always goes the same way"
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
            let message = format!("the condition looks for `{name}`, which is not a role");
            let known = workflow.roles.keys().map(RoleName::as_str);
            Some(with_suggestion(message, name, known))
        }
        Mention::Answer { role, keys } => unanswered(workflow, role.as_deref(), keys),
    }
}

/// Says that a condition looks for something that a part of a thread never has.
fn undefined(word: &str, part: &str, known: &[&str]) -> String {
    let names = quoted(known.iter().copied());
    let message = format!("`{word}` is always undefined: {part} has {names}");
    with_suggestion(message, word, known.iter().copied())
}

/// Says that a condition looks for something that is in no thread.
fn unknown_name(word: &str) -> String {
    let known = quoted(condition::ROOT_NAMES);
    let message = format!(
        "`{word}` is always undefined: a condition sees {known}, and answers by `$first(role)` and `$last(role)`"
    );
    with_suggestion(message, word, condition::ROOT_NAMES)
}

/// Says that a condition looks for something that is in no answer of the role, or of any role.
fn unanswered(workflow: &Workflow<Value>, role: Option<&str>, keys: &[String]) -> Option<String> {
    let (last, before) = keys.split_last()?;
    // Every role may suspend its thread, whatever its schema says.
    if before.is_empty() && matches!(last.as_str(), STATUS_FIELD | REASON_FIELD) {
        return None;
    }
    let mut shapes = Vec::new();
    for (name, found) in &workflow.roles {
        if role.is_none_or(|role| role == name.as_str()) {
            shapes.push(before.iter().fold(Shape::of(&found.schema), |shape, key| {
                looked_through(shape).member(key)
            }));
        }
    }
    let shapes: Vec<Shape<'_>> = shapes.into_iter().map(looked_through).collect();
    let is_there = |shape: &Shape<'_>| shape.presence(last) != Presence::Never;
    // A part that is missing itself has no parts, and that was said.
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

/// Returns the shape of the items of a list, as expressions see it: their names look into lists.
fn looked_through(shape: Shape<'_>) -> Shape<'_> {
    (0..MOST_LISTS).fold(shape, |shape, _| {
        shape.inside().unwrap_or_else(Shape::nothing)
    })
}

/// Warns of lists in which every edge has a condition.
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
