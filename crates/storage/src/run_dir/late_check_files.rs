//! The files of checks in folders that are made after the thread has started: what was in them when a role first worked there.

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;

use super::records::Records;
use crate::StorageError;

const LATE_CHECK_FILES: &str = "check-files.json";

/// A path that a check names, where it was first looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateCheckFile {
    /// The whole path.
    pub path: String,
    /// The SHA-256 of the file; `None` if there was none that belongs to the check.
    pub sha256: Option<String>,
}

/// The record of these files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateCheckFiles {
    records: Records,
}

impl LateCheckFiles {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the record; an empty one if none was written.
    ///
    /// # Errors
    /// [`StorageError::Io`] if it cannot be read or understood: without it, a check that was changed would count as the first one.
    pub fn read(&self) -> Result<Vec<LateCheckFile>, StorageError> {
        Ok(self.records.need(LATE_CHECK_FILES)?.unwrap_or_default())
    }

    /// Replaces the record.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write(&self, files: &[LateCheckFile]) -> Result<(), StorageError> {
        let files = files.to_vec();
        self.records
            .replace(LATE_CHECK_FILES, &files, Durability::Durable)
    }
}
