//! `orchestrator.log` of a run: what the processes that worked on it did, one line for each event.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use uwf_durable::FileError;

use crate::StorageError;

/// The log, open for appending.
#[derive(Debug)]
pub struct RunLog {
    file: File,
    path: PathBuf,
}

impl RunLog {
    /// Opens the log, and makes it if needed.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn open(path: PathBuf) -> Result<Self, StorageError> {
        let file = uwf_durable::open_append(&path)?;
        Ok(Self { file, path })
    }

    /// Appends a line in one write. It may be lost in a power cut.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn append(&self, line: &str) -> Result<(), StorageError> {
        let written = (&self.file).write_all(format!("{line}\n").as_bytes());
        Ok(written.map_err(FileError::io("append to", &self.path))?)
    }
}
