//! What another pipeline means for a run that is to go on under it.
//!
//! The rules are those of the list of the pipeline, and they hold in the body of each open loop, too: what is completed may not
//! be gone, and the run goes on at the first completed step that is another one now. Finished items stay as they are.

use std::fmt;

use serde_json::{Value, json};

use super::frame::Frame;
use super::key::StepKey;
use super::{Course, State};
use crate::result::StepStatus;
use crate::{Items, Pipeline, Program, Step, Work};

/// Says why a run cannot go on under another pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptError {
    /// These steps of the pipeline are completed, and the other pipeline does not have them.
    MissingSteps(Vec<String>),
    /// These steps of a loop that is under way are completed for an item, and the other pipeline does not have them. They are
    /// written as `Loop.Step`.
    MissingInLoop(Vec<String>),
    /// This loop is under way, and the other pipeline does not have it.
    MissingLoop(String),
    /// This loop is under way, and is no loop in the other pipeline.
    NoLoop(String),
    /// The run stopped at this step. The other pipeline does not have it, and only what is completed is in its place.
    MissingPlace(String),
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingSteps(steps) | Self::MissingInLoop(steps) => {
                let steps = steps.join("`, `");
                write!(
                    f,
                    "the workflow no longer has `{steps}`, which the run has completed"
                )
            }
            Self::MissingLoop(key) => {
                write!(
                    f,
                    "the workflow no longer has loop `{key}`, whose items are under way"
                )
            }
            Self::NoLoop(key) => {
                write!(
                    f,
                    "step `{key}` is no longer a loop, and its items are under way"
                )
            }
            Self::MissingPlace(key) => write!(
                f,
                "the workflow no longer has `{key}`, where the run stopped, and no other step is to be done in its place"
            ),
        }
    }
}

impl std::error::Error for AcceptError {}

/// Where a run goes on under another pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The key of the first completed step that is another one now.
    pub key: String,
    /// The keys of the later steps of its list that have settled, and are done again: those of loops under way, too.
    pub again: Vec<String>,
}

/// Something in a run, and the step of the pipeline that it is or is within.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Its key.
    pub key: String,
    /// The step of the pipeline.
    pub step: String,
}

/// Returns the first completed step that another pipeline does differently: the run must go on there. `None`: it goes on where
/// it stopped. `from` is the step of the pipeline where a person wants it to go on: then all loops are left.
///
/// # Errors
/// When the other pipeline lacks what is completed, or a loop that is under way.
pub fn restart(
    course: &Course,
    accepted: &Pipeline,
    from: Option<&str>,
) -> Result<Option<Restart>, AcceptError> {
    let (mut levels, mut lost_loop) = levels(course, accepted);
    if from.is_some() {
        levels.truncate(1);
        lost_loop = None;
    }
    for level in &levels {
        let missing = level.missing();
        match (missing.is_empty(), level.depth) {
            (true, _) => {}
            (false, 0) => return Err(AcceptError::MissingSteps(missing)),
            (false, _) => return Err(AcceptError::MissingInLoop(missing)),
        }
    }
    if let Some(lost_loop) = lost_loop {
        return Err(lost_loop);
    }
    if course.is_all_done() {
        return Ok(None);
    }
    let open = levels.iter().filter(|level| !level.is_ended);
    let mut changed = open.filter_map(|level| Some((level, level.changed(course, accepted)?)));
    if let Some((level, at)) = changed.next() {
        return Ok(Some(level.restart(at)));
    }
    let place = levels.last().filter(|_| from.is_none());
    place.and_then(Level::lost_place).map_or(Ok(None), Err)
}

/// Returns the keys of the steps that have settled and that another pipeline has behind the place where the run stopped: they are
/// done again when the run goes on there.
#[must_use]
pub fn moved_behind(course: &Course, accepted: &Pipeline) -> Vec<String> {
    let (levels, _) = levels(course, accepted);
    let open = levels.iter().filter(|level| !level.is_ended);
    open.flat_map(|level| level.settled_after(level.place()))
        .collect()
}

/// Returns the steps that only another pipeline has and that come before the place where the run goes on: they are not done.
/// `from` is the key of that place, if it is not where the run stopped.
#[must_use]
pub fn passed_over(course: &Course, accepted: &Pipeline, from: Option<&str>) -> Vec<Spot> {
    before_place(course, accepted, from, |level, name| {
        find(level.old, name).is_none()
    })
}

