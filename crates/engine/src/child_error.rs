//! What can go wrong with a role that child threads play.

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_protocol::limits::Reached;
use uwf_util::causes::with_causes;

use crate::EngineError;
use crate::describe::{describe_reached, signal_name};
use crate::error::about::BusyElsewhere;
use crate::planned_try::PlannedTry;
use crate::read::thread_state::ThreadStatus;

/// Why the child threads of a step could not go on.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{role}` of thread `{thread}` is played by other threads: {}{problem}",
    describe_branch(branch)
)]
pub struct ChildError {
    /// The thread whose role they play.
    pub thread: ThreadId,
    /// The role.
    pub role: RoleName,
    /// The branch that it is about, and its item; empty if it is about none.
    pub branch: String,
    /// What is wrong.
    pub problem: ChildProblem,
}

fn describe_branch(branch: &str) -> String {
    match branch {
        "" => String::new(),
        branch => format!("branch `{branch}`: "),
    }
}

/// Returns the error of a thread whose role is played by others.
pub(crate) fn failed(thread: ThreadId, role: &RoleName, problem: ChildProblem) -> EngineError {
    failed_in(thread, role, String::new(), problem)
}

/// Returns the error of a thread that is about one of the branches of its role.
pub(crate) fn failed_in(
    thread: ThreadId,
    role: &RoleName,
    branch: String,
    problem: ChildProblem,
) -> EngineError {
    EngineError::Child(Box::new(ChildError {
        thread,
        role: role.clone(),
        branch,
        problem,
    }))
}

/// What is wrong with the child threads of a step.
#[derive(Debug, thiserror::Error)]
pub enum ChildProblem {
    /// Nobody can say which child threads are needed.
    #[error("it is unknown which threads do the work: {0}")]
    Unknown(String),
    /// A child thread would have more threads above it than the config allows.
    #[error("a child thread would have {depth} threads above it, and {most} are allowed")]
    TooDeep {
        /// How many threads would be above it.
        depth: u64,
        /// How many may be.
        most: u64,
    },
    /// The result of a child thread does not fit the role that it plays.
    #[error("what thread `{child}` returned does not fit the schema of the role: {problem}")]
    Misfit {
        /// The child.
        child: ThreadId,
        /// What does not fit.
        problem: String,
    },
    /// A child thread works for the next step, and would be left behind.
    #[error("thread `{child}` works for the next step, and would be left behind")]
    AtWork {
        /// The child.
        child: ThreadId,
        /// Whether it has come to its end.
        ended: bool,
    },
    /// Several child threads did the step, which a person wants to be done again.
    #[error("{0} threads did the step, and only the step of one can be done again")]
    Several(usize),
    /// The thread that did the step, which a person wants to be done again, is no child of this one: it works for the thread of
    /// which this is a fork, or it was removed.
    #[error("thread `{0}` did the step, and does not work for this thread")]
    Elsewhere(ThreadId),
    /// The child thread that did the newest step does it again.
    #[error("thread `{0}` did the newest step, and is at work on it again")]
    DoneAgain(ThreadId),
    /// A child thread did work that the next step of its parent needs.
    #[error("thread `{0}` did work that the next step needs, and it would be done again")]
    Needed(ThreadId),
    /// A child thread waits for a person.
    #[error("thread `{child}` asks: {message}")]
    Waits {
        /// The child, or a child of it.
        child: ThreadId,
        /// The thread that takes the answer, if it is not the one whose role is played.
        taken_by: Option<ThreadId>,
        /// What is asked.
        message: String,
    },
    /// A child thread is a run of a pipeline, and has failed.
    #[error("thread `{child}` is a run of a pipeline that has failed: {message}")]
    Stopped {
        /// The child, or a child of it.
        child: ThreadId,
        /// The thread that lets it go on, if it is not the one whose role is played.
        taken_by: Option<ThreadId>,
        /// Which step failed, and why.
        message: String,
    },
    /// A child thread has reached a limit.
    #[error("thread `{child}` is suspended: {}", describe_reached(reached))]
    Limit {
        /// The child, or a child of it.
        child: ThreadId,
        /// The thread whose limits are raised, if it is not the one whose role is played.
        taken_by: Option<ThreadId>,
        /// The limits that must be raised.
        reached: Vec<Reached>,
    },
    /// Children were ended, because a signal told us to stop.
    #[error("the step was interrupted by {}, and the agents of the children were ended", signal_name(*.0))]
    Interrupted(i32),
    /// A child thread cannot go on.
    #[error("thread `{child}` is {}", status.as_str())]
    Stands {
        /// The child.
        child: ThreadId,
        /// Its status.
        status: ThreadStatus,
    },
    /// None of several child threads did its step.
    #[error("thread `{child}`: {message}")]
    NotDone {
        /// One of them.
        child: ThreadId,
        /// What its step said.
        message: String,
        /// The exit code of that step.
        exit: Exit,
        /// The thread that another process works on, if that is why: the child, or a child of it.
        busy: Option<ThreadId>,
        /// The thread that another machine works on, if that is why.
        elsewhere: Option<BusyElsewhere>,
        /// The attempt that follows by itself, if one does.
        next_try: Option<PlannedTry>,
    },
    /// A child thread did not do its step.
    #[error("thread `{child}`: {}", with_causes(source))]
    Failed {
        /// The child.
        child: ThreadId,
        /// What the step of the child said.
        source: Box<EngineError>,
    },
}

