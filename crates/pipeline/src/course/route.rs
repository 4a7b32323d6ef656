//! The decision: what comes next, from where the run stands.

use super::frame::Frame;
use super::items;
use super::key::StepKey;
use super::outcome::{GUARD_EXIT_CODE, Outcome, Stop};
use super::task::{Agent, Task};
use super::{Archived, Course, Entry, ItemEnd, State};
use crate::condition::{Condition, Matches, PathTest, condition};
use crate::nodes::ARCHIVE_KEY;
use crate::result::{ErrorKind, Failure, Looped, StepResult, StepStatus};
use crate::{ForEach, Step, Work};

/// What comes next in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Route {
    /// A step.
    To(Box<Assignment>),
    /// Only the disk knows: the caller looks, and follows one of both.
    Look {
        /// The step that asks.
        key: StepKey,
        /// What it asks.
        test: PathTest,
        /// What comes next if the test holds.
        holds: Box<Route>,
        /// What comes next otherwise.
        fails: Box<Route>,
    },
    /// The archive of finished tasks (`_archive`).
    Archive {
        /// Where it is made; `None` is the default place.
        destination: Option<String>,
    },
    /// Nothing, because the run has failed.
    Suspend(Box<Stop>),
    /// Nothing, because the run is completed.
    End(Outcome),
}

/// A step that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Which step.
    pub key: StepKey,
    /// The number of the visit, from 1; no earlier visit of this key has it.
    pub visit: u64,
    /// The number of the visit with which this entry of the step began. It is an earlier one if a person has a failed step done
    /// again.
    pub first_visit: u64,
    /// Who does it.
    pub agent: Agent,
    /// What is done.
    pub todo: Todo,
}

/// What is done for a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Todo {
    /// Something on the machine.
    Task(Box<Task>),
    /// Nothing: the result follows already.
    Settled(Box<StepResult>),
}

impl Route {
    /// Returns the route of a step that cannot be done after all, because of something that only the disk knows.
    #[must_use]
    pub fn refused(self, failure: Failure) -> Self {
        match self {
            Self::To(assignment) => Self::To(Box::new(Assignment {
                agent: Agent::Engine,
                todo: Todo::Settled(Box::new(StepResult::refused(failure))),
                ..*assignment
            })),
            other => other,
        }
    }
}

impl Course {
    /// Decides what comes next.
    #[must_use]
    pub fn next(&self) -> Route {
        match &self.state {
            State::AtStep(entry) => self.at_step(&self.stack(), entry),
            State::ItemEnds { result } => self.item_end(*result),
            State::LoopEnds { result, .. } => {
                let stack = self.stack();
                let around = &stack[..stack.len() - 1];
                self.settled(around, Agent::Loop, (**result).clone())
            }
            State::Stopped(stop) => Route::Suspend(stop.clone()),
            State::Finished => self.finished(),
        }
    }

    fn finished(&self) -> Route {
        match (&self.start.steering.archive, &self.archived) {
            (Some(archive), None) => Route::Archive {
                destination: archive.destination.clone(),
            },
            (_, Some(Archived::Failed(why))) => {
                let failure = Failure::new(ErrorKind::PathError, why);
                Route::Suspend(Box::new(Stop {
                    key: StepKey::root().step(ARCHIVE_KEY),
                    result: StepResult::failed(1, failure),
                }))
            }
            (_, Some(Archived::Made)) | (None, None) => Route::End(Outcome {
                failed_steps: self.failed_steps.clone(),
                exit_code: 0,
            }),
        }
    }

    /// Decides about the step that the innermost of these frames is at.
    fn at_step(&self, stack: &[&Frame], entry: &Entry) -> Route {
        if let Entry::TooManyTransitions { limit } = entry {
            return self.guarded(stack, "max_transitions", *limit);
        }
        let skipped = || self.settled(stack, Agent::Engine, StepResult::skipped());
        let Some(when) = &self.step(stack).when else {
            return self.enter(stack, entry);
        };
        match condition(when, &self.scope(stack)) {
            Ok(Condition::Known(true)) => self.enter(stack, entry),
            Ok(Condition::Known(false)) => skipped(),
            Ok(Condition::Path(test)) => Route::Look {
                key: self.key_of(stack),
                test,
                holds: Box::new(self.enter(stack, entry)),
                fails: Box::new(skipped()),
            },
            Err(failure) => self.refused(stack, failure),
        }
    }