/// Returns the steps without a result that the run would have done later, and that another pipeline has before the place where the
/// run goes on: they are not done. `from` is as for [`passed_over`].
#[must_use]
pub fn moved_ahead(course: &Course, accepted: &Pipeline, from: Option<&str>) -> Vec<Spot> {
    before_place(course, accepted, from, |level, name| {
        let comes_later = find(level.old, name).is_some_and(|at| at > level.frame.at);
        comes_later && !level.frame.results.contains_key(name)
    })
}

/// Returns the steps of these that another pipeline has before the place where the run goes on.
fn before_place(
    course: &Course,
    accepted: &Pipeline,
    from: Option<&str>,
    is_meant: impl Fn(&Level<'_>, &str) -> bool,
) -> Vec<Spot> {
    let from: Option<StepKey> = from.and_then(|from| from.parse().ok());
    let depth = from.as_ref().map_or(usize::MAX, StepKey::depth);
    let (levels, _) = levels(course, accepted);
    let levels = levels.iter().enumerate().take(depth.saturating_add(1));
    let passed = levels.flat_map(|(at, level)| {
        let here = from.as_ref().filter(|_| at == depth);
        let here = here
            .and_then(StepKey::step_name)
            .and_then(|name| find(level.new, name));
        let before = &level.new[..here.unwrap_or(level.place())];
        let meant = before.iter().filter(|step| is_meant(level, &step.name));
        meant.map(|step| level.spot(&step.name)).collect::<Vec<_>>()
    });
    passed.collect()
}

/// Returns the open loops for which another pipeline has other items, and that keep theirs. `from` is the key of the place where
/// the run goes on, if it is not where it stopped.
#[must_use]
pub fn kept_items(course: &Course, accepted: &Pipeline, from: Option<&str>) -> Vec<Spot> {
    kept(course, accepted, from, |level, before, now| {
        let (old, new) = (before.body(), now.body());
        let has_others = old.map(|each| &each.items) != new.map(|each| &each.items);
        has_others.then(|| level.spot(&before.name))
    })
}

/// Returns the open loops with finished items whose steps another pipeline does differently. These items stay as they are. `from`
/// is the key of the place where the run goes on, if it is not where it stopped.
#[must_use]
pub fn kept_results(course: &Course, accepted: &Pipeline, from: Option<&str>) -> Vec<Spot> {
    let (levels, _) = levels(course, accepted);
    let has_finished = |depth: usize| {
        let body = levels.get(depth + 1);
        body.is_some_and(|body| body.is_ended || body.frame.index() > 0)
    };
    kept(course, accepted, from, |level, before, now| {
        let steps = |pipeline: &Pipeline, step: &Step| {
            let steps = step.body().map_or(&[][..], |each| &each.steps);
            let each = steps.iter();
            each.map(|step| (step.name.clone(), digest(pipeline, step)))
                .collect::<Vec<_>>()
        };
        let are_others = steps(&course.pipeline, before) != steps(accepted, now);
        (are_others && has_finished(level.depth)).then(|| level.spot(&before.name))
    })
}

/// Returns what is said of the open loops that are not left, each as it was and as it is now.
fn kept(
    course: &Course,
    accepted: &Pipeline,
    from: Option<&str>,
    say: impl Fn(&Level<'_>, &Step, &Step) -> Option<Spot>,
) -> Vec<Spot> {
    let from: Option<StepKey> = from.and_then(|from| from.parse().ok());
    let (levels, _) = levels(course, accepted);
    let loops = levels.iter().filter(|level| level.has_open_loop);
    let open = from.as_ref().map_or(usize::MAX, StepKey::depth);
    let said = loops.take(open).filter_map(|level| {
        let before = &level.old[level.frame.at];
        let now = find(level.new, &before.name)?;
        say(level, before, &level.new[now])
    });
    said.collect()
}

/// A list of steps that is under way, under both pipelines.
struct Level<'c> {
    frame: &'c Frame,
    depth: usize,
    old: &'c [Step],
    new: &'c [Step],
    /// The key of what is around its steps.
    around: StepKey,
    /// The step of the pipeline that is under way.
    top: &'c str,
    /// Whether a loop of the list is under way.
    has_open_loop: bool,
    /// Whether all of its steps are done, because its item has ended.
    is_ended: bool,
}

/// Returns the lists that are under way, the outermost first, as far as the other pipeline has them, and why it lacks the next.
fn levels<'c>(course: &'c Course, accepted: &'c Pipeline) -> (Vec<Level<'c>>, Option<AcceptError>) {
    let (mut old, mut new) = (&course.pipeline.steps[..], &accepted.steps[..]);
    let (stack, top) = (
        course.stack(),
        &course.pipeline.steps[course.frames[0].at].name,
    );
    let has_ended = matches!(
        course.state,
        State::ItemEnds { .. } | State::LoopEnds { .. }
    );
    let mut levels = Vec::with_capacity(stack.len());
    for (depth, frame) in stack.iter().enumerate() {
        let has_open_loop = depth + 1 < stack.len();
        let around = course.item_key(&stack[..=depth]);
        levels.push(Level {
            frame,
            depth,
            old,
            new,
            around: around.clone(),
            top,
            has_open_loop,
            is_ended: has_ended && !has_open_loop,
        });
        if !has_open_loop {
            break;
        }
        let step = &old[frame.at];
        let key = || around.clone().step(&step.name).to_string();
        let Some(now) = find(new, &step.name) else {
            return (levels, Some(AcceptError::MissingLoop(key())));
        };
        let (Some(before), Some(now)) = (step.body(), new[now].body()) else {
            return (levels, Some(AcceptError::NoLoop(key())));
        };
        (old, new) = (&before.steps, &now.steps);
    }
    (levels, None)
}

