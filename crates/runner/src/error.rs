//! Why a task has no result: we failed, and not the step.

use std::io::{self, ErrorKind as IoErrorKind};
use std::path::PathBuf;

use rustix::io::Errno;
use uwf_durable::FileError;
use uwf_pipeline::{ErrorKind, Failure};

use crate::workspace::WalkError;

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file cannot be read or written, whatever the step is.
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

/// Why a file of the user was not written or moved.
#[derive(Debug)]
pub enum NotDone {
    /// The step cannot be done as it is written.
    Failure(Failure),
    /// The disk takes no more, or a file cannot be read. The step is not the cause, and the run goes on when that is repaired.
    Disk(RunError),
}

impl NotDone {
    /// Returns what it means that the system refused to write or move a file.
    pub(crate) fn of(action: &'static str, path: &str, error: io::Error) -> Self {
        if is_of_disk(&error) {
            return Self::Disk(RunError::File(FileError::Io {
                action,
                path: path.into(),
                source: error,
            }));
        }
        let message = format!("cannot {action} `{path}`: {error}");
        Self::Failure(Failure::new(ErrorKind::PathError, message).fact("path", path))
    }

    /// Returns what it means that a path does not lead to a place where a file can be written.
    pub(crate) fn of_walk(path: &str, error: WalkError) -> Self {
        match error {
            WalkError::System(errno) if is_of_disk(&errno.into()) => {
                Self::of("write", path, errno.into())
            }
            error => Self::Failure(error.failure(path, ErrorKind::PathError)),
        }
    }

    /// Returns it as a failure, for a caller that does one thing and nothing after it.
    #[must_use]
    pub fn failure(self) -> Failure {
        match self {
            Self::Failure(failure) => failure,
            Self::Disk(error) => {
                let cause = std::error::Error::source(&error);
                let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
                Failure::new(ErrorKind::PathError, format!("{error}{cause}"))
            }
        }
    }
}

impl From<Failure> for NotDone {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Tells whether an error says that a disk is full, read-only or broken.
fn is_of_disk(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        IoErrorKind::StorageFull
            | IoErrorKind::QuotaExceeded
            | IoErrorKind::ReadOnlyFilesystem
            | IoErrorKind::FileTooLarge
    ) || Errno::from_io_error(error) == Some(Errno::IO)
}
