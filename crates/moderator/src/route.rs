//! The route of a thread as a value: what it does next.

use uwf_protocol::ids::RoleName;
use uwf_protocol::program::Program;
use uwf_protocol::work::Work;

use crate::route_error::RouteError;

/// What a thread does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Route {
    /// A role does a step.
    To(Assignment),
    /// The thread waits until a person answers the role.
    Suspend {
        /// The role that asked. It runs again when the thread is resumed.
        role: RoleName,
        /// What the person is asked.
        message: String,
    },
    /// A step of a pipeline failed, and that stopped the run. A person may let it go on.
    Stop {
        /// The step.
        role: RoleName,
        /// Why it failed.
        message: String,
    },
    /// The thread is complete.
    End {
        /// What it results in.
        result: EndResult,
    },
}

/// What a complete thread results in: the prompt of its edge to `$END`, filled in; `None` if there is none. The error says
/// why it could not be filled in. That keeps no thread from its end: its work is done.
pub type EndResult = Result<Option<String>, Box<RouteError>>;

/// The next step: its role and its instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The role.
    pub role: RoleName,
    /// The instruction; empty if the edge of a list has none. For a role with branches it is the template: each branch fills it
    /// in for itself.
    pub prompt: String,
    /// The working directory; `None` is the thread's own.
    pub location: Option<String>,
    /// The kind of worker that does the step.
    pub performer: Performer,
}

/// The kind of worker that does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Performer {
    /// An agent. The command line or the config says which one.
    Agent,
    /// Child threads. The definition of the role says which ones.
    Children,
    /// The engine itself: the step is a task of a pipeline.
    Engine,
}

impl Performer {
    /// Returns who does the work of a role of a program.
    #[must_use]
    pub fn of_role(program: &Program, role: &RoleName) -> Self {
        Self::of(program.task(role).map(|role| &role.work))
    }

    /// Returns who does this work. A role without a definition is an agent's: starting it fails with a message of its own.
    pub(crate) fn of<S>(work: Option<&Work<S>>) -> Self {
        match work {
            Some(Work::Agent) | None => Self::Agent,
            Some(Work::Workflow(_) | Work::Branches(_)) => Self::Children,
        }
    }
}

/// How many steps of a thread are needed to decide what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryNeed {
    /// The newest step is enough.
    LastStep,
    /// Every step, because a condition may look at any of them.
    All,
}
