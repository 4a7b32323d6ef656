//! The errors of reading a thread.

use std::fmt;

use uwf_cas_fs::StoreError;
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow_stored::StoredError;

/// Why a part of a thread cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// A node has another type than its place in the thread requires.
    #[error("node `{hash}` is not a {expected} (its type is `{found}`)")]
    WrongType {
        /// The node.
        hash: CasRef,
        /// What was expected.
        expected: Expected,
        /// The hash of its schema.
        found: CasRef,
    },
    /// A node is not a workflow that this version can read.
    #[error("node `{hash}` is not a workflow (its type is `{found}`)")]
    Workflow {
        /// The node.
        hash: CasRef,
        /// The hash of its schema.
        found: CasRef,
        /// Why it cannot be read.
        source: StoredError,
    },
    /// The store failed, or lacks a node.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a node of a thread should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A thread's start.
    Start,
    /// A step.
    Step,
    /// A thread's start or a step.
    Head,
}

impl Expected {
    /// Returns the words for it, without an article.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "thread's start",
            Self::Step => "step",
            Self::Head => "thread's start or step",
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
