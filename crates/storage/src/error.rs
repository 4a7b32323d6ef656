//! What can go wrong with the files under the root, by what the caller can do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

/// Why something under the root cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The operating system refuses.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried, as an imperative: `read`, `write`.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of the state has a line that no program should have written. Writers stop until it is mended.
    #[error("{0}")]
    Damaged(BadLine),
    /// A file that people write cannot be understood.
    #[error("`{}:{line}:{column}`: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// The column, from 1; 0 if it is not known.
        column: u64,
        /// What is wrong there.
        problem: String,
    },
    /// Writing would go through a symbolic link, or replace it.
    #[error("`{}` is a symbolic link, and is not written through", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// No root is named, and there is no home directory to put one in.
    #[error("no storage root is named, and there is no home directory for `.uwf`")]
    NoHome,
    /// The root was named, but with an empty text.
    #[error("the storage root that is named is empty")]
    EmptyRoot,
    /// A new thread has the id of one that is active.
    #[error("thread {0} is active already")]
    ThreadExists(ThreadId),
    /// There is no configuration yet.
    #[error("there is no config file `{}`", path.display())]
    NoConfig {
        /// Where it would be.
        path: PathBuf,
    },
    /// A key of the configuration does not exist, cannot exist, or cannot have that value.
    #[error("config key `{key}`: {problem}")]
    ConfigKey {
        /// The dotted key.
        key: String,
        /// Why not, and what would do.
        problem: String,
    },
    /// A text is not a day of the calendar.
    #[error("`{0}` is not a day, such as 2026-11-21")]
    Day(String),
}

impl StorageError {
    /// Returns how a call that fails with this ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Damaged(_) => Exit::Store,
            Self::Io { .. }
            | Self::Invalid { .. }
            | Self::Link { .. }
            | Self::NoHome
            | Self::EmptyRoot
            | Self::ThreadExists(_)
            | Self::NoConfig { .. }
            | Self::ConfigKey { .. }
            | Self::Day(_) => Exit::Request,
        }
    }

    /// Returns what its user can do next, if that is not plain from the text.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Damaged(_) => "mend that line by hand; until then nothing changes the file",
            Self::Link { .. } => "change the file that it points to, or put a file in its place",
            Self::NoHome | Self::EmptyRoot => "name a directory with `--root` or UWF_STORAGE_ROOT",
            Self::NoConfig { .. } => "`uwf config set <key> <value>` makes one",
            Self::Io { .. }
            | Self::Invalid { .. }
            | Self::ThreadExists(_)
            | Self::ConfigKey { .. }
            | Self::Day(_) => return None,
        };
        Some(hint.to_owned())
    }

    /// Returns a function that says which file an error of the operating system is about.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// A line that cannot be understood, in a file that has others which can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 if it is not known.
    pub line: u64,
    /// What is wrong there.
    pub problem: String,
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
