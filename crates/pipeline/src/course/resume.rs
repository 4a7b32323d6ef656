//! What a resume changes: where the run goes on, and under which pipeline.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::event::{Archived, Resume};
use super::settle::Misfit;
use super::{Course, Entry, State};
use crate::result::StepStatus;
use crate::{Items, Pipeline, Program, Step, Work};

/// Says why a run cannot go on under another pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptError {
    /// The completed steps that the other pipeline does not have.
    pub missing_steps: Vec<String>,
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.missing_steps.join("`, `");
        write!(
            f,
            "the workflow no longer has `{steps}`, which the run has completed"
        )
    }
}

impl std::error::Error for AcceptError {}

/// Returns the first completed step that another pipeline does differently: the run must go on there. `None`: it goes on where
/// it stopped.
///
/// # Errors
/// When the other pipeline lacks a completed step.
pub fn restart(course: &Course, accepted: &Pipeline) -> Result<Option<String>, AcceptError> {
    let results = &course.frames[0].results;
    let is_completed = |step: &&Step| {
        let recorded = results.get(&step.name);
        recorded.is_some_and(|recorded| recorded.result.status == StepStatus::Completed)
    };
    let completed: Vec<&Step> = course.pipeline.steps.iter().filter(is_completed).collect();
    let find = |name: &str| accepted.steps.iter().find(|step| step.name == name);
    let missing = completed.iter().filter(|step| find(&step.name).is_none());
    let missing_steps: Vec<String> = missing.map(|step| step.name.clone()).collect();
    if !missing_steps.is_empty() {
        return Err(AcceptError { missing_steps });
    }
    let is_changed = |step: &&Step| {
        let old = completed.iter().find(|old| old.name == step.name);
        old.is_some_and(|old| digest(&course.pipeline, old) != digest(accepted, step))
    };
    let changed = accepted.steps.iter().find(is_changed);
    Ok(changed.map(|step| step.name.clone()))
}

/// Returns the steps that only another pipeline has and that come before the place where the run goes on: they are not done.
/// `from` is that place, if it is not where the run stopped.
#[must_use]
pub fn passed_over<'p>(
    course: &Course,
    accepted: &'p Pipeline,
    from: Option<&str>,
) -> Vec<&'p str> {
    let (old, at) = (&course.pipeline.steps, course.frames[0].at);
    let here = from.unwrap_or(&old[at].name);
    let until = accepted.steps.iter().position(|step| step.name == here);
    let before = accepted.steps.iter().take(until.unwrap_or(at));
    let is_new = |step: &&Step| !old.iter().any(|old| old.name == step.name);
    before
        .filter(is_new)
        .map(|step| step.name.as_str())
        .collect()
}

/// A loop that is under way, and that keeps its items although another pipeline has others for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptItems {
    /// The key of the loop.
    pub key: String,
    /// The step of the pipeline that the loop is or is within.
    pub step: String,
}

/// Returns the open loops for which another pipeline has other items. They keep theirs if the run goes on where it stopped.
#[must_use]
pub fn kept_items(course: &Course, accepted: &Pipeline) -> Vec<KeptItems> {
    let (mut old, mut new) = (&course.pipeline.steps[..], &accepted.steps[..]);
    let mut kept = Vec::new();
    for (frame, open) in course.frames.iter().zip(course.open_loops()) {
        let step = &old[frame.at];
        let same = new.iter().find(|new| new.name == step.name);
        let (Some(before), Some(now)) = (step.body(), same.and_then(Step::body)) else {
            break;
        };
        if before.items != now.items {
            kept.push(KeptItems {
                key: open.key.to_string(),
                step: course.pipeline.steps[course.frames[0].at].name.clone(),
            });
        }
        (old, new) = (&before.steps, &now.steps);
    }
    kept
}

