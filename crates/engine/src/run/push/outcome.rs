//! What became of threads that were pushed.

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};

use super::label::Relabelled;

/// What became of a thread that was pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PushOutcome {
    /// It is shared from now on.
    Shared,
    /// The remote has got its new steps.
    Forwarded,
    /// The remote had all its steps already.
    Unchanged,
    /// Other machines have gone on with it: the remote has more steps.
    Behind,
    /// A person has ended it here, and the remote knows that now.
    Ended,
}

/// A thread that was pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// The thread.
    pub thread: ThreadId,
    /// Its head here.
    pub head: CasRef,
    /// What became of it.
    pub outcome: PushOutcome,
    /// How many nodes were sent.
    pub nodes: usize,
    /// The step that had waited here and is kept beside it, because others have gone on with it or ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<CasRef>,
    /// What became of its label, if it was shared before and another label was asked for.
    #[serde(flatten)]
    pub relabelled: Option<Relabelled>,
}

impl Pushed {
    /// Tells whether a thread that was pushed with another one is worth a line for the user.
    pub(super) fn is_news(&self) -> bool {
        self.outcome != PushOutcome::Unchanged || self.kept.is_some() || self.relabelled.is_some()
    }
}
