//! What differs between two pipelines, for a person who resumes a run after the file was edited.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::{Pipeline, Program, Run, Step, Work};

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about: a step by its key with empty brackets, or a key of the file.
    pub about: About,
    /// How it differs.
    pub change: Change,
}

/// What a difference is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// A key of the file, such as `max_transitions`.
    Key(String),
    /// A step.
    Step(String),
    /// The order of the steps of a list: that of the loop with this key, or that of the file.
    Order(Option<String>),
}

/// How something differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Only the new pipeline has it.
    Added,
    /// Only the old pipeline has it.
    Removed,
    /// It is different. For a step, these keys are.
    Changed(Vec<String>),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            About::Key(key) => write!(f, "`{key}`")?,
            About::Step(key) => write!(f, "step `{key}`")?,
            About::Order(Some(key)) => write!(f, "the order of the steps of `{key}`")?,
            About::Order(None) => f.write_str("the order of the steps")?,
        }
        match &self.change {
            Change::Added => f.write_str(" is new"),
            Change::Removed => f.write_str(" is gone"),
            Change::Changed(keys) if keys.is_empty() => f.write_str(" has changed"),
            Change::Changed(keys) => write!(f, " has changed: `{}`", keys.join("`, `")),
        }
    }
}

/// Returns what differs between two pipelines. Names, descriptions and labels do not count.
#[must_use]
pub fn differences(old: &Pipeline, new: &Pipeline) -> Vec<Difference> {
    let mut found = Vec::new();
    let (old_keys, new_keys) = (keys_of(old), keys_of(new));
    for key in changed_keys(&old_keys, &new_keys) {
        found.push(Difference {
            about: About::Key(key),
            change: Change::Changed(Vec::new()),
        });
    }
    steps(&old.steps, &new.steps, None, &mut found);
    found
}

/// Returns the keys of the file that have a meaning of their own.
fn keys_of(pipeline: &Pipeline) -> Map<String, Value> {
    let Value::Object(mut keys) = json!(pipeline) else {
        return Map::new();
    };
    for key in ["name", "description", "steps"] {
        keys.shift_remove(key);
    }
    keys
}

/// Compares two lists of steps by their names. `within` is the key of their loop.
fn steps(old: &[Step], new: &[Step], within: Option<&str>, found: &mut Vec<Difference>) {
    let key = |step: &Step| match within {
        Some(within) => format!("{within}[].{}", step.name),
        None => step.name.clone(),
    };
    let has = |steps: &[Step], name: &str| steps.iter().any(|step| step.name == name);
    let mut add = |about: About, change: Change| found.push(Difference { about, change });
    for step in old.iter().filter(|step| !has(new, &step.name)) {
        add(About::Step(key(step)), Change::Removed);
    }
    for step in new.iter().filter(|step| !has(old, &step.name)) {
        add(About::Step(key(step)), Change::Added);
    }
    let common = |steps: &[Step], others: &[Step]| {
        let common = steps.iter().filter(|step| has(others, &step.name));
        common.map(|step| step.name.clone()).collect::<Vec<_>>()
    };
    if common(old, new) != common(new, old) {
        let about = About::Order(within.map(str::to_owned));
        add(about, Change::Changed(Vec::new()));
    }
    for new in new {
        let Some(old) = old.iter().find(|old| old.name == new.name) else {
            continue;
        };
        let key = key(new);
        let changed = changed_keys(&parts_of(old), &parts_of(new));
        if !changed.is_empty() {
            found.push(Difference {
                about: About::Step(key.clone()),
                change: Change::Changed(changed),
            });
        }
        if let (Some(old), Some(new)) = (old.body(), new.body()) {
            steps(&old.steps, &new.steps, Some(&key), found);
        }
    }
}

/// Returns the parts of a step by the keys of the file, without the steps of a body.
fn parts_of(step: &Step) -> Map<String, Value> {
    let Value::Object(mut parts) = json!(step) else {
        return Map::new();
    };
    for key in ["name", "agent", "work"] {
        parts.shift_remove(key);
    }
    let of_work = match &step.work {
        Work::Run(run) => of_run(run),
        Work::WaitFor(wait) => json!({"wait_for": wait}),
        Work::Workflow(call) => json!({"workflow": call}),
        Work::ForEach(each) => {
            json!({"items": each.items, "as": each.alias, "on_item_complete": each.on_item_complete})
        }
    };
    if let Value::Object(of_work) = of_work {
        parts.extend(of_work);
    }
    parts
}

/// Returns the parts of a step that runs a program. What says which program has the keys of the file, too.
fn of_run(run: &Run) -> Value {
    let Value::Object(mut parts) = json!(run) else {
        return Value::Null;
    };
    parts.shift_remove("program");
    let (key, value, params) = match &run.program {
        Program::Command(argv) => ("command", json!(argv), None),
        Program::Provider { name, params } => ("provider", json!(name), Some(params)),
        Program::CommandOverride {
            argv,
            provider,
            params,
        } => {
            parts.extend(
                provider
                    .as_ref()
                    .map(|name| ("provider".to_owned(), json!(name))),
            );
            ("command_override", json!(argv), Some(params))
        }
    };
    parts.insert(key.to_owned(), value);
    let params = params.map(|params| json!(params));
    let params = params.filter(|params| *params != json!({}));
    parts.extend(params.map(|params| ("provider_params".to_owned(), params)));
    Value::Object(parts)
}

/// Returns the keys whose values differ, or that only one side has.
#[must_use]
pub fn changed_keys(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<String> {
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let differs = |key: &&String| old.get(*key) != new.get(*key);
    new.keys().filter(differs).chain(gone).cloned().collect()
}