    /// Decides about a step whose condition holds.
    fn enter(&self, stack: &[&Frame], entry: &Entry) -> Route {
        let (step, frame) = (self.step(stack), self.innermost(stack));
        if let Some(limit) = step.max_visits
            && *entry != Entry::Redone
            && frame.entries(frame.at) >= limit
        {
            return self.guarded(stack, "max_visits", limit);
        }
        let task = match &step.work {
            Work::Run(run) => self.run_task(stack, run),
            Work::WaitFor(wait) => self.wait_task(stack, wait),
            Work::Workflow(call) => self.workflow_task(stack, call),
            Work::ForEach(each) => return self.enter_loop(stack, each),
        };
        match task {
            Ok((agent, task)) => self.to(stack, agent, Todo::Task(Box::new(task))),
            Err(failure) => self.refused(stack, failure),
        }
    }

    /// Decides about the first step of a loop, or about the loop if it has no items.
    fn enter_loop(&self, stack: &[&Frame], each: &ForEach) -> Route {
        let depends_on = match self.dependencies(stack) {
            Ok(depends_on) => depends_on,
            Err(failure) => return self.refused(stack, failure),
        };
        let items = match items::resolve(&each.items, &self.scope(stack)) {
            Ok(items) => items,
            Err(failure) => return self.refused(stack, failure),
        };
        let entered = if items.is_empty() {
            self.settled(stack, Agent::Loop, looped(0, 0))
        } else {
            let body = self.innermost(stack).enter(items);
            let mut deeper = stack.to_vec();
            deeper.push(&body);
            self.at_step(&deeper, &Entry::Usual)
        };
        // The files that a loop needs are looked for before its first item.
        depends_on
            .required
            .into_iter()
            .rev()
            .fold(entered, |holds, glob| {
                let failure = Failure::failed_deps(std::slice::from_ref(&glob));
                Route::Look {
                    key: self.key_of(stack),
                    test: PathTest {
                        glob,
                        holds_if: Matches::Some,
                    },
                    holds: Box::new(holds),
                    fails: Box::new(self.refused(stack, failure)),
                }
            })
    }

    /// Decides what is done with the file of an item.
    fn item_end(&self, end: ItemEnd) -> Route {
        let stack = self.stack();
        let (agent, todo) = self.move_task(&stack, end.failed);
        Route::To(Box::new(Assignment {
            key: self.item_key(&stack),
            visit: 1,
            first_visit: 1,
            agent,
            todo,
        }))
    }

    fn to(&self, stack: &[&Frame], agent: Agent, todo: Todo) -> Route {
        let frame = self.innermost(stack);
        let visit = frame.visit_number();
        // The body of a loop that is done again is entered anew.
        let is_redone =
            matches!(self.state, State::AtStep(Entry::Redone)) && stack.len() == self.frames.len();
        Route::To(Box::new(Assignment {
            key: self.key_of(stack),
            visit,
            first_visit: if is_redone { frame.begun() } else { visit },
            agent,
            todo,
        }))
    }

    fn settled(&self, stack: &[&Frame], agent: Agent, result: StepResult) -> Route {
        self.to(stack, agent, Todo::Settled(Box::new(result)))
    }

    fn refused(&self, stack: &[&Frame], failure: Failure) -> Route {
        self.settled(stack, Agent::Engine, StepResult::refused(failure))
    }

    fn guarded(&self, stack: &[&Frame], guard: &str, limit: u64) -> Route {
        let key = self.key_of(stack).to_string();
        let message = format!("`{guard}` is {limit}, and this would be one more");
        let failure = Failure::new(ErrorKind::CycleGuardExceeded, message)
            .fact("guard", guard)
            .fact("limit", limit)
            .fact("observed", limit + 1)
            .fact("step", key);
        let result = StepResult::failed(GUARD_EXIT_CODE, failure);
        self.settled(stack, Agent::Engine, result)
    }

    /// Returns the step that the innermost of these frames is at.
    pub(super) fn step(&self, stack: &[&Frame]) -> &Step {
        &self.steps_of(stack)[self.innermost(stack).at]
    }

    fn innermost<'f>(&self, stack: &[&'f Frame]) -> &'f Frame {
        stack.last().expect("a course is never without a frame")
    }
}

/// Returns the result of a loop that was not cut short.
pub(super) fn looped(count: u64, failed: u64) -> StepResult {
    let looped = Some(Looped { count, failed });
    let result = if failed == 0 {
        StepResult::of(StepStatus::Completed, 0)
    } else {
        let message = format!("{failed} of {count} items failed");
        StepResult::failed(1, Failure::new(ErrorKind::ItemFailed, message))
    };
    StepResult { looped, ..result }
}
