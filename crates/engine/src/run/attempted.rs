//! An attempt that is being made, and what went wrong in it.

use std::path::PathBuf;

use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::run::{ChosenAgent, Phase};
use uwf_util::mask::Masks;

use crate::agent_choice::AgentChoice;
use crate::describe::signal_name;

/// The command of `uwf thread` that makes an attempt, and that repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verb {
    /// `step`.
    Step,
    /// `resume`, with the message of a person.
    Resume(Option<String>),
    /// `poke`, with the message of a person.
    Poke(Option<String>),
}

impl Verb {
    /// Returns the message of a person, if there is one.
    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Step => None,
            Self::Resume(message) | Self::Poke(message) => message.as_deref(),
        }
    }

    /// Returns what a person says to the question of the role, if it asked one.
    pub(crate) fn answer(&self) -> Option<&str> {
        match self {
            Self::Resume(message) => message.as_deref(),
            Self::Step | Self::Poke(_) => None,
        }
    }
}

/// An attempt that is being made: what its record needs if it fails.
pub(crate) struct Attempted {
    pub(crate) head: CasRef,
    pub(crate) replaces: Option<CasRef>,
    pub(crate) role: RoleName,
    /// The label of the agent.
    pub(crate) agent: String,
    pub(crate) alias: Option<String>,
    /// Where the agent worked.
    pub(crate) directory: PathBuf,
    pub(crate) chosen: ChosenAgent,
    pub(crate) verb: Verb,
    pub(crate) started_at_ms: i64,
    /// The secrets that its record must not show.
    pub(crate) masks: Masks,
}

impl Attempted {
    /// Returns what the command line chose.
    pub(crate) fn choice(&self) -> AgentChoice {
        self.chosen.clone().into()
    }
}

/// What went wrong in an attempt, as the engine sees it.
pub(crate) struct Problem {
    pub(crate) phase: Phase,
    pub(crate) class: FailureClass,
    pub(crate) text: String,
    pub(crate) exit_code: Option<i32>,
    pub(crate) hint: Option<String>,
    pub(crate) cause: Cause,
}

/// Whose doing a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The agent's.
    Agent,
    /// This signal told us to stop.
    Signal(i32),
    /// Another machine has taken over the shared thread.
    TakenOver,
}

impl Problem {
    /// Returns the problem of an answer that the engine refused.
    pub(crate) fn refused(why: String) -> Self {
        Self {
            phase: Phase::Answer,
            class: FailureClass::BadAnswer,
            text: why,
            exit_code: None,
            hint: None,
            cause: Cause::Agent,
        }
    }

    /// Returns the problem of a run that was ended because a signal told us to stop.
    pub(crate) fn interrupted(signal: i32) -> Self {
        Self {
            phase: Phase::Agent,
            class: FailureClass::Cancelled,
            text: format!("interrupted by {}", signal_name(signal)),
            exit_code: None,
            hint: None,
            cause: Cause::Signal(signal),
        }
    }

    /// Returns the problem of a run that was ended because its step would not be in the thread. `why` says why the lease was lost.
    pub(crate) fn taken_over(why: &str) -> Self {
        Self {
            phase: Phase::Agent,
            class: FailureClass::Cancelled,
            text: format!(
                "this machine no longer has the lease of the thread, so the agent was ended: {why}"
            ),
            exit_code: None,
            hint: None,
            cause: Cause::TakenOver,
        }
    }
}
