//! The text of `state.json`: a picture of a run for people and scripts.
//!
//! Each record is kept as one piece of text, so that a visit changes one piece. [`State::write`] puts the pieces together. Where the
//! file would become large, output gives way to references: first that of finished items, then that of steps of the pipeline.

mod items;
mod loops;
mod record;
mod shrink;
mod tree;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uwf_util::mask::Masks;

pub use record::{AttemptFacts, RecordFacts};

use loops::Loops;
use record::{Record, running};
use shrink::Shrink;
use tree::Members;

use crate::StepError;
use crate::course::{Course, StepKey, Visit};

/// The version of the form of the file.
pub const SCHEMA_VERSION: &str = "1.1.1";

/// What never changes in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    /// The id of the run.
    pub run_id: String,
    /// The id of its thread.
    pub thread: String,
    /// The workflow file.
    pub workflow_file: String,
    /// The checksum of the workflow file.
    pub workflow_checksum: String,
    /// When the run was made.
    pub started_at: String,
    /// The context.
    pub context: Map<String, Value>,
}

/// What changes with every writing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// The newest node of the chain that the file shows.
    pub head: Option<String>,
    /// When the file is written.
    pub updated_at: String,
    /// How the run is.
    pub status: RunStatus,
    /// The running step.
    pub current_step: Option<CurrentStep>,
    /// Why the run has failed.
    pub error: Option<StepError>,
    /// The processes that worked on the run.
    pub executor_sessions: Vec<ExecutorSession>,
}

/// How a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are those in files, and say it")]
pub enum RunStatus {
    Running,
    Completed,
    Failed,
    Interrupted,
}

/// The running step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those in files, and say it")]
pub struct CurrentStep {
    pub key: String,
    pub attempt: u64,
    pub visit: u64,
    pub pid: Option<u32>,
    pub started_at: String,
}

/// A process that worked on a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those in files, and say it")]
pub struct ExecutorSession {
    pub pid: u32,
    pub entry: String,
    pub started_at: String,
    pub ended_at: Option<String>,
}

/// The picture of a run, in pieces.
#[derive(Debug)]
pub struct State<'m> {
    masks: &'m Masks,
    /// The members that no step changes.
    run: Map<String, Value>,
    steps: Members,
    loops: Loops,
    shrink: Shrink,
}

impl<'m> State<'m> {
    /// Returns the picture of a run in which nothing has happened.
    #[must_use]
    pub fn new(run: &RunRecord, masks: &'m Masks) -> Self {
        let mut members = members_of(run);
        if let Some(context) = members.get_mut("context") {
            *context = masks.json(context);
        }
        Self {
            masks,
            run: members,
            steps: Members::default(),
            loops: Loops::default(),
            shrink: Shrink::default(),
        }
    }

    /// Shows that the run goes on under a workflow file with this checksum.
    pub fn accepted(&mut self, checksum: &str) {
        self.run
            .insert("workflow_checksum".to_owned(), checksum.into());
    }

    /// Shows that a step runs. The course knows that it was started.
    pub fn started(&mut self, key: &StepKey, facts: &AttemptFacts, course: &Course) {
        self.follow(course);
        self.put(key, Record::of(&running(facts), None));
    }

    /// Shows what came of a step. The visit was added to the course.
    pub fn settled(&mut self, visit: &Visit, facts: &RecordFacts, course: &Course) {
        let key = &visit.key;
        let open = self.loops.is_open(&key.to_string());
        self.loops.settled(visit);
        self.follow(course);
        match key.step_name() {
            None => {
                let lifecycle = json!(visit.result.lifecycle);
                self.put(&key.clone().step("lifecycle"), Record::of_value(&lifecycle));
            }
            // The results of a loop are those of its items.
            Some(_) if open => {}
            Some(name) if visit.result.looped.is_some() => {
                self.steps.item(key).clear_items(name);
            }
            Some(_) => {
                let reference = facts.output_ref.as_deref();
                let record = Record::of(&record::settled(visit, facts), reference);
                self.put(key, record);
            }
        }
        self.shrink.keep_small(&mut self.steps, course);
    }

    /// Follows the loops of the course: those that were entered get a new list of items.
    fn follow(&mut self, course: &Course) {
        for entered in self.loops.follow(course, self.masks) {
            if let Some(name) = entered.step_name() {
                let removed = self.steps.item(&entered).clear_items(name);
                self.shrink.forget(removed);
            }
        }
    }

    fn put(&mut self, key: &StepKey, record: Record) {
        let Some(name) = key.step_name() else {
            return;
        };
        self.shrink.add(key, &record);
        let replaced = self.steps.item(key).put(name, record);
        self.shrink.forget(replaced);
    }

    /// Writes the whole file in parts.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write<E>(
        &self,
        moment: &Moment,
        course: &Course,
        out: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut text = format!("{{\"schema_version\":\"{SCHEMA_VERSION}\"");
        let mut moment = members_of(moment);
        let (error, sessions) = (
            moment.shift_remove("error"),
            moment.shift_remove("executor_sessions"),
        );
        for (name, value) in self.run.iter().chain(&moment) {
            add(&mut text, name, &value.to_string());
        }
        let visits = course.step_visits().into_iter();
        let visits: Map<String, Value> = visits
            .map(|(name, visits)| (name.to_owned(), visits.into()))
            .collect();
        add(
            &mut text,
            "transition_count",
            &course.transition_count().to_string(),
        );
        add(&mut text, "step_visits", &json!(visits).to_string());
        add(&mut text, "steps", "");
        out(&text)?;
        self.steps.stream(out)?;
        let mut text = String::new();
        add(&mut text, "for_each", &self.loops.text());
        add(&mut text, "error", &json!(error).to_string());
        add(&mut text, "executor_sessions", &json!(sessions).to_string());
        text.push_str("}\n");
        out(&text)
    }
}

/// Appends a member to an object that has one already.
fn add(text: &mut String, name: &str, value: &str) {
    text.push_str(",\n\"");
    text.push_str(name);
    text.push_str("\":");
    text.push_str(value);
}

/// Returns the members of data that is an object.
fn members_of<T: Serialize>(data: &T) -> Map<String, Value> {
    match serde_json::to_value(data) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}
