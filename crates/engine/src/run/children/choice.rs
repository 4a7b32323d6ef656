//! Which children of a step can go on, and what the thread waits for if none can.

use uwf_protocol::work::Work;
use uwf_storage::Located;

use super::of_child;
use super::round::Round;
use crate::child_error::{ChildProblem, failed_in};
use crate::children::Child;
use crate::planned_try::Waiting;
use crate::read::branch::Branch;
use crate::read::standing::state_of_child;
use crate::read::thread_state::{HeldBy, ThreadState, ThreadStatus};
use crate::run::cycle::{Early, StepOptions};
use crate::{EngineError, limits};

/// How many children are stepped at once, if the workflow does not say.
const USUALLY_AT_ONCE: u64 = 4;

/// Whether a child can go on.
enum GoesOn {
    /// Somebody works on it, such as a call whose parent died.
    Already,
    Now,
    /// If no other one can: it has failed.
    Later,
    /// Not before the time of its next attempt.
    NotYet,
    No,
}

impl Round<'_> {
    /// Chooses the children to step, so that no more are at work than may be. Those that have started are preferred, and those whose
    /// last attempt failed fill what is left. The result is in the order of the branches.
    pub(super) fn that_can_go_on(
        &mut self,
        options: &StepOptions,
    ) -> Result<Vec<usize>, EngineError> {
        let (mut at_work, mut ready, mut failed) = (0, Vec::new(), Vec::new());
        let (started, new): (Vec<usize>, Vec<usize>) =
            (0..self.children.len()).partition(|index| self.children[*index].place.is_some());
        for index in started {
            match self.can_go_on(&self.children[index], options.early)? {
                GoesOn::No => {
                    self.stopped_here.insert(self.children[index].thread);
                }
                GoesOn::NotYet => {}
                GoesOn::Already => at_work += 1,
                GoesOn::Now => ready.push(index),
                GoesOn::Later => failed.push(index),
            }
        }
        let room = self.most_at_once(options.jobs).saturating_sub(at_work);
        let all = ready.into_iter().chain(new).chain(failed);
        let mut found: Vec<usize> = all.take(room).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Returns how many children may be at work at once. A caller may want fewer than the workflow allows.
    fn most_at_once(&self, jobs: Option<usize>) -> usize {
        let most = match self.work() {
            Some(Work::Branches(branches)) => branches.max.unwrap_or(USUALLY_AT_ONCE),
            Some(Work::Workflow(_) | Work::Agent) | None => 1,
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        jobs.map_or(most, |jobs| most.min(jobs))
    }

    fn can_go_on(&self, child: &Child, early: Early) -> Result<GoesOn, EngineError> {
        if self.at_work.contains(&child.thread) {
            return Ok(GoesOn::Already);
        }
        if self.stopped_here.contains(&child.thread) || child.is_ended() {
            return Ok(GoesOn::No);
        }
        if self.busy_elsewhere(child).is_some() {
            return Ok(GoesOn::Already);
        }
        if self.made_here.contains(&child.thread) {
            return Ok(GoesOn::Now);
        }
        if self.has_failed(child) {
            return Ok(GoesOn::No);
        }
        let state = self.state_of(child)?;
        Ok(match state.map(|state| state.status) {
            // A child alone says itself why it cannot go on.
            _ if self.children.len() == 1 => GoesOn::Now,
            None | Some(ThreadStatus::Idle) => GoesOn::Now,
            Some(ThreadStatus::Failed) => GoesOn::Later,
            Some(ThreadStatus::Waiting) if early == Early::TryNow => GoesOn::Later,
            Some(ThreadStatus::Waiting) => GoesOn::NotYet,
            Some(ThreadStatus::Running) => GoesOn::Already,
            Some(_) => GoesOn::No,
        })
    }

    /// Returns the error of a child on which another machine works, if one does.
    fn busy_elsewhere(&self, child: &Child) -> Option<EngineError> {
        self.shared?.busy_child(child.thread)
    }

    /// Returns the first suspended child. An only child is returned in any state: its own resume says why it fails. One that was
    /// not made yet has asked nothing.
    pub(super) fn that_waits(&self) -> Result<Vec<usize>, EngineError> {
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

    pub(super) fn state_of(&self, child: &Child) -> Result<Option<ThreadState>, EngineError> {
        let site = &self.runner.site;
        state_of_child(site, child, &limits::config_for_views(site))
    }

    /// Returns the error that no child can go on: what the first one waits for.
    pub(super) fn nobody_can_go_on(&self) -> Result<EngineError, EngineError> {
        if let Some(error) = self.that_waits_least()? {
            return Ok(error);
        }
        for child in &self.children {
            let Some(state) = self.state_of(child)? else {
                continue;
            };
            let branch = branches_to(child, &state);
            let child = state.waiting_child.unwrap_or(child.thread);
            let problem = match state.status {
                ThreadStatus::Suspended if state.held_by == Some(HeldBy::Limit) => {
                    ChildProblem::Limit {
                        child,
                        taken_by: None,
                        reached: state.reached,
                    }
                }
                ThreadStatus::Suspended if state.held_by == Some(HeldBy::Failure) => {
                    ChildProblem::Stopped {
                        child,
                        taken_by: None,
                        message: state.suspend_message.unwrap_or_default(),
                    }
                }
                ThreadStatus::Suspended => ChildProblem::Waits {
                    child,
                    taken_by: None,
                    message: state.suspend_message.unwrap_or_default(),
                },
                _ => continue,
            };
            return Ok(failed_in(
                self.thread.id,
                &self.assignment.role,
                branch,
                problem,
            ));
        }
        for child in &self.children {
            if let Some(error) = self.busy_elsewhere(child) {
                return Ok(of_child(self.thread, self.assignment, child, error));
            }
            if let Some(state) = self.state_of(child)?
                && !self.has_failed(child)
            {
                if matches!(state.status, ThreadStatus::Idle | ThreadStatus::Failed) {
                    // Somebody who worked on it has just ended.
                    return Ok(crate::thread::busy(child.thread, None));
                }
                let branch = branches_to(child, &state);
                let (child, status) = (child.thread, state.status);
                let problem = ChildProblem::Stands { child, status };
                return Ok(failed_in(
                    self.thread.id,
                    &self.assignment.role,
                    branch,
                    problem,
                ));
            }
        }
        Ok(crate::thread::busy(self.thread.id, None))
    }
}

impl Round<'_> {
    /// Returns the error of the child whose next attempt comes first, if a child waits for one.
    fn that_waits_least(&self) -> Result<Option<EngineError>, EngineError> {
        let mut found = Vec::new();
        for child in &self.children {
            let state = self.state_of(child)?;
            let waits = state.and_then(|state| Some((state.next_try?, state.current_role?)));
            found.extend(waits.map(|waits| (child, waits)));
        }
        let first = found.into_iter().min_by_key(|(_, (next, _))| next.at_ms);
        Ok(first.map(|(child, (planned, role))| {
            let error = Waiting {
                planned,
                role,
                class: None,
            };
            of_child(
                self.thread,
                self.assignment,
                child,
                EngineError::Waiting(Box::new(error)),
            )
        }))
    }
}

/// Returns the branches from a child down to the one that it waits for.
fn branches_to(child: &Child, state: &ThreadState) -> String {
    let below = state.caused_by.as_ref().map(|below| below.branches());
    let mut branches = vec![Branch::from(&child.planned).to_string()];
    branches.extend(below);
    branches.retain(|branch| !branch.is_empty());
    branches.join(" / ")
}
