//! The head of a thread: its start, or one of its steps.

use serde::Deserialize;
use uwf_cas_fs::{Node, Store};
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{StartNode, StepNode};

use crate::{Expected, ThreadError};

/// A stored node of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<T> {
    /// Its hash.
    pub hash: CasRef,
    /// Its content.
    pub node: T,
    /// When it was first stored, in milliseconds since 1970.
    pub timestamp_ms: i64,
}

/// The head of a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Head {
    /// The thread has no step yet.
    Start(Stored<StartNode>),
    /// The newest step.
    Step(Stored<StepNode>),
}

impl Head {
    /// Reads a head, of this version's shape or an older one.
    ///
    /// # Errors
    /// When the node is neither a start nor a step, or cannot be read.
    pub fn read(store: &Store, hash: CasRef) -> Result<Self, ThreadError> {
        let node = store.need(hash)?;
        Self::of(hash, &node).ok_or(ThreadError::WrongType {
            hash,
            expected: Expected::Head,
            found: node.type_hash,
        })
    }

    /// Returns a node as a head; `None` if it is neither a start nor a step. Its fields decide, not its type: older versions
    /// used other schemas. A node with the field `start` is a step.
    #[must_use]
    pub fn of(hash: CasRef, node: &Node) -> Option<Self> {
        let timestamp_ms = node.timestamp_ms;
        if node.payload.get("start").is_some() {
            let node = StepNode::deserialize(&node.payload).ok()?;
            return Some(Self::Step(Stored {
                hash,
                node,
                timestamp_ms,
            }));
        }
        let node = StartNode::deserialize(&node.payload).ok()?;
        Some(Self::Start(Stored {
            hash,
            node,
            timestamp_ms,
        }))
    }

    /// Returns the start of the thread.
    #[must_use]
    pub fn start(&self) -> CasRef {
        match self {
            Self::Start(start) => start.hash,
            Self::Step(step) => step.node.start,
        }
    }

    /// Returns the step, if it is one.
    #[must_use]
    pub fn into_step(self) -> Option<Stored<StepNode>> {
        match self {
            Self::Start(_) => None,
            Self::Step(step) => Some(step),
        }
    }
}

/// Reads the start of a thread.
///
/// # Errors
/// When the node is something else, or cannot be read.
pub fn read_start(store: &Store, hash: CasRef) -> Result<Stored<StartNode>, ThreadError> {
    let node = store.need(hash)?;
    match Head::of(hash, &node) {
        Some(Head::Start(start)) => Ok(start),
        Some(Head::Step(_)) | None => Err(ThreadError::WrongType {
            hash,
            expected: Expected::Start,
            found: node.type_hash,
        }),
    }
}

/// Reads a step.
///
/// # Errors
/// When the node is something else, or cannot be read.
pub fn read_step(store: &Store, hash: CasRef) -> Result<Stored<StepNode>, ThreadError> {
    let node = store.need(hash)?;
    let step = Head::of(hash, &node).and_then(Head::into_step);
    step.ok_or(ThreadError::WrongType {
        hash,
        expected: Expected::Step,
        found: node.type_hash,
    })
}
