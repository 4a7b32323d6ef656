//! Errors about the supervisor and the summary of a thread.

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::review::ReviewFailure;

/// Why an operation did not do what it was asked, if a model's review of the thread is the cause.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The supervisor suspended the thread.
    #[error("thread `{thread}` is suspended by its supervisor: {reason}")]
    Held {
        /// The thread.
        thread: ThreadId,
        /// What the supervisor says.
        reason: String,
        /// Whether it says so only now.
        is_new: bool,
    },
    /// The model wrote no summary.
    #[error("thread `{thread}` was not summarized: {}", failure.problem)]
    NotSummarized {
        /// The thread.
        thread: ThreadId,
        /// Why.
        failure: Box<ReviewFailure>,
    },
}

impl ReviewError {
    /// Returns the exit code of a call that ends with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Held { .. } => Exit::Suspended,
            Self::NotSummarized { failure, .. } if failure.is_misconfigured => Exit::Request,
            Self::NotSummarized { .. } => Exit::Agent,
        }
    }
}
