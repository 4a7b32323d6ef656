//! What needs the nodes of a store: the threads and workflows that the files of the state name.

pub(crate) mod push;

use std::fmt;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Root, State};

use crate::EngineError;

/// What needs a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// An active thread: the node is its head.
    Head(ThreadId),
    /// An ended thread: the node is its head.
    EndedHead(ThreadId),
    /// An ended thread: the node is its workflow.
    EndedWorkflow(ThreadId),
    /// A thread: the node is a step that was done again.
    Replaced(ThreadId),
    /// The workflow that has this name.
    Workflow(String),
}

impl fmt::Display for Need {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head(thread) => write!(out, "the head of thread `{thread}`"),
            Self::EndedHead(thread) => write!(out, "the head of the ended thread `{thread}`"),
            Self::EndedWorkflow(thread) => {
                write!(out, "the workflow of the ended thread `{thread}`")
            }
            Self::Replaced(thread) => write!(out, "a replaced step of thread `{thread}`"),
            Self::Workflow(name) => write!(out, "the workflow `{name}`"),
        }
    }
}

/// The nodes that the files of the state refer to.
pub(crate) struct Needs {
    /// Nodes that must be in the store.
    pub(crate) needed: Vec<(CasRef, Need)>,
    /// Nodes that may be missing.
    pub(crate) useful: Vec<CasRef>,
}

impl Needs {
    /// Reads the needs of a root. Heads come before the history, because a thread that ends is in the history before its
    /// head goes.
    pub(crate) fn of(root: &Root) -> Result<Self, EngineError> {
        let state = State::new(root);
        let heads = state.heads()?.into_iter();
        let mut needed: Vec<(CasRef, Need)> = heads
            .map(|(thread, head)| (head, Need::Head(thread)))
            .collect();
        let history = state.history()?;
        for record in history.records {
            needed.push((record.head, Need::EndedHead(record.thread)));
            needed.push((record.workflow, Need::EndedWorkflow(record.thread)));
        }
        let mut useful = Vec::new();
        for step in history.replaced {
            needed.push((step.replaced, Need::Replaced(step.in_thread)));
            useful.push(step.by);
        }
        let workflows = state.workflows()?.into_iter();
        needed.extend(workflows.map(|(name, hash)| (hash, Need::Workflow(name))));
        // The earlier workflows of a name can get it back. The registry is read before them: what it has lost meanwhile
        // is on record.
        let earlier = state.registry_history()?.changes.into_iter();
        useful.extend(earlier.filter_map(|change| change.hash));
        Ok(Self { needed, useful })
    }
}
