//! The files that a step changed.

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;

/// The snapshots of the files before and after a step: commits in the repository that its agent worked in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepFiles {
    /// The folder of the working tree.
    pub repository: String,
    /// The commit with the files as they were before the first attempt at the step.
    pub before: String,
    /// The commit with the files as they were when the answer was accepted.
    pub after: String,
}

/// Returns the git reference that keeps the snapshots of a thread.
#[must_use]
pub fn reference_of(thread: ThreadId) -> String {
    format!("refs/uwf/threads/{thread}")
}
