//! Where the agents of a thread work: in a worktree of its own, or in a folder that it shares with others.

use serde::{Deserialize, Serialize};

/// Where the agents of a thread work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceMode {
    /// In a git worktree of the thread's own, on a branch of its own.
    Worktree,
    /// In the folder of the thread. Other threads wait while one of its agents works there.
    Shared,
}

impl WorkspaceMode {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Worktree, Self::Shared];

    /// Returns the word for it in workflows and in the config.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Shared => "shared",
        }
    }
}
