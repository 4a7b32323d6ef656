//! Errors about the checks of roles.

use std::path::PathBuf;

use uwf_protocol::ids::{RoleName, ThreadId};

/// Why a role with checks cannot work.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The agent is a program of its own, which runs no checks.
    #[error(
        "role `{role}` has checks, and the agent `{agent}` is a program of its own, which cannot run them"
    )]
    OtherProgram {
        /// The role.
        role: RoleName,
        /// The label of the agent.
        agent: String,
    },
    /// A file that a check lists does not exist.
    #[error(
        "the check `{check}` of role `{role}` lists the file `{path}`, which cannot be read in `{directory}`"
    )]
    NoFile {
        /// The role.
        role: RoleName,
        /// The check.
        check: String,
        /// The file.
        path: String,
        /// The directory of the thread.
        directory: String,
    },
    /// The worktree of a thread would begin without a file of a check, because it is not committed.
    #[error(
        "thread `{thread}` is to work in a git worktree, and the file `{path}` of its checks is not committed as it is in `{}`", directory.display()
    )]
    NotCommitted {
        /// The thread.
        thread: ThreadId,
        /// The file.
        path: String,
        /// The directory of the thread.
        directory: PathBuf,
    },
    /// The worktree of a thread would begin with another file than its checks need.
    #[error(
        "thread `{thread}` is to work in a git worktree, and the file `{path}` of its checks in `{}` was changed since the thread started", directory.display()
    )]
    OtherCommitted {
        /// The thread.
        thread: ThreadId,
        /// The file.
        path: String,
        /// The directory of the thread.
        directory: PathBuf,
    },
}