impl<'c> Level<'c> {
    /// Returns the completed steps that the other pipeline lacks.
    fn missing(&self) -> Vec<String> {
        let done = self.frame.body.as_ref().map(|body| &body.done);
        let is_done =
            |name: &str| self.is_completed(name) || done.is_some_and(|done| done.contains(name));
        let old = self.old.iter().map(|step| step.name.as_str());
        let missing = old.filter(|name| is_done(name) && find(self.new, name).is_none());
        let loops: Vec<&str> = self
            .around
            .items()
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        missing
            .map(|name| [&loops[..], &[name]].concat().join("."))
            .collect()
    }

    /// Returns the first completed step before the current one that is another one now.
    fn changed(&self, course: &Course, accepted: &Pipeline) -> Option<usize> {
        let is_changed = |step: &Step| {
            let old = find(self.old, &step.name).map(|old| &self.old[old]);
            let old = old.filter(|old| self.is_completed(&old.name));
            old.is_some_and(|old| digest(&course.pipeline, old) != digest(accepted, step))
        };
        self.new[..self.place()].iter().position(is_changed)
    }

    fn restart(&self, at: usize) -> Restart {
        Restart {
            key: self.key(&self.new[at].name),
            again: self.settled_after(at),
        }
    }

    /// Returns the keys of the steps after this one that have settled, and of a loop that is under way.
    fn settled_after(&self, at: usize) -> Vec<String> {
        let open = self
            .has_open_loop
            .then(|| self.old[self.frame.at].name.as_str());
        let later = self.new.iter().skip(at + 1).map(|step| step.name.as_str());
        let settled = later.filter(|name| self.is_settled(name) || Some(*name) == open);
        settled.map(|name| self.key(name)).collect()
    }

    /// Returns the error if the run would go on at a completed step or at none, because the current one is gone.
    fn lost_place(&self) -> Option<AcceptError> {
        let name = &self.old[self.frame.at].name;
        if self.is_ended || find(self.new, name).is_some() {
            return None;
        }
        let instead = self.new.get(self.frame.at);
        let is_left = instead.is_some_and(|step| !self.is_completed(&step.name));
        (!is_left).then(|| AcceptError::MissingPlace(self.key(name)))
    }

    /// Returns the number of the step that the run is at, among those of the other pipeline.
    fn place(&self) -> usize {
        let at = self.frame.at;
        find(self.new, &self.old[at].name).unwrap_or(at.min(self.new.len()))
    }

    fn is_completed(&self, name: &str) -> bool {
        let recorded = self.frame.results.get(name);
        recorded.is_some_and(|recorded| recorded.result.status == StepStatus::Completed)
    }

    fn is_settled(&self, name: &str) -> bool {
        let recorded = self.frame.results.get(name);
        recorded.is_some_and(|recorded| recorded.result.status != StepStatus::Skipped)
    }

    fn key(&self, name: &str) -> String {
        self.around.clone().step(name).to_string()
    }

    fn spot(&self, name: &str) -> Spot {
        Spot {
            key: self.key(name),
            step: match self.depth {
                0 => name.to_owned(),
                _ => self.top.to_owned(),
            },
        }
    }
}

fn find(steps: &[Step], name: &str) -> Option<usize> {
    steps.iter().position(|step| step.name == name)
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
