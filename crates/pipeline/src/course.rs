//! Where a run stands: what has settled goes in, what comes next comes out.
//!
//! A [`Course`] is folded over the steps of a run. It keeps the newest result of each step that is in scope, and forgets
//! finished items of loops but for counts, so adding a step costs the same wherever it comes. The folding is in `settle.rs`,
//! the decision in `route.rs`.

mod accept;
mod event;
mod frame;
mod items;
mod key;
mod only;
mod outcome;
mod resume;
mod route;
mod settle;
mod tally;
mod task;
mod workflow;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use accept::{
    AcceptError, Restart, Spot, kept_items, kept_results, moved_ahead, moved_behind, passed_over,
    restart,
};
pub use event::{Archived, Event, Resume, Visit};
pub use items::MAX_ITEMS;
pub use key::{ParseKeyError, StepKey};
pub use only::{OnlyError, WhenMode, only};
pub use outcome::{GUARD_EXIT_CODE, Outcome, Stop};
pub use route::{Assignment, Route, Todo};
pub use settle::Misfit;
pub use task::{Agent, Dependencies, MoveTask, RunTask, Task, WaitTask};
pub use workflow::{WorkflowEnd, WorkflowTask};

use frame::Frame;

use crate::scope::{Level, Results, RunFacts, Scope};
use crate::{Pipeline, Retries, Step};

/// What a run was started with, beside its pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// The facts that variables name.
    pub facts: RunFacts,
    /// The context, merged from all its sources.
    pub context: Map<String, Value>,
    /// What the caller asked for.
    pub steering: Steering,
    /// The results of another run that variables may name, for a run of one step.
    pub from_run: Option<FromRun>,
}

/// What another run has left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FromRun {
    /// The steps of its pipeline.
    pub steps: Vec<Step>,
    /// Their newest results.
    pub results: Results,
}

/// What the caller of a run asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Steering {
    /// What a failure without a handler does.
    pub on_error: OnError,
    /// The retries of calls of providers that have none of their own.
    pub retries: Option<Retries>,
    /// How many transitions are allowed, in place of what the pipeline says.
    pub max_transitions: Option<u64>,
    /// Whether finished tasks are archived at the end.
    pub archive: Option<Archive>,
}

/// What a failure without a handler does, where the pipeline is strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// It ends the run.
    #[default]
    Stop,
    /// The run goes on.
    Continue,
}

/// Where finished tasks are archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The archive; `None` is the default place.
    pub destination: Option<String>,
}

/// Where a run stands.
#[derive(Debug, Clone)]
pub struct Course {
    pipeline: Arc<Pipeline>,
    start: Arc<RunStart>,
    on_error: OnError,
    /// The list of the pipeline, and the bodies of the open loops, the outermost first. Never empty.
    frames: Vec<Frame>,
    state: State,
    /// The names of the steps that failed while the run went on.
    failed_steps: Vec<String>,
    archived: Option<Archived>,
}

/// A loop whose items are being done.
#[derive(Debug, Clone)]
pub struct OpenLoop<'c> {
    /// The key of its step.
    pub key: StepKey,
    /// All items.
    pub items: &'c Arc<[Value]>,
    /// The number of the current one, from 0.
    pub index: usize,
    /// How many items have failed.
    pub failed: u64,
}

/// What is to be done next.
#[derive(Debug, Clone)]
enum State {
    /// The step that the innermost frame is at.
    AtStep(Entry),
    /// The file of the item is moved, because the item is done.
    ItemEnds { result: ItemEnd },
    /// The loop is done.
    LoopEnds {
        result: Box<crate::StepResult>,
        then: Then,
    },
    /// Nothing: the run has failed.
    Stopped(Box<Stop>),
    /// Nothing of the program is left.
    Finished,
}

/// How a step is entered.
#[derive(Debug, Clone, PartialEq)]
enum Entry {
    /// In the course of the program.
    Usual,
    /// Once more, by a person, after it failed: this is no new visit for guards.
    Redone,
    /// Not at all: one transition too many leads there.
    TooManyTransitions { limit: u64 },
}

/// How an item ended.
#[derive(Debug, Clone, Copy)]
struct ItemEnd {
    /// The exit code of the step that ended it.
    exit_code: i64,
    failed: bool,
    then: Then,
}

/// What follows the end of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The usual: the next item, or the end of the loop.
    GoOn,
    /// The end of the run: a step of a body jumped to `_end`.
    EndRun,
}

impl Course {
    /// Returns the course of a run that has just begun.
    #[must_use]
    pub fn begin(pipeline: Arc<Pipeline>, start: Arc<RunStart>) -> Self {
        Self {
            on_error: start.steering.on_error,
            pipeline,
            start,
            frames: vec![Frame::default()],
            state: State::AtStep(Entry::Usual),
            failed_steps: Vec::new(),
            archived: None,
        }
    }

