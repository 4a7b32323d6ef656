//! Errors of the files under the root. There is a variant for each thing that a caller can do about an error.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use uwf_durable::{FileError, FileKind};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::{Name, NamingError};

/// Why something under the root cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The operating system refused a call.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried, as an imperative: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The history has lost lines that it had when it was written last.
    #[error("`{}` has lost {missing} of its lines: they were there when it was written last", path.display())]
    LostLines {
        /// The file.
        path: PathBuf,
        /// How many lines are missing.
        missing: u64,
        /// The file that recorded how many there were.
        seal: PathBuf,
    },
    /// A file of the state has a line that no program should have written. Writers stop until it is fixed.
    #[error("{0}")]
    Damaged(BadLine),
    /// The record of a worktree cannot be understood. The worktree may have work in it.
    #[error("{0}")]
    Worktree(BadLine),
    /// The record that a thread is shared cannot be understood.
    #[error("{0}")]
    Sharing(BadLine),
    /// The file of the names and labels of threads has such a line. Threads go on without it.
    #[error("{0}")]
    NamesDamaged(BadLine),
    /// Threads are missing from the files of the state, while other files under the root still name them.
    #[error("{0}")]
    Vanished(Box<Vanished>),
    /// The registry has lost names that it had when it was written last.
    #[error(
        "`{}` has lost names of workflows: it is only the beginning of what was written last, which is in `{}`",
        path.display(), copy.display()
    )]
    RegistryCut {
        /// The registry.
        path: PathBuf,
        /// The copy, which still has the names.
        copy: PathBuf,
    },
    /// The record of a finished step cannot be read. The step may have cost money.
    #[error("the record of a finished step, `{}`, cannot be understood: {problem}", path.display())]
    TornRecord {
        /// The record.
        path: PathBuf,
        /// Whether it is that of a run of a pipeline, whose steps have no agent, as far as the other records tell.
        of_run: bool,
        /// What is wrong with it.
        problem: String,
    },
    /// Writing would go through a symbolic link, or replace it.
    #[error("`{}` is a symbolic link, and is not written through", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Something else is where a file should be.
    #[error("`{}` is {kind}, not a regular file", path.display())]
    NotRegular {
        /// Its path.
        path: PathBuf,
        /// What it is.
        kind: FileKind,
    },
    /// Something else is where a folder should be.
    #[error("`{}` is no folder", path.display())]
    NoFolder {
        /// Its path.
        path: PathBuf,
    },
    /// A file of another program is too large to be read.
    #[error("`{}` has {bytes} bytes, and {largest} are the most that are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        largest: u64,
    },
    /// No root is named, and there is no home directory to put one in.
    #[error("no storage root is named, and there is no home directory for `.uwf`")]
    NoHome,
    /// The root was named with an empty text.
    #[error("the storage root that is named is empty")]
    EmptyRoot,
    /// A new thread has the id of one that is active.
    #[error("thread {0} is active already")]
    ThreadExists(ThreadId),
    /// Another thread has the name.
    #[error("the name `{name}` is taken: thread {by} has it")]
    NameTaken {
        /// The name.
        name: Name,
        /// The thread.
        by: ThreadId,
    },
    /// A thread cannot be called this.
    #[error(transparent)]
    Naming(#[from] NamingError),
    /// A path cannot be recorded: the files that would name it are text.
    #[error("the path `{}` is not UTF-8, so it cannot be recorded", .0.display())]
    PathNotText(PathBuf),
    /// A text is not a day of the calendar.
    #[error("`{0}` is not a day, such as 2026-11-21")]
    Day(String),
}

impl StorageError {
    /// Returns the exit of a call that fails with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Damaged(_)
            | Self::NamesDamaged(_)
            | Self::Worktree(_)
            | Self::Sharing(_)
            | Self::Vanished(_)
            | Self::RegistryCut { .. }
            | Self::LostLines { .. }
            | Self::TornRecord { .. }
            | Self::NotRegular { .. } => Exit::Store,
            Self::Io { .. }
            | Self::NoFolder { .. }
            | Self::Link { .. }
            | Self::TooLarge { .. }
            | Self::NoHome
            | Self::EmptyRoot
            | Self::ThreadExists(_)
            | Self::NameTaken { .. }
            | Self::Naming(_)
            | Self::PathNotText(_)
            | Self::Day(_) => Exit::Request,
        }
    }

    /// Tells whether the cause is a full disk.
    #[must_use]
    pub fn is_of_full_disk(&self) -> bool {
        uwf_durable::is_of_full_disk(self)
    }

    /// Returns a path as text that can be recorded.
    ///
    /// # Errors
    /// [`StorageError::PathNotText`].
    pub fn recordable(path: &Path) -> Result<&str, Self> {
        path.to_str()
            .ok_or_else(|| Self::PathNotText(path.to_owned()))
    }

    /// Returns a function that adds the action and the path to an error of the operating system.
    pub fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// Threads that are neither active nor ended, although they have run folders or were active when the seal was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vanished {
    /// The threads, at least one, each with its last known head.
    pub threads: Vec<(ThreadId, Option<CasRef>)>,
    /// The file of the active threads.
    pub active: PathBuf,
    /// The file of the threads that ended.
    pub ended: PathBuf,
    /// The directory of the run folders.
    pub runs: PathBuf,
    /// The seal, if only the seal names the threads, and none has a run folder. The seal may not name all of them.
    pub seal: Option<PathBuf>,
    /// The last line of the history, if it is unfinished. It may have named one of the threads.
    pub torn: Option<BadLine>,
}

impl fmt::Display for Vanished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, _) = &self.threads[0];
        let (active, ended) = (self.active.display(), self.ended.display());
        let runs = self.runs.display();
        match (&self.seal, self.threads.len() - 1) {
            (Some(_), 0) => write!(
                f,
                "thread `{thread}` was active when `{active}` was written"
            )?,
            (Some(_), _) => write!(
                f,
                "thread `{thread}` and others were active when `{active}` was written"
            )?,
            (None, 0) => write!(f, "thread `{thread}` has a folder in `{runs}`")?,
            (None, more) => write!(
                f,
                "thread `{thread}` and {more} more have folders in `{runs}`"
            )?,
        }
        write!(f, ", and neither `{active}` nor `{ended}` tells of it")?;
        match &self.torn {
            Some(torn) => write!(f, "; {torn}"),
            None => Ok(()),
        }
    }
}

impl From<FileError> for StorageError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io {
                action,
                path,
                source,
            } => Self::Io {
                action,
                path,
                source,
            },
            FileError::NotRegular { path, kind } => Self::NotRegular { path, kind },
            FileError::Link { path } => Self::Link { path },
        }
    }
}

/// A line that cannot be read, in a file whose other lines can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 if it is not known.
    pub line: u64,
    /// What is wrong there.
    pub problem: String,
}

impl BadLine {
    /// Returns the place of an error in a file of JSON.
    pub(crate) fn in_json(path: &Path, error: &serde_json::Error) -> Self {
        Self {
            path: path.to_owned(),
            line: error.line() as u64,
            problem: error.to_string(),
        }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}:{}`: {}",
            self.path.display(),
            self.line,
            self.problem
        )
    }
}
