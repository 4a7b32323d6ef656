//! One round of the children of a step: which of them can go on, what one cycle of each brought, and whether that is enough.

use uwf_moderator::{Assignment, Joined, Tally, joined};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::work::{Join, Work};
use uwf_storage::Located;

use super::side_by_side::{self, Ended, StepEnd};
use super::{Approach, advance, failed, make, of_child};
use crate::child_error::ChildProblem;
use crate::children::{Child, children_of, has_failed};
use crate::limits;
use crate::read::report::{ChildReport, StepReport};
use crate::read::standing::state_of_child;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::run::admission::Admitted;
use crate::run::kill::kill;
use crate::thread::Thread;
use crate::{EngineError, Intervention, Runner};

/// How many children are stepped at once, if the workflow does not say.
const USUALLY_AT_ONCE: u64 = 4;

/// Whether a child can go on.
enum GoesOn {
    /// Somebody works on it, such as a call whose parent died.
    Already,
    Now,
    /// If no other one can: it has failed.
    Later,
    No,
}

/// The children of a step.
pub(super) struct Round<'a> {
    pub(super) runner: &'a Runner,
    pub(super) thread: &'a Thread,
    pub(super) assignment: &'a Assignment,
    pub(super) admitted: &'a Admitted,
    pub(super) children: Vec<Child>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        runner: &'a Runner,
        thread: &'a Thread,
        assignment: &'a Assignment,
        admitted: &'a Admitted,
    ) -> Result<Self, EngineError> {
        let children = children_of(&runner.site, thread, assignment, Some(&runner.signals))?;
        Ok(Self {
            runner,
            thread,
            assignment,
            admitted,
            children,
        })
    }

    /// Looks at the children again.
    pub(super) fn look(&mut self) -> Result<(), EngineError> {
        let runner = self.runner;
        let signals = Some(&runner.signals);
        self.children = children_of(&runner.site, self.thread, self.assignment, signals)?;
        Ok(())
    }

    /// Tells whether the children have done their part.
    pub(super) fn joined(&self) -> Joined {
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

    /// Tells whether the branches that still work are not needed any more. All are needed if all must end.
    fn is_decided_early(&self) -> bool {
        match self.work() {
            Some(Work::Branches(branches)) if branches.join != Join::All => {
                let (runner, thread) = (self.runner, self.thread);
                let now = Self::new(runner, thread, self.assignment, self.admitted);
                // What cannot be read now is found out when all have ended.
                now.is_ok_and(|now| now.joined() != Joined::Open)
            }
            Some(_) | None => false,
        }
    }

    fn work(&self) -> Option<&'a Work> {
        let role = self.thread.program.task(&self.assignment.role)?;
        Some(&role.work)
    }

    /// Tells whether a branch has failed for good.
    pub(super) fn has_failed(&self, child: &Child) -> bool {
        has_failed(&self.runner.site, self.work(), child)
    }

    /// Does one cycle of the children that can go on, and returns what each brought.
    pub(super) fn step(&mut self, approach: Approach<'_>) -> Result<Vec<ChildReport>, EngineError> {
        let wanted = match approach {
            Approach::Step(_) => self.that_can_go_on()?,
            Approach::Resume(_) => self.that_waits()?,
        };
        let (thread, assignment) = (self.thread, self.assignment);
        match (wanted.as_slice(), approach) {
            ([], Approach::Step(_)) => Err(self.nobody_can_go_on()?),
            ([], Approach::Resume(_)) => Err(EngineError::NotSuspended(thread.id)),
            ([one], _) => {
                let child = &mut self.children[*one];
                let done = advance(self.runner, thread, assignment, child, approach);
                let done =
                    done.map_err(|error| of_child(thread, assignment, child.thread, error))?;
                Ok(vec![ChildReport::from(&done)])
            }
            (
                several,
                Approach::Step(options) | Approach::Resume(Intervention { step: options, .. }),
            ) => {
                let all = self.children.iter_mut().enumerate();
                let wanted = all.filter(|(index, _)| several.contains(index));
                let unmade = wanted.filter(|(_, child)| child.place.is_none());
                let mut unmade: Vec<&mut Child> = unmade.map(|(_, child)| child).collect();
                if !unmade.is_empty() {
                    make::make(self.runner, thread, assignment, &mut unmade)?;
                }
                let threads: Vec<ThreadId> = several
                    .iter()
                    .map(|index| self.children[*index].thread)
                    .collect();
                let config = &self.admitted.config;
                let is_enough = || self.is_decided_early();
                match side_by_side::step(self.runner, &threads, options, config, &is_enough)? {
                    Ended::All(ended) => self.reports(&ended),
                    Ended::Interrupted(signal) => {
                        let problem = ChildProblem::Interrupted(signal);
                        Err(failed(thread, assignment, problem))
                    }
                }
            }
        }
    }

    /// Returns which children can go on, at most so many as may work at once: first those that have begun, last those whose
    /// last attempt failed.
    fn that_can_go_on(&self) -> Result<Vec<usize>, EngineError> {
        let most = match self.work() {
            Some(Work::Branches(branches)) => branches.max.unwrap_or(USUALLY_AT_ONCE),
            Some(Work::Workflow(_) | Work::Agent) | None => 1,
        };
        let mut most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let mut failed = Vec::new();
        let (begun, new): (Vec<usize>, Vec<usize>) =
            (0..self.children.len()).partition(|index| self.children[*index].place.is_some());
        for index in begun.into_iter().chain(new) {
            if found.len() >= most {
                break;
            }
            match self.can_go_on(&self.children[index])? {
                GoesOn::No => {}
                GoesOn::Already => most = most.saturating_sub(1),
                GoesOn::Now => found.push(index),
                GoesOn::Later => failed.push(index),
            }
        }
        // A branch that fails holds up no other one.
        let room = most.saturating_sub(found.len());
        found.extend(failed.into_iter().take(room));
        found.sort_unstable();
        Ok(found)
    }

    fn can_go_on(&self, child: &Child) -> Result<GoesOn, EngineError> {
        if child.is_ended() || self.has_failed(child) {
            return Ok(GoesOn::No);
        }
        let state = self.state_of(child)?;
        Ok(match state.map(|state| state.status) {
            // A child alone says itself why it cannot go on.
            _ if self.children.len() == 1 => GoesOn::Now,
            None | Some(ThreadStatus::Idle) => GoesOn::Now,
            Some(ThreadStatus::Failed) => GoesOn::Later,
            Some(ThreadStatus::Running) => GoesOn::Already,
            Some(_) => GoesOn::No,
        })
    }

    /// Returns the first child that waits for a person. A child alone says itself that it waits for nothing. One that was not
    /// made yet has asked nothing.
    fn that_waits(&self) -> Result<Vec<usize>, EngineError> {
        if let [child] = self.children.as_slice()
            && matches!(child.place, Some(Located::Active(_)))
        {
            return Ok(vec![0]);
        }
        for (index, child) in self.children.iter().enumerate() {
            let state = self.state_of(child)?;
            if state.is_some_and(|state| state.status == ThreadStatus::Suspended) {
                return Ok(vec![index]);
            }
        }
        Ok(Vec::new())
    }

    fn state_of(&self, child: &Child) -> Result<Option<ThreadState>, EngineError> {
        let site = &self.runner.site;
        state_of_child(site, child, &limits::config_for_views(site))
    }

    /// Returns the error that no child can go on: what the first one waits for.
    fn nobody_can_go_on(&self) -> Result<EngineError, EngineError> {
        for child in &self.children {
            let Some(state) = self.state_of(child)? else {
                continue;
            };
            let child = state.waiting_child.unwrap_or(child.thread);
            let problem = match state.status {
                ThreadStatus::Suspended if state.held_by_limit => ChildProblem::Limit {
                    child,
                    reached: state.reached,
                },
                ThreadStatus::Suspended => ChildProblem::Waits {
                    child,
                    message: state.suspend_message.unwrap_or_default(),
                },
                _ => continue,
            };
            return Ok(failed(self.thread, self.assignment, problem));
        }
        for child in &self.children {
            if let Some(state) = self.state_of(child)?
                && !self.has_failed(child)
            {
                let (child, status) = (child.thread, state.status);
                let problem = ChildProblem::Stands { child, status };
                return Ok(failed(self.thread, self.assignment, problem));
            }
        }
        Ok(crate::thread::busy(self.thread.id, None))
    }

    /// Returns what the steps of several children brought. If none of them did one, that is an error.
    fn reports(&mut self, ended: &[StepEnd]) -> Result<Vec<ChildReport>, EngineError> {
        self.look()?;
        let first = ended.iter().find(|one| one.problem.is_some());
        if let Some(first) = first
            && ended.iter().all(|one| one.problem.is_some())
        {
            let problem = ChildProblem::NotDone {
                child: first.thread,
                message: first.problem.clone().unwrap_or_default(),
                exit: first.exit,
            };
            return Err(failed(self.thread, self.assignment, problem));
        }
        let mut reports = Vec::new();
        for one in ended {
            let child = self
                .children
                .iter()
                .find(|child| child.thread == one.thread);
            let Some(child) = child else { continue };
            let state = self.state_of(child)?;
            let state = state.unwrap_or_else(|| ThreadState::plain(ThreadStatus::Completed));
            let head = child.place.as_ref().map(Located::head);
            let thread = head.map(|head| Thread::load(&self.runner.site.store, one.thread, head));
            let thread = thread.transpose()?;
            let last = thread.as_ref().and_then(Thread::last);
            let last = last.filter(|_| one.problem.is_none());
            reports.push(ChildReport {
                thread: one.thread,
                status: state.status,
                state,
                step: last.map(|step| step.hash),
                role: last.map(|step| step.node.role.clone()),
                child: None,
            });
        }
        Ok(reports)
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

/// Returns the state of a parent whose children did these steps.
pub(super) fn state_after(
    assignment: &Assignment,
    reports: &[ChildReport],
    children: &[Child],
) -> ThreadState {
    let role = &assignment.role;
    let has_more = children.len() > reports.len();
    match reports {
        [one] if !has_more => ThreadState::of_child(role, one.thread, &one.state),
        _ => ThreadState {
            current_role: Some(role.clone()),
            ..ThreadState::plain(ThreadStatus::Idle)
        },
    }
}

/// Returns the report with the children's reports in it.
pub(super) fn with_children(report: StepReport, reports: Vec<ChildReport>) -> StepReport {
    let mut reports = reports;
    match reports.len() {
        0 | 1 => StepReport {
            child: reports.pop(),
            ..report
        },
        _ => StepReport {
            children: reports,
            ..report
        },
    }
}
