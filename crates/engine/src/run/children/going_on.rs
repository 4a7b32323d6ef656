//! Doing cycles of the children of a step: of one in this process, of several side by side.

use std::rc::Rc;

use uwf_moderator::Joined;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{Located, State};

use super::round::Round;
use super::side_by_side::{self, Ended, StepEnd, Then};
use super::{Approach, advance, in_progress, of_child};
use crate::child_error::{ChildProblem, failed, failed_in};
use crate::children::Child;
use crate::children::used::Sums;
use crate::read::branch::Branch;
use crate::read::report::{ChildReport, StepReport};
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::run::admission;
use crate::run::cycle::{Pace, StepOptions};
use crate::thread::Thread;
use crate::{EngineError, Intervention};

/// How many child threads are made ahead of their turn if the call goes on to the last of them. One change of the state for
/// many costs little more than a change for one.
const MADE_AHEAD: usize = 32;

/// The result of cycles of children.
pub(super) struct Brought {
    /// What the caller was not told of yet.
    pub(super) reports: Vec<ChildReport>,
    /// Why none of them did a step, if none did.
    pub(super) problem: Option<EngineError>,
}

impl Round<'_> {
    /// Does cycles of the children that can go on.
    pub(super) fn step(&mut self, approach: Approach<'_>) -> Result<Brought, EngineError> {
        let wanted = match approach {
            Approach::Step(options) => self.that_can_go_on(options)?,
            Approach::Resume(_) => self.that_waits()?,
        };
        match (wanted.as_slice(), approach) {
            ([], Approach::Step(_)) => Err(self.nobody_can_go_on()?),
            ([], Approach::Resume(_)) => Err(EngineError::NotSuspended(self.thread.id)),
            ([one], _) => self.step_one(*one, approach),
            (
                several,
                Approach::Step(options) | Approach::Resume(Intervention { step: options, .. }),
            ) => self.step_several(several, options),
        }
    }

    /// Does one cycle of a child in this process.
    fn step_one(&mut self, index: usize, approach: Approach<'_>) -> Result<Brought, EngineError> {
        self.make(|other| other == index)?;
        let child = &self.children[index];
        let for_parent;
        let approach = match approach {
            Approach::Step(options) => {
                for_parent = self.for_parent(child, options);
                Approach::Step(&for_parent)
            }
            said @ Approach::Resume(_) => said,
        };
        let done = advance(self.runner, child, approach);
        if matches!(done, Err(EngineError::Ended { .. })) {
            // An agent that had outlived its engine has ended it meanwhile.
            return Ok(Brought {
                reports: Vec::new(),
                problem: None,
            });
        }
        Ok(match done {
            Ok(done) => Brought {
                reports: vec![ChildReport::new(Branch::from(&child.planned), &done)],
                problem: None,
            },
            Err(error) => Brought {
                reports: self.reports(&[StepEnd::failed(child.thread)])?,
                problem: Some(of_child(self.thread, self.assignment, child, error)),
            },
        })
    }

    /// Returns how a child is stepped in this process: what its own branches do is reported as what the thread's child does.
    fn for_parent(&self, child: &Child, options: &StepOptions) -> StepOptions {
        let Pace::ToTheEnd(tell) = &options.pace else {
            return options.clone();
        };
        let (tell, report) = (tell.clone(), self.at_work_report());
        let branch = Branch::from(&child.planned);
        let tell_parent = move |of_child: &StepReport| {
            let child = ChildReport::new(branch.clone(), of_child);
            tell(&report.clone().with_children(vec![child]));
        };
        StepOptions {
            pace: Pace::ToTheEnd(Rc::new(tell_parent)),
            ..options.clone()
        }
    }

    /// Does one cycle of each of these children at once; and further cycles, if the caller wants that.
    fn step_several(
        &mut self,
        several: &[usize],
        options: &StepOptions,
    ) -> Result<Brought, EngineError> {
        let (runner, config) = (self.runner, &self.admitted.config);
        let threads = self.ready(several, options)?;
        let ended = side_by_side::step(runner, &threads, options, config, &mut |end| {
            self.after(end, options)
        })?;
        let ended = match ended {
            Ended::All(ended) => ended,
            Ended::Interrupted(signal) => {
                let problem = ChildProblem::Interrupted(signal);
                return Err(failed(self.thread.id, &self.assignment.role, problem));
            }
        };
        self.at_work.clear();
        self.look()?;
        let reports = match options.pace {
            Pace::OneRound => self.reports(&ended)?,
            Pace::ToTheEnd(_) => Vec::new(),
        };
        let is_nothing_done = ended.iter().all(|one| one.problem.is_some());
        // A busy child only has to be waited for, and one that is tried again by itself, too. What went wrong with another
        // one matters more.
        let matters = |one: &&StepEnd| (one.exit == Exit::Busy, one.next_try.is_some());
        let problem = ended
            .iter()
            .min_by_key(matters)
            .filter(|_| is_nothing_done)
            .map(|one| self.not_done(one));
        Ok(Brought { reports, problem })
    }

    /// Returns the error that no child did its step, with what this one said.
    fn not_done(&self, one: &StepEnd) -> EngineError {
        let child = self
            .children
            .iter()
            .find(|child| child.thread == one.thread);
        let branch = child.map(|child| Branch::from(&child.planned).to_string());
        let problem = ChildProblem::NotDone {
            child: one.thread,
            message: one.problem.clone().unwrap_or_default(),
            exit: one.exit,
            busy: one.busy,
            elsewhere: one.elsewhere.clone(),
            next_try: one.next_try.clone(),
        };
        failed_in(
            self.thread.id,
            &self.assignment.role,
            branch.unwrap_or_default(),
            problem,
        )
    }

    /// Returns the report of the thread while its children work.
    fn at_work_report(&self) -> StepReport {
        let state = ThreadState {
            current_role: Some(self.assignment.role.clone()),
            ..ThreadState::plain(ThreadStatus::Running)
        };
        in_progress(self.thread, self.assignment, state)
    }

    /// Makes these children if they are not there, and returns their ids: they are at work from now on.
    fn ready(
        &mut self,
        wanted: &[usize],
        options: &StepOptions,
    ) -> Result<Vec<ThreadId>, EngineError> {
        let is_unmade = |index: &usize| self.children[*index].place.is_none();
        if wanted.iter().any(is_unmade) {
            let last = wanted.iter().max().copied().unwrap_or_default();
            let soon = last..=last + self.made_ahead(&options.pace);
            self.make(|index| wanted.contains(&index) || soon.contains(&index))?;
        }
        let threads: Vec<ThreadId> = wanted
            .iter()
            .map(|index| self.children[*index].thread)
            .collect();
        for index in wanted {
            let child = &self.children[*index];
            let head = child.place.as_ref().map(Located::head);
            self.heads.extend(head.map(|head| (child.thread, head)));
        }
        self.at_work.extend(&threads);
        self.made_here.retain(|made| !threads.contains(made));
        Ok(threads)
    }

    /// Returns how many children are made ahead of their turn.
    fn made_ahead(&self, pace: &Pace) -> usize {
        match pace {
            Pace::ToTheEnd(_) if !self.may_be_decided_early() => MADE_AHEAD,
            Pace::OneRound | Pace::ToTheEnd(_) => 0,
        }
    }

    /// Says what happens when the cycle of a child has ended.
    fn after(&mut self, ended: &StepEnd, options: &StepOptions) -> Result<Then, EngineError> {
        self.at_work.retain(|one| *one != ended.thread);
        let Pace::ToTheEnd(tell) = &options.pace else {
            if self.may_be_decided_early() {
                self.look()?;
                return Ok(self.end_the_rest());
            }
            return Ok(Then::Wait);
        };
        self.look_at(ended.thread)?;
        for report in self.reports(std::slice::from_ref(ended))? {
            let has_stopped = match report.status {
                // Another agent may make the next attempt at once, or the same one later.
                ThreadStatus::Idle => ended.problem.is_some() && ended.next_try.is_none(),
                ThreadStatus::Waiting => false,
                _ => true,
            };
            if has_stopped {
                self.stopped_here.insert(ended.thread);
            }
            tell(&self.at_work_report().with_children(vec![report]));
        }
        if self.joined() != Joined::Open {
            return Ok(self.end_the_rest());
        }
        if !self.may_go_on()? {
            return Ok(Then::Wait);
        }
        let next = self.that_can_go_on(options)?;
        Ok(Then::Start(self.ready(&next, options)?))
    }

    /// Decides whether the branches at work are ended: they are if the join is decided and one of them has not ended.
    fn end_the_rest(&self) -> Then {
        let mut at_work = self
            .children
            .iter()
            .filter(|child| self.at_work.contains(&child.thread));
        match self.joined() == Joined::Open || at_work.all(Child::is_ended) {
            true => Then::Wait,
            false => Then::Enough,
        }
    }

    /// Tells whether further cycles may begin: nobody has ended or paused the thread, and it has reached no limit.
    fn may_go_on(&self) -> Result<bool, EngineError> {
        let site = &self.runner.site;
        let run = site.root.run(self.thread.id);
        let head = State::new(&site.root).head(self.thread.id)?;
        if head != Some(self.thread.expected_head()) || run.pause.read()?.is_some() {
            return Ok(false);
        }
        let (thread, role) = (self.thread, &self.assignment.role);
        let admitted = self.admitted;
        if !admission::has_limits(thread, &admitted.config) {
            return Ok(true);
        }
        let mut sums = Sums::read(&run.ledger);
        let by_children = sums.of(site, &self.children)?;
        sums.keep()?;
        let reached = admission::reached(site, &run, (thread, role), admitted, by_children)?;
        Ok(reached.is_empty())
    }

    /// Returns the reports of these cycles, in the order of the branches.
    fn reports(&self, ended: &[StepEnd]) -> Result<Vec<ChildReport>, EngineError> {
        let mut reports = Vec::new();
        for child in &self.children {
            let one = ended.iter().find(|one| one.thread == child.thread);
            let Some(one) = one else { continue };
            let state = self.state_of(child)?;
            let state = state.unwrap_or_else(|| ThreadState::plain(ThreadStatus::Completed));
            let head = child.place.as_ref().map(Located::head);
            let thread = head.map(|head| Thread::load(&self.runner.site.store, one.thread, head));
            let thread = thread.transpose()?;
            let last = thread.as_ref().and_then(Thread::last);
            // If a child of the child did a step, its own head did not move.
            let last = last.filter(|last| self.heads.get(&one.thread) != Some(&last.hash));
            let last = last.filter(|_| one.problem.is_none());
            reports.push(ChildReport {
                branch: Branch::from(&child.planned),
                thread: one.thread,
                status: state.status,
                state,
                step: last.map(|step| step.hash),
                role: last.map(|step| step.node.role.clone()),
                child: None,
                children: Vec::new(),
                steps: one.steps,
            });
        }
        Ok(reports)
    }
}
