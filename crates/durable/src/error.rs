//! The errors of reading and writing files.

use std::fmt;
use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system reports an error.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried, as an imperative: `read`, `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Something else is where a regular file should be.
    #[error("`{}` is {kind}, not a regular file", path.display())]
    NotRegular {
        /// Its path.
        path: PathBuf,
        /// What it is.
        kind: FileKind,
    },
    /// Writing would go through a symbolic link, or replace it.
    #[error("`{}` is a symbolic link, and is not written through", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
}

/// Returns the error of the system, for callers that know the file.
impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io { source, .. } => source,
            FileError::NotRegular { .. } | FileError::Link { .. } => Self::other(error),
        }
    }
}

/// The kind of a file that is not a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// A directory.
    Directory,
    /// Any other kind.
    Other,
}

impl FileKind {
    /// Returns what a file of this type is; `None` for a regular file.
    pub(crate) fn of(found: FileType) -> Option<Self> {
        if found.is_file() {
            None
        } else if found.is_fifo() {
            Some(Self::Fifo)
        } else if found.is_socket() {
            Some(Self::Socket)
        } else if found.is_block_device() || found.is_char_device() {
            Some(Self::Device)
        } else if found.is_dir() {
            Some(Self::Directory)
        } else {
            Some(Self::Other)
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Directory => "a directory",
            Self::Other => "something special",
        })
    }
}

/// Returns the error of the operating system for a path that leads to nothing.
#[must_use]
pub fn not_found(path: &Path) -> io::Error {
    let problem = format!("no such file or directory: `{}`", path.display());
    io::Error::new(io::ErrorKind::NotFound, problem)
}

impl FileError {
    /// Tells whether the path does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns a function that adds the action and the file to an error of the operating system.
    pub fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
