//! What an error is about: a failed attempt, a kept step, a busy thread, the next attempt.

use serde::{Deserialize, Serialize};
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::EngineError;
use crate::agent_failure::AgentFailure;
use crate::planned_try::PlannedTry;
use crate::sharing::error::{SharingError, machine_of};

impl EngineError {
    /// Returns the failed attempt that this error is about, if it is about one.
    #[must_use]
    pub fn attempt(&self) -> Option<&AgentFailure> {
        match self {
            Self::Agent(failure) | Self::TakenOver(failure) => Some(failure),
            Self::Interrupted { attempt, .. } => Some(attempt),
            Self::Survivors {
                failed: Some(failed),
                ..
            } => failed.attempt(),
            Self::Child(error) => error.source_error()?.attempt(),
            _ => None,
        }
    }

    /// Returns the attempt that follows by itself, if the error is about a failure that it follows, or about the wait for it: in
    /// the thread itself, or in one that works for its next step.
    #[must_use]
    pub fn planned_try(&self) -> Option<&PlannedTry> {
        match self {
            Self::Agent(failure) => failure.next_try.as_ref(),
            Self::Waiting(waiting) => Some(&waiting.planned),
            Self::Child(error) => error.planned_try(),
            _ => None,
        }
    }

    /// Returns the finished step that is kept beside its thread, if the error is about one.
    #[must_use]
    pub fn kept_step(&self) -> Option<CasRef> {
        match self {
            Self::HeadMoved { step, .. } => Some(*step),
            Self::Child(error) => error.source_error()?.kept_step(),
            _ => None,
        }
    }

    /// Returns the thread that another process works on, if that is what is wrong: the thread itself, or one that works for
    /// its next step.
    #[must_use]
    pub fn busy(&self) -> Option<ThreadId> {
        match self {
            Self::Busy { thread, .. } => Some(*thread),
            Self::Child(error) => error.busy(),
            _ => None,
        }
    }

    /// Returns the thread that another machine works on, if that is what is wrong: the thread itself, or one that works for its next step.
    #[must_use]
    pub fn busy_elsewhere(&self) -> Option<BusyElsewhere> {
        match self {
            Self::Sharing(error) => match &**error {
                SharingError::Busy { thread, owner, .. } => Some(BusyElsewhere {
                    thread: *thread,
                    machine: machine_of(owner),
                }),
                _ => None,
            },
            Self::Child(error) => error.busy_elsewhere(),
            _ => None,
        }
    }
}

/// A thread that another machine works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyElsewhere {
    /// The thread.
    pub thread: ThreadId,
    /// What people call the machine.
    pub machine: String,
}
