//! Errors about the checks of roles.

use uwf_protocol::ids::RoleName;

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
}
