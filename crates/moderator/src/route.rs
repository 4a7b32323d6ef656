//! The decision as a value: who does what next.

use uwf_protocol::ids::RoleName;

/// What a thread does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// A role does a step.
    To(Assignment),
    /// The thread waits until a person answers the role.
    Suspend {
        /// The role that asked, and that goes on when the thread is resumed.
        role: RoleName,
        /// What the person is asked.
        message: String,
    },
    /// The thread is complete.
    End,
}

/// What a role is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The role.
    pub role: RoleName,
    /// The instruction; empty if the edge of a list has none.
    pub prompt: String,
    /// The working directory; `None` is the thread's own.
    pub location: Option<String>,
    /// What kind of worker does it.
    pub performer: Performer,
}

/// What kind of worker does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Performer {
    /// An agent. The command line or the config says which one.
    Agent,
}

/// How much of a thread must be seen to decide what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryNeed {
    /// The newest step is enough.
    LastStep,
    /// Every step, because a condition may look at any of them.
    All,
}
