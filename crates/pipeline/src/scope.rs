//! What variables stand for at one point of a run.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::load::ITEM;
use crate::result::{Captured, StepResult};
use crate::value::part;
use crate::{Reference, RunField, Step, StepField};

/// The facts about a run that variables name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// Its id.
    pub id: String,
    /// When it started, as `YYYYMMDDTHHMMSSZ`.
    pub timestamp_utc: String,
    /// Its folder, relative to the workspace.
    pub root: String,
}

/// The newest result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The result.
    pub result: StepResult,
    /// How long the visit took, in milliseconds.
    pub duration_ms: u64,
}

/// The newest results of the steps of one list, by their names.
pub type Results = HashMap<String, Recorded>;

/// Everything that variables can name.
#[derive(Debug, Clone)]
pub struct Scope<'a> {
    /// The run.
    pub run: &'a RunFacts,
    /// The context.
    pub context: &'a Map<String, Value>,
    /// The lists of steps around the point, the innermost first.
    pub levels: Vec<Level<'a>>,
}

/// One list of steps with its results.
#[derive(Debug, Clone, Copy)]
pub struct Level<'a> {
    /// The steps.
    pub steps: &'a [Step],
    /// Their results so far.
    pub results: &'a Results,
    /// The item, if this is the body of a loop.
    pub item: Option<Item<'a>>,
}

/// The item that a body is run for.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// What the loop calls it.
    pub alias: &'a str,
    /// The item.
    pub value: &'a Value,
    /// Its number, from 0.
    pub index: usize,
    /// How many items there are.
    pub total: usize,
}

impl<'a> Scope<'a> {
    /// Returns the value of a variable. Prompts and parameters are not known here.
    #[must_use]
    pub fn value(&self, reference: &Reference) -> Option<Cow<'a, Value>> {
        let counted = |number: usize| Some(Cow::Owned(number.into()));
        match reference {
            Reference::Prompt => None,
            Reference::Bare(name) => self.item(name).map(Cow::Borrowed),
            Reference::Run(field) => Some(Cow::Owned(self.run_field(*field).into())),
            Reference::LoopIndex(parents) => counted(self.loops().nth(*parents)?.index),
            Reference::LoopTotal(parents) => counted(self.loops().nth(*parents)?.total),
            Reference::Step { step, field, path } => self.recorded(step)?.value(*field, path),
            Reference::Context(path) => {
                let (key, path) = path.split_first()?;
                part(self.context.get(key)?, path).map(Cow::Borrowed)
            }
        }
    }

    /// Returns the newest result of a step, of the innermost list that has a step of that name.
    pub(crate) fn recorded(&self, name: &str) -> Option<&'a Recorded> {
        let has = |level: &&Level<'_>| level.steps.iter().any(|step| step.name == name);
        self.levels.iter().find(has)?.results.get(name)
    }

    fn run_field(&self, field: RunField) -> &str {
        match field {
            RunField::TimestampUtc => &self.run.timestamp_utc,
            RunField::Id => &self.run.id,
            RunField::Root => &self.run.root,
        }
    }

    fn loops(&self) -> impl Iterator<Item = Item<'a>> {
        self.levels.iter().filter_map(|level| level.item)
    }

    /// Returns the item that a name stands for: an alias hides those of outer loops, and `item` is the innermost one.
    fn item(&self, name: &str) -> Option<&'a Value> {
        let found = self.loops().find(|item| item.alias == name);
        let found = found.or_else(|| self.loops().next().filter(|_| name == ITEM));
        found.map(|item| item.value)
    }
}

impl Recorded {
    fn value(&self, field: StepField, path: &[String]) -> Option<Cow<'_, Value>> {
        let result = &self.result;
        let value: Value = match field {
            StepField::ExitCode => result.exit_code.into(),
            StepField::Status => result.status.as_str().into(),
            StepField::Duration => self.duration_ms.into(),
            StepField::Json => {
                let Captured::Json(json) = result.captured.as_ref()? else {
                    return None;
                };
                return part(json, path).map(Cow::Borrowed);
            }
            StepField::Output | StepField::Lines | StepField::Truncated => {
                captured(result.captured.as_ref()?, field)?
            }
            StepField::Files => result.waited.as_ref()?.files.clone().into(),
            StepField::TimedOut => result.waited.as_ref()?.timed_out.into(),
            StepField::WaitDuration => result.waited.as_ref()?.wait_duration_ms.into(),
            StepField::PollCount => result.waited.as_ref()?.poll_count.into(),
            StepField::Count => result.looped?.count.into(),
            StepField::Failed => result.looped?.failed.into(),
        };
        Some(Cow::Owned(value))
    }
}

fn captured(captured: &Captured, field: StepField) -> Option<Value> {
    match (captured, field) {
        (Captured::Text { output, .. }, StepField::Output) => Some(output.clone().into()),
        (Captured::Lines { lines, .. }, StepField::Lines) => Some(lines.clone().into()),
        (Captured::Text { truncated, .. }, StepField::Truncated)
        | (Captured::Lines { truncated, .. }, StepField::Truncated) => Some((*truncated).into()),
        (Captured::Json(_), StepField::Truncated) => Some(false.into()),
        _ => None,
    }
}
