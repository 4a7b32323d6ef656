//! The folding: what a settled visit changes.
//!
//! The order is that of the rules: a skipped step leads on; a handler jumps; success leads on; a failure ends the item, the loop
//! and the run, as far out as no handler takes it.

use std::fmt;

use super::event::{Event, Visit};
use super::items;
use super::key::StepKey;
use super::outcome::Stop;
use super::route::looped;
use super::{Course, Entry, ItemEnd, State, Then};
use crate::result::{ErrorKind, Failure, Looped, StepResult, StepStatus};
use crate::scope::Recorded;
use crate::{Goto, Step};

/// Says that an event cannot follow those before it: the chain is not one of this pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// What happened, as it is recorded.
    pub found: String,
    /// What should have happened.
    pub expected: String,
}

/// Where a course stood before loops were opened.
pub(super) struct Before {
    frames: usize,
    entry: Option<Entry>,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is recorded where {} comes",
            self.found, self.expected
        )
    }
}

impl std::error::Error for Misfit {}

impl Course {
    /// Adds what happened.
    ///
    /// # Errors
    /// When it cannot follow what happened before. The course is not changed then.
    pub fn push(&mut self, event: Event) -> Result<(), Misfit> {
        match event {
            Event::Visit(visit) => self.settle(*visit),
            Event::Resume(resume) => self.resume(resume),
            Event::Archived(archived) if matches!(self.state, State::Finished) => {
                self.archived = Some(archived);
                Ok(())
            }
            Event::Archived(_) => Err(self.misfit("_archive")),
        }
    }

    /// Returns the error for an event that does not fit.
    pub(super) fn misfit(&self, found: &str) -> Misfit {
        let stack = self.stack();
        let expected = match &self.state {
            State::AtStep(_) => format!("`{}`", self.key_of(&stack)),
            State::ItemEnds { .. } => format!("`{}`", self.item_key(&stack)),
            State::LoopEnds { .. } => format!("`{}`", self.key_of(&stack[..stack.len() - 1])),
            State::Stopped(_) => "`_resume`".to_owned(),
            State::Finished => "the end".to_owned(),
        };
        let found = found.to_owned();
        Misfit { found, expected }
    }

    fn settle(&mut self, visit: Visit) -> Result<(), Misfit> {
        let before = self.enter_loops(&visit.key);
        let stack = self.stack();
        let fits = match &self.state {
            State::AtStep(_) => self.key_of(&stack) == visit.key,
            State::ItemEnds { .. } => self.item_key(&stack) == visit.key,
            State::LoopEnds { .. } => self.key_of(&stack[..stack.len() - 1]) == visit.key,
            State::Stopped(_) | State::Finished => false,
        };
        if !fits {
            self.frames.truncate(before.frames);
            if let Some(entry) = before.entry {
                self.state = State::AtStep(entry);
            }
            return Err(self.misfit(&visit.key.to_string()));
        }
        match std::mem::replace(&mut self.state, State::Finished) {
            State::AtStep(entry) => self.step_settled(visit, &entry),
            State::ItemEnds { result } => self.after_item(result),
            State::LoopEnds { then, .. } => self.loop_settled(visit, then),
            State::Stopped(_) | State::Finished => {}
        }
        Ok(())
    }

    /// Opens the loops that the key of a visit is in, as far as the course is at them. Returns what was before.
    pub(super) fn enter_loops(&mut self, key: &StepKey) -> Before {
        let mut before = Before {
            frames: self.frames.len(),
            entry: None,
        };
        let State::AtStep(entry @ (Entry::Usual | Entry::Redone)) = &self.state else {
            return before;
        };
        before.entry = Some(entry.clone());
        while key.depth() >= self.frames.len() {
            let stack = self.stack();
            let Some(each) = self.step(&stack).body() else {
                break;
            };
            match items::resolve(&each.items, &self.scope(&stack)) {
                Ok(items) if !items.is_empty() => {
                    let body = self.frames[self.frames.len() - 1].enter(items);
                    self.frames.push(body);
                    // The loop may be done again; its body is not.
                    self.state = State::AtStep(Entry::Usual);
                }
                Ok(_) | Err(_) => break,
            }
        }
        before
    }

    fn step_settled(&mut self, visit: Visit, entry: &Entry) {
        let is_entry = visit.result.status != StepStatus::Skipped && !visit.result.is_guarded();
        if *entry != Entry::Redone {
            self.frame().begin();
            if is_entry {
                self.frame().count_entry();
            }
        }
        let stop = Stop {
            key: visit.key.clone(),
            result: visit.result.clone(),
        };
        self.record(visit);
        if stop.result.asks_no_handler() {
            self.state = State::Stopped(Box::new(stop));
        } else {
            self.follow(stop);
        }
    }

    fn loop_settled(&mut self, visit: Visit, then: Then) {
        self.leave_loop();
        self.frame().count_entry();
        let stop = Stop {
            key: visit.key.clone(),
            result: visit.result.clone(),
        };
        self.record(visit);
        match then {
            Then::GoOn => self.follow(stop),
            Then::EndRun => self.end_run(),
        }
    }

    /// Keeps the newest result of the step that the innermost frame is at.
    fn record(&mut self, visit: Visit) {
        let name = self.step(&self.stack()).name.clone();
        let frame = self.frame();
        frame.count_visit();
        if visit.result.status == StepStatus::Completed
            && let Some(body) = &mut frame.body
            && !body.done.contains(&name)
        {
            body.done.insert(name.clone());
        }
        let recorded = Recorded {
            result: visit.result,
            duration_ms: visit.duration_ms,
        };
        frame.results.insert(name, recorded);
    }

