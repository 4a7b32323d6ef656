//! A run of one step (`run-step`): the pipeline that has only this step.

use std::fmt;

use serde_json::Value;
use uwf_util::suggest;

use crate::{ForEach, Handlers, Items, Pipeline, Step, Tree, Work};

/// Whether a step that is run alone keeps its condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum WhenMode {
    Respected,
    Ignored,
}

/// Says why a step cannot be run alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnlyError {
    /// There is no such step. The second name is the nearest one.
    Unknown(String, Option<String>),
    /// A step of a loop needs an item.
    NoItem(String),
    /// A step of a loop within another one would need an item of each. The second name is the inner loop, which can be run alone.
    Nested(String, String),
    /// A step that is in no loop has no item.
    NoLoop(String),
}

impl fmt::Display for OnlyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name, _) => write!(f, "the pipeline has no step `{name}`"),
            Self::NoItem(name) => write!(f, "step `{name}` is in a loop, so it needs an item"),
            Self::Nested(name, _) => {
                write!(
                    f,
                    "step `{name}` is in a loop within a loop, and is not run alone"
                )
            }
            Self::NoLoop(name) => write!(f, "step `{name}` is no loop, so it takes no item"),
        }
    }
}

impl std::error::Error for OnlyError {}

/// Returns the pipeline that has only one step, without its handlers. `name` is a step of the pipeline, or `Loop.Inner`; a step of
/// the pipeline of that very name comes first. An item makes one turn of a loop.
///
/// # Errors
/// When there is no such step, or the item does not suit it.
pub fn only(
    pipeline: &Pipeline,
    name: &str,
    item: Option<&Value>,
    mode: WhenMode,
) -> Result<Pipeline, OnlyError> {
    let step = find(&pipeline.steps, name, item, mode)?;
    Ok(Pipeline {
        steps: vec![alone(step, mode)],
        ..pipeline.clone()
    })
}

/// Returns a step that leads nowhere.
fn alone(step: Step, mode: WhenMode) -> Step {
    let when = step.when.filter(|_| mode == WhenMode::Respected);
    Step {
        when,
        on: Handlers::default(),
        ..step
    }
}

/// Returns the step of a name, within the loops around it.
fn find(
    steps: &[Step],
    name: &str,
    item: Option<&Value>,
    mode: WhenMode,
) -> Result<Step, OnlyError> {
    if let Some(step) = steps.iter().find(|step| step.name == name) {
        return match (&step.work, item) {
            (_, None) => Ok(step.clone()),
            (Work::ForEach(each), Some(item)) => Ok(with_body(step, each.clone(), item)),
            (_, Some(_)) => Err(OnlyError::NoLoop(name.to_owned())),
        };
    }
    for step in steps {
        let inner = name.strip_prefix(step.name.as_str());
        let inner = inner.and_then(|rest| rest.strip_prefix('.'));
        let (Some(each), Some(inner)) = (step.body(), inner) else {
            continue;
        };
        if let Some(found) = each.steps.iter().find(|step| step.name == inner) {
            let item = item.ok_or_else(|| OnlyError::NoItem(name.to_owned()))?;
            // The item is not done by one of its steps, so its file stays where it is.
            let body = ForEach {
                steps: vec![alone(found.clone(), mode)],
                on_item_complete: None,
                ..each.clone()
            };
            return Ok(with_body(step, body, item));
        }
        if let Some(nested) = inner_loop(&each.steps, inner) {
            let nested = format!("{}.{nested}", step.name);
            return Err(OnlyError::Nested(name.to_owned(), nested));
        }
    }
    let near = near(steps, name);
    Err(OnlyError::Unknown(name.to_owned(), near))
}

/// Returns the loop among these steps that has the step of a name, at any depth.
fn inner_loop<'s>(steps: &'s [Step], name: &str) -> Option<&'s str> {
    let has = |step: &&Step| {
        let inner = name.strip_prefix(step.name.as_str());
        let inner = inner.and_then(|rest| rest.strip_prefix('.'));
        let (Some(each), Some(inner)) = (step.body(), inner) else {
            return false;
        };
        each.steps.iter().any(|step| step.name == inner) || inner_loop(&each.steps, inner).is_some()
    };
    steps.iter().find(has).map(|step| step.name.as_str())
}

/// Returns the step that a wrong name probably means: one of a loop of this very name, else the nearest of all.
fn near(steps: &[Step], name: &str) -> Option<String> {
    let within = |step: &Step| -> Vec<(String, String)> {
        let body = step.body().map_or(&[][..], |body| &body.steps);
        let inner = body.iter().map(|inner| inner.name.clone());
        inner
            .map(|inner| (format!("{}.{inner}", step.name), inner))
            .collect()
    };
    let inner: Vec<(String, String)> = steps.iter().flat_map(within).collect();
    if let Some((full, _)) = inner.iter().find(|(_, inner)| inner == name) {
        return Some(full.clone());
    }
    let all = steps.iter().map(|step| step.name.as_str());
    let all = all.chain(inner.iter().map(|(full, _)| full.as_str()));
    suggest::nearest(name, all).map(str::to_owned)
}

/// Returns a loop with this body and one item, in which nothing is a variable.
fn with_body(step: &Step, body: ForEach, item: &Value) -> Step {
    let items = Items::List(vec![Tree::Plain(item.clone())]);
    Step {
        work: Work::ForEach(ForEach { items, ..body }),
        ..step.clone()
    }
}
