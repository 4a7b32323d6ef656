//! What a resume changes: where the run goes on, and under which pipeline.

use std::sync::Arc;

use serde_json::Value;

use super::event::{Archived, Resume};
use super::key::StepKey;
use super::settle::Misfit;
use super::{Course, Entry, State};
use crate::{Pipeline, Step};

impl Course {
    /// Goes on where the run stopped, or elsewhere.
    pub(super) fn resume(&mut self, resume: Resume) -> Result<(), Misfit> {
        let is_archive_left = matches!(self.archived, Some(Archived::Failed(_)));
        if self.is_all_done() && !(is_archive_left && resume.from.is_none()) {
            return Err(self.misfit("_resume"));
        }
        self.archived = None;
        let from = match &resume.from {
            Some(key) => {
                let pipeline = resume.accepted.as_ref().unwrap_or(&self.pipeline);
                let found = self.place(key, pipeline);
                Some(found.ok_or_else(|| self.misfit(&format!("_resume from {key}")))?)
            }
            None => None,
        };
        self.on_error = resume.on_error.unwrap_or(self.on_error);
        if let Some(pipeline) = resume.accepted {
            self.accept(&pipeline);
        }
        match from {
            Some((loops, at)) => {
                self.close_loops(1 + loops);
                self.frame().at = at;
                self.state = State::AtStep(Entry::Usual);
            }
            None => self.redo(),
        }
        Ok(())
    }

    /// Returns how many loops stay open, and the number of the step in its list, if the run goes on at the step with this key:
    /// a step of the pipeline, or one of an open item.
    fn place(&self, key: &str, pipeline: &Pipeline) -> Option<(usize, usize)> {
        let key: StepKey = key.parse().ok()?;
        let open = self.open_items();
        if !open.starts_with(key.items()) {
            return None;
        }
        let steps = key
            .items()
            .iter()
            .try_fold(&pipeline.steps[..], |steps, (name, _)| {
                let each = steps.iter().find(|step| step.name == *name)?.body()?;
                Some(&each.steps[..])
            })?;
        let name = key.step_name()?;
        let at = steps.iter().position(|step| step.name == name)?;
        Some((key.depth(), at))
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
