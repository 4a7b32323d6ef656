//! What a remote tells about itself and its threads.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::run::ThreadRecord;

use crate::RemoteError;
use crate::lease::Owner;

/// What a remote is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The version of what is stored there.
    pub version: u32,
    /// The least version of clients that may use it.
    pub least_client: u32,
    /// What tells it from all other remotes.
    pub store: String,
    /// What it can do beyond what every remote can.
    pub abilities: Abilities,
}

/// What only some kinds of remotes can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it gives [the next ready thread](crate::Which::Next).
    pub gives_next: bool,
}

/// Which threads a list is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// The threads with one of these statuses. If it is empty, the status does not matter.
    pub statuses: Vec<HeadStatus>,
    /// The threads with this label. If there is none, the label does not matter.
    pub label: Option<Label>,
}

/// A thread that was looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What a list says about it.
    pub listed: Listed,
    /// What its limits depend on.
    pub record: ThreadRecord,
    /// Whether it has, or had before, the head that the caller asked about.
    pub had: bool,
}

/// One of several threads that were looked for: what is known about it, or what makes no sense about it.
pub type FoundOne = (ThreadId, Result<Found, RemoteError>);

/// A thread in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The thread.
    pub thread: ThreadId,
    /// Its workflow.
    pub workflow: CasRef,
    /// Its head.
    pub head: CasRef,
    /// Whether a step can be done there.
    pub status: HeadStatus,
    /// The label that a worker must have that takes the next thread.
    pub label: Option<Label>,
    /// Who works on it, and how long that lease still lasts.
    pub busy: Option<(Owner, Duration)>,
}