/// Returns what makes a step the step that it is: the words, the provider, the parameters, the capture, the environment, the
/// items and steps of a loop, and the workflow with its task.
fn digest(pipeline: &Pipeline, step: &Step) -> Value {
    match &step.work {
        Work::Run(run) => {
            let provider = match &run.program {
                Program::Provider { name, .. } => pipeline.providers.get(name),
                Program::Command(_) | Program::CommandOverride { .. } => None,
            };
            let files = [&run.input_file, &run.output_file];
            json!([run.program, provider, run.capture, run.env, files])
        }
        Work::WaitFor(wait) => json!(wait),
        Work::Workflow(call) => json!(call),
        Work::ForEach(each) => {
            let items: &Items = &each.items;
            let steps = each.steps.iter();
            let steps: Vec<Value> = steps.map(|step| digest(pipeline, step)).collect();
            json!([items, steps])
        }
    }
}

impl Course {
    /// Goes on where the run stopped, or elsewhere.
    pub(super) fn resume(&mut self, resume: Resume) -> Result<(), Misfit> {
        let is_archive_left = matches!(self.archived, Some(Archived::Failed(_)));
        if self.is_all_done() && !(is_archive_left && resume.from.is_none()) {
            return Err(self.misfit("_resume"));
        }
        self.archived = None;
        let from = match &resume.from {
            Some(name) => {
                let pipeline = resume.accepted.as_ref().unwrap_or(&self.pipeline);
                let found = pipeline.steps.iter().position(|step| step.name == *name);
                Some(found.ok_or_else(|| self.misfit(&format!("_resume from {name}")))?)
            }
            None => None,
        };
        self.on_error = resume.on_error.unwrap_or(self.on_error);
        if let Some(pipeline) = resume.accepted {
            self.accept(&pipeline);
        }
        match from {
            Some(at) => {
                self.close_loops(1);
                self.frame().at = at;
                self.state = State::AtStep(Entry::Usual);
            }
            None => self.redo(),
        }
        Ok(())
    }

    /// Does the step again that stopped the run. What a guard stopped is judged again.
    fn redo(&mut self) {
        let State::Stopped(stop) = &self.state else {
            return;
        };
        let guard = stop.result.error.as_ref();
        let guard = guard.and_then(|error| error.context.get("guard"));
        let (is_guarded, by_transitions) = (
            stop.result.is_guarded(),
            guard.and_then(Value::as_str) == Some("max_transitions"),
        );
        let entry = if is_guarded {
            Entry::Usual
        } else {
            Entry::Redone
        };
        self.state = State::AtStep(entry);
        if is_guarded && by_transitions {
            self.count_transition();
        }
    }

    /// Goes on under another pipeline. Positions and counts follow the names of steps; a loop that is gone is left.
    fn accept(&mut self, pipeline: &Arc<Pipeline>) {
        let old = std::mem::replace(&mut self.pipeline, Arc::clone(pipeline));
        let (mut old_steps, mut new_steps) = (&old.steps[..], &pipeline.steps[..]);
        for depth in 0..self.frames.len() {
            let find = |steps: &[Step], name: &str| steps.iter().position(|step| step.name == name);
            let frame = &mut self.frames[depth];
            let old_step = &old_steps[frame.at];
            let same = find(new_steps, &old_step.name);
            let at = same.unwrap_or(frame.at.min(new_steps.len() - 1));
            frame.reorder(at, old_steps, new_steps);
            let bodies = (old_step.body(), new_steps[at].body());
            match (same, bodies) {
                (Some(_), (Some(old), Some(new))) => {
                    (old_steps, new_steps) = (&old.steps, &new.steps);
                }
                _ => {
                    self.close_loops(depth + 1);
                    break;
                }
            }
        }
    }

    /// Leaves all loops but the outermost frames. What they were about to do is not done.
    fn close_loops(&mut self, frames: usize) {
        if self.frames.len() <= frames {
            return;
        }
        while self.frames.len() > frames {
            self.leave_loop();
        }
        self.state = State::AtStep(Entry::Usual);
    }
}
