//! The children of a step: where they are, whether they have done their part, and the end of those that nobody needs.

use std::collections::{HashMap, HashSet};

use uwf_moderator::{Assignment, Joined, Tally, joined};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::work::{Join, Work};
use uwf_storage::Located;

use super::make;
use crate::children::moved::heads_before;
use crate::children::{Child, children_of, has_failed, locate, taken_up};
use crate::person_message::MessageContext;
use crate::run::admission::Admitted;
use crate::run::kill::kill;
use crate::run::owned::OwnedRun;
use crate::run::shared::SharedThread;
use crate::thread::Thread;
use crate::{EngineError, Runner};

/// What a person said to a thread whose children begin.
pub(super) struct Said {
    /// What the role had asked, if it had.
    question: Option<String>,
    words: Option<String>,
}

impl Said {
    /// Returns the task of a child, with what was said.
    pub(super) fn with_task(&self, instruction: String) -> String {
        let context = match &self.question {
            Some(question) => MessageContext::Question {
                instruction,
                question: question.clone(),
            },
            None => MessageContext::Addition { instruction },
        };
        context.compose(self.words.as_deref())
    }
}

/// The children of a step.
pub(super) struct Round<'a> {
    pub(super) runner: &'a Runner,
    /// The lease of the thread, if it is shared.
    pub(super) shared: Option<&'a SharedThread>,
    pub(super) thread: &'a Thread,
    pub(super) assignment: &'a Assignment,
    pub(super) admitted: &'a Admitted,
    pub(super) children: Vec<Child>,
    /// The heads that the thread had before its head by migrations.
    heads_before: Vec<CasRef>,
    /// What a person said to the thread: it is a part of the tasks that are given.
    said: Option<Said>,
    /// The children that processes of this call work on.
    pub(super) at_work: Vec<ThreadId>,
    /// The heads of the children before the cycles of this call.
    pub(super) heads: HashMap<ThreadId, CasRef>,
    /// The children that this call has made and not stepped yet.
    pub(super) made_here: HashSet<ThreadId>,
    /// The children that have ended, failed or stopped. They do not go on in this call.
    pub(super) stopped_here: HashSet<ThreadId>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        (runner, run): (&'a Runner, &'a OwnedRun),
        thread: &'a Thread,
        assignment: &'a Assignment,
        admitted: &'a Admitted,
        words: Option<&'a str>,
    ) -> Result<Self, EngineError> {
        let children = children_of(&runner.site, thread, assignment, Some(&runner.signals))?;
        let answered = taken_up::record(&runner.site, thread.id, thread.head)?;
        let said = match answered.filter(|answered| answered.role == assignment.role) {
            Some(answered) => Some(Said {
                question: Some(answered.question),
                words: answered.answer,
            }),
            None => words.map(|words| Said {
                question: None,
                words: Some(words.to_owned()),
            }),
        };
        Ok(Self {
            runner,
            shared: run.shared.as_ref(),
            thread,
            assignment,
            admitted,
            children,
            heads_before: heads_before(&runner.site, thread.id, thread.head)?,
            said,
            at_work: Vec::new(),
            heads: HashMap::new(),
            made_here: HashSet::new(),
            stopped_here: HashSet::new(),
        })
    }

    /// Looks where the children are now. Which ones are needed does not change.
    pub(super) fn look(&mut self) -> Result<(), EngineError> {
        let planned = self.children.drain(..).map(|child| child.planned).collect();
        self.children = locate(
            &self.runner.site,
            (self.thread, &self.heads_before),
            self.assignment,
            planned,
        )?;
        Ok(())
    }

    /// Looks where one of the children is now.
    pub(super) fn look_at(&mut self, thread: ThreadId) -> Result<(), EngineError> {
        let all = self
            .children
            .iter()
            .position(|child| child.thread == thread);
        let Some(index) = all else { return Ok(()) };
        let planned = vec![self.children[index].planned.clone()];
        let found = locate(
            &self.runner.site,
            (self.thread, &self.heads_before),
            self.assignment,
            planned,
        )?;
        self.children.splice(index..=index, found);
        Ok(())
    }

    /// Makes those of these children that are not there yet. If a person left a message, it makes all that are missing, so that
    /// each gets the message.
    pub(super) fn make(&mut self, soon: impl Fn(usize) -> bool) -> Result<(), EngineError> {
        let all = self.children.iter_mut().enumerate();
        let unmade = all.filter(|(index, child)| {
            child.place.is_none() && (self.said.is_some() || soon(*index))
        });
        let mut unmade: Vec<&mut Child> = unmade.map(|(_, child)| child).collect();
        self.made_here
            .extend(unmade.iter().map(|child| child.thread));
        match unmade.is_empty() {
            true => Ok(()),
            false => make::make(
                (self.runner, self.shared),
                self.thread,
                (self.assignment, self.said.as_ref()),
                &mut unmade,
            ),
        }
    }

    /// Tells whether the children have done their part.
    pub(super) fn joined(&self) -> Joined {
        if !self.may_be_decided_early() && self.children.iter().any(|child| child.place.is_none()) {
            // All must end, and this one has not begun: no other one needs to be looked at.
            return Joined::Open;
        }
        let failed = self.children.iter().filter(|child| self.has_failed(child));
        let tally = Tally {
            all: self.children.len() as u64,
            ended: self
                .children
                .iter()
                .filter(|child| child.is_ended())
                .count() as u64,
            failed: failed.count() as u64,
        };
        match self.work() {
            Some(Work::Branches(branches)) => joined(branches.join, tally),
            Some(Work::Workflow(_) | Work::Agent) | None => joined(Join::All, tally),
        }
    }

    /// Tells whether the first branches to end may decide what becomes of all.
    pub(super) fn may_be_decided_early(&self) -> bool {
        matches!(self.work(), Some(Work::Branches(branches)) if branches.join != Join::All)
    }

    pub(super) fn work(&self) -> Option<&'a Work> {
        let role = self.thread.program.task(&self.assignment.role)?;
        Some(&role.work)
    }

    /// Tells whether a branch has failed for good.
    pub(super) fn has_failed(&self, child: &Child) -> bool {
        !self.made_here.contains(&child.thread) && has_failed(&self.runner.site, self.work(), child)
    }

    /// Ends the children that go on although nobody needs them any more.
    pub(super) fn cancel_open(&mut self) -> Result<(), EngineError> {
        let mut has_killed = false;
        for child in &self.children {
            if matches!(child.place, Some(Located::Active(_))) && !self.has_failed(child) {
                has_killed = true;
                end(self.runner, child.thread)?;
            }
        }
        match has_killed {
            true => self.look(),
            false => Ok(()),
        }
    }

    /// Returns the children that have failed for good.
    pub(super) fn that_failed(&self) -> Vec<ThreadId> {
        let failed = self.children.iter().filter(|child| self.has_failed(child));
        failed.map(|child| child.thread).collect()
    }
}

/// Ends a child, unless it has ended meanwhile.
pub(super) fn end(runner: &Runner, child: ThreadId) -> Result<(), EngineError> {
    match kill(runner, child) {
        Ok(_) | Err(EngineError::Ended { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