impl ChildProblem {
    /// Says that a child of a run takes what a person says: the run itself takes nothing.
    pub(crate) fn taken_by_child(mut self, of_run: ThreadId) -> Self {
        if let Self::Waits { taken_by, .. }
        | Self::Stopped { taken_by, .. }
        | Self::Limit { taken_by, .. } = &mut self
        {
            taken_by.get_or_insert(of_run);
        }
        self
    }
}

impl ChildError {
    /// Returns the thread that a person has to resume before the step is done.
    #[must_use]
    pub fn resumed(&self) -> ThreadId {
        match &self.problem {
            ChildProblem::Waits { taken_by, .. }
            | ChildProblem::Stopped { taken_by, .. }
            | ChildProblem::Limit { taken_by, .. } => taken_by.unwrap_or(self.thread),
            _ => self.thread,
        }
    }

    /// Returns the exit code that this error means.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match &self.problem {
            ChildProblem::Waits { .. }
            | ChildProblem::Stopped { .. }
            | ChildProblem::Limit { .. } => Exit::Suspended,
            ChildProblem::Failed { source, .. } => source.exit(),
            ChildProblem::DoneAgain(_) => Exit::Busy,
            ChildProblem::NotDone { exit, .. } => *exit,
            ChildProblem::Interrupted(signal) => Exit::Signal(*signal),
            ChildProblem::Stands { status, .. } => match status {
                ThreadStatus::Running | ThreadStatus::Waiting => Exit::Busy,
                ThreadStatus::Paused | ThreadStatus::Suspended => Exit::Suspended,
                _ => Exit::Request,
            },
            ChildProblem::Unknown(_)
            | ChildProblem::TooDeep { .. }
            | ChildProblem::AtWork { .. }
            | ChildProblem::Several(_)
            | ChildProblem::Elsewhere(_)
            | ChildProblem::Needed(_)
            | ChildProblem::Misfit { .. } => Exit::Request,
        }
    }

    /// Returns the child that another process works on, if that is what is wrong.
    pub(crate) fn busy(&self) -> Option<ThreadId> {
        match &self.problem {
            ChildProblem::Failed { source, .. } => source.busy(),
            ChildProblem::Stands { child, status } => {
                (*status == ThreadStatus::Running).then_some(*child)
            }
            ChildProblem::NotDone { busy, .. } => *busy,
            _ => None,
        }
    }

    /// Returns the thread that another machine works on, if that is what is wrong.
    pub(crate) fn busy_elsewhere(&self) -> Option<BusyElsewhere> {
        match &self.problem {
            ChildProblem::Failed { source, .. } => source.busy_elsewhere(),
            ChildProblem::NotDone { elsewhere, .. } => elsewhere.clone(),
            _ => None,
        }
    }

    /// Returns the attempt in a child that follows by itself, if the child failed or waits for it.
    pub(crate) fn planned_try(&self) -> Option<&PlannedTry> {
        match &self.problem {
            ChildProblem::Failed { source, .. } => source.planned_try(),
            ChildProblem::NotDone { next_try, .. } => next_try.as_ref(),
            _ => None,
        }
    }

    /// Returns what the step of a child said, if that is what is wrong.
    #[must_use]
    pub fn source_error(&self) -> Option<&EngineError> {
        match &self.problem {
            ChildProblem::Failed { source, .. } => Some(source),
            ChildProblem::Unknown(_)
            | ChildProblem::TooDeep { .. }
            | ChildProblem::AtWork { .. }
            | ChildProblem::Several(_)
            | ChildProblem::Elsewhere(_)
            | ChildProblem::Needed(_)
            | ChildProblem::DoneAgain(_)
            | ChildProblem::Misfit { .. }
            | ChildProblem::Waits { .. }
            | ChildProblem::Stopped { .. }
            | ChildProblem::Interrupted(_)
            | ChildProblem::Stands { .. }
            | ChildProblem::NotDone { .. }
            | ChildProblem::Limit { .. } => None,
        }
    }
}