    /// Returns how the run was asked for.
    #[must_use]
    pub fn steering(&self) -> &Steering {
        &self.start.steering
    }

    /// Returns the pipeline that the run follows now.
    #[must_use]
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Returns what the steps of the pipeline have left, for a run of one step.
    #[must_use]
    pub fn left(&self) -> FromRun {
        FromRun {
            steps: self.pipeline.steps.clone(),
            results: self.frames[0].results.clone(),
        }
    }

    /// Tells whether every step is done. The archive may be left.
    #[must_use]
    pub fn is_all_done(&self) -> bool {
        matches!(self.state, State::Finished)
    }

    /// Returns how many transitions were made.
    #[must_use]
    pub fn transition_count(&self) -> u64 {
        self.frames[0].transitions
    }

    /// Returns how often each step of the pipeline was entered, in the order of the pipeline, without those that never were.
    #[must_use]
    pub fn step_visits(&self) -> Vec<(&str, u64)> {
        let steps = self.pipeline.steps.iter().enumerate();
        let visits = steps.map(|(at, step)| (step.name.as_str(), self.frames[0].entries(at)));
        visits.filter(|(_, visits)| *visits > 0).collect()
    }

    /// Notes that a step was started. Its loops are open from then on.
    pub fn started(&mut self, key: &StepKey) {
        self.enter_loops(key);
    }

    /// Returns the open loops, the outermost first.
    #[must_use]
    pub fn open_loops(&self) -> Vec<OpenLoop<'_>> {
        let stack = self.stack();
        let bodies = stack.iter().enumerate().skip(1);
        let loops = bodies.filter_map(|(depth, frame)| {
            let body = frame.body.as_ref()?;
            Some(OpenLoop {
                key: self.key_of(&stack[..depth]),
                items: &body.items,
                index: body.index,
                failed: body.failed,
            })
        });
        loops.collect()
    }

    /// Returns the open item of each open loop, the outermost first.
    #[must_use]
    pub fn open_items(&self) -> Vec<(String, usize)> {
        self.item_key(&self.stack()).items().to_vec()
    }

    fn is_strict(&self) -> bool {
        self.pipeline.strict_flow && self.on_error == OnError::Stop
    }

    fn stack(&self) -> Vec<&Frame> {
        self.frames.iter().collect()
    }

    /// Returns the steps of the innermost of these frames.
    fn steps_of<'c>(&'c self, stack: &[&Frame]) -> &'c [Step] {
        let outer = &stack[..stack.len().saturating_sub(1)];
        outer.iter().fold(&self.pipeline.steps[..], |steps, frame| {
            let each = steps[frame.at].body();
            &each
                .expect("a frame within another is the body of a loop")
                .steps
        })
    }

    /// Returns what is seen from the innermost of these frames.
    fn scope<'c>(&'c self, stack: &[&'c Frame]) -> Scope<'c> {
        let mut levels = Vec::with_capacity(stack.len());
        for depth in (1..=stack.len()).rev() {
            let frame = stack[depth - 1];
            let alias = (depth > 1).then(|| {
                let around = &stack[..depth - 1];
                let step = &self.steps_of(around)[around[depth - 2].at];
                step.body().map_or("", |each| each.alias.as_str())
            });
            levels.push(Level {
                steps: self.steps_of(&stack[..depth]),
                results: &frame.results,
                item: alias.and_then(|alias| frame.item(alias)),
            });
        }
        levels.extend(self.start.from_run.as_ref().map(|from| Level {
            steps: &from.steps,
            results: &from.results,
            item: None,
        }));
        Scope {
            run: &self.start.facts,
            context: &self.start.context,
            levels,
        }
    }

    /// Returns the key of the step that the innermost of these frames is at.
    fn key_of(&self, stack: &[&Frame]) -> StepKey {
        let steps = self.steps_of(stack);
        let at = stack.last().map_or(0, |frame| frame.at);
        self.item_key(stack).step(&steps[at].name)
    }

    /// Returns the key of the item that the innermost of these frames is the body for.
    fn item_key(&self, stack: &[&Frame]) -> StepKey {
        let mut key = StepKey::root();
        for depth in 1..stack.len() {
            let loop_step = &self.steps_of(&stack[..depth])[stack[depth - 1].at];
            key = key.item(&loop_step.name, stack[depth].index());
        }
        key
    }
}

/// Decides what comes next in a run. The events are oldest first.
///
/// # Errors
/// When an event is not one that can follow those before it.
pub fn next(
    pipeline: Arc<Pipeline>,
    start: Arc<RunStart>,
    events: impl IntoIterator<Item = Event>,
) -> Result<Route, Misfit> {
    let mut course = Course::begin(pipeline, start);
    for event in events {
        course.push(event)?;
    }
    Ok(course.next())
}
