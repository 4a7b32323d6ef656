//! Why a task has no result: we failed, and not the step.

use std::io;
use std::path::PathBuf;

use uwf_durable::FileError;

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file of ours cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Programs cannot be started in the workspace any more.
    #[error("the workspace `{}` is gone", path.display())]
    WorkspaceGone {
        /// Where it was.
        path: PathBuf,
    },
    /// The system has no room for another process.
    #[error("cannot start a program")]
    Start(#[source] io::Error),
    /// The signals of this process cannot be watched.
    #[error("cannot watch signals")]
    Signals(#[source] io::Error),
    /// The caller [did not want](NotWanted) the program to go on.
    #[error("the program was ended, because it was not wanted any more")]
    NotWanted,
}

/// The answer of a caller that does not want a program to go on. The caller knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotWanted;