    /// Goes where a settled step leads.
    fn follow(&mut self, settled: Stop) {
        let exit_code = settled.result.exit_code;
        let stack = self.stack();
        let target = self.step(&stack).on.target(exit_code).cloned();
        if settled.result.status == StepStatus::Skipped {
            return self.advance();
        }
        match target {
            Some(Goto::End) => self.end_run(),
            Some(Goto::Step(name)) => self.jump(&name),
            None if exit_code == 0 => self.advance(),
            None => self.fail(settled),
        }
    }

    /// Goes to the next step of the list.
    fn advance(&mut self) {
        let steps = self.steps_of(&self.stack()).len();
        let frame = self.frame();
        if frame.at + 1 < steps {
            frame.at += 1;
            self.state = State::AtStep(Entry::Usual);
        } else if frame.body.is_some() {
            self.item_ends(ItemEnd {
                exit_code: 0,
                failed: false,
                then: Then::GoOn,
            });
        } else {
            self.state = State::Finished;
        }
    }

    fn jump(&mut self, name: &str) {
        let steps = self.steps_of(&self.stack());
        let found = steps.iter().position(|step| step.name == name);
        // The loader knows all targets.
        let target = found.unwrap_or(0);
        let is_next = target == self.frame().at + 1;
        self.frame().at = target;
        self.state = State::AtStep(Entry::Usual);
        if !is_next {
            self.count_transition();
        }
    }

    /// Counts a transition to the current step, or refuses it.
    pub(super) fn count_transition(&mut self) {
        let steering = self.start.steering.max_transitions;
        let limit = steering.unwrap_or(self.pipeline.max_transitions);
        let frame = self.frame();
        if frame.transitions >= limit {
            self.state = State::AtStep(Entry::TooManyTransitions { limit });
        } else {
            frame.transitions += 1;
        }
    }

    /// Ends what a failure ends that has no handler of its own.
    fn fail(&mut self, settled: Stop) {
        let exit_code = settled.result.exit_code;
        let is_strict = self.is_strict();
        let is_body = self.frames.len() > 1;
        if is_strict && !(is_body && self.is_handled_outside(exit_code)) {
            self.state = State::Stopped(Box::new(settled));
        } else if is_body {
            self.item_ends(ItemEnd {
                exit_code,
                failed: true,
                then: Then::GoOn,
            });
        } else {
            let name = settled.key.to_string();
            if !self.failed_steps.contains(&name) {
                self.failed_steps.push(name);
            }
            self.advance();
        }
    }

    /// Tells whether a loop around the current step takes its failure.
    fn is_handled_outside(&self, exit_code: i64) -> bool {
        let stack = self.stack();
        let mut loops = (1..stack.len()).map(|depth| self.step(&stack[..depth]));
        loops.any(|step: &Step| step.on.target(exit_code).is_some())
    }

    /// Completes the run, after the items and loops that are open. These have not failed: a handler led here.
    fn end_run(&mut self) {
        if self.frame().body.is_none() {
            self.state = State::Finished;
            return;
        }
        self.item_ends(ItemEnd {
            exit_code: 0,
            failed: false,
            then: Then::EndRun,
        });
    }

    fn item_ends(&mut self, end: ItemEnd) {
        if let Some(body) = &mut self.frame().body {
            body.failed += u64::from(end.failed);
        }
        if self.is_move_due(end.failed) {
            self.state = State::ItemEnds { result: end };
        } else {
            self.after_item(end);
        }
    }

    /// Goes to the next item, or to the end of the loop.
    fn after_item(&mut self, end: ItemEnd) {
        let Some(body) = &self.frame().body else {
            return;
        };
        let (index, total, failed) = (body.index, body.items.len(), body.failed);
        let count = index as u64 + 1;
        let is_cut = end.then == Then::GoOn && end.failed && self.is_strict();
        let result = if end.then == Then::EndRun {
            StepResult {
                looped: Some(Looped { count, failed }),
                ..StepResult::of(StepStatus::Completed, 0)
            }
        } else if is_cut {
            self.cut_short(end.exit_code, Looped { count, failed })
        } else if index + 1 < total {
            self.frame().next_item();
            self.state = State::AtStep(Entry::Usual);
            return;
        } else {
            looped(count, failed)
        };
        self.state = State::LoopEnds {
            result: Box::new(result),
            then: end.then,
        };
    }

    /// Returns the result of a loop that its failed item ends.
    fn cut_short(&self, exit_code: i64, looped: Looped) -> StepResult {
        let stack = self.stack();
        let (key, step) = (self.item_key(&stack), &self.step(&stack).name);
        let message = format!("step `{step}` of item `{key}` failed with exit code {exit_code}");
        let failure = Failure::new(ErrorKind::ItemFailed, message)
            .fact("index", looped.count - 1)
            .fact("step", step.as_str());
        StepResult {
            looped: Some(looped),
            ..StepResult::failed(exit_code, failure)
        }
    }

    /// Closes the innermost loop.
    pub(super) fn leave_loop(&mut self) {
        if self.frames.len() > 1
            && let Some(inner) = self.frames.pop()
        {
            self.frame().leave(&inner);
        }
    }

    pub(super) fn frame(&mut self) -> &mut super::Frame {
        let last = self.frames.last_mut();
        last.expect("a course is never without a frame")
    }
}
