//! Reads and writes small JSON records in a directory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use uwf_durable::Durability;

use crate::StorageError;

/// A directory of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Records {
    directory: Arc<Path>,
}

impl Records {
    pub(super) fn at(directory: PathBuf) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of a record.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(super) fn create(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::create_dir(&self.directory)?)
    }

    /// Reads a record. One that cannot be read or parsed counts as absent.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let content = uwf_durable::read(&self.file(name)).ok()??;
        serde_json::from_slice(&content).ok()
    }

    /// Reads a record that decides something: `None` only if there is none.
    pub(super) fn need<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StorageError> {
        let file = self.file(name);
        let Some(content) = uwf_durable::read(&file)? else {
            return Ok(None);
        };
        let record = serde_json::from_slice(&content).map_err(io::Error::from);
        Ok(Some(record.map_err(StorageError::io("understand", &file))?))
    }

    /// Replaces a record atomically: readers see the old one or the new one.
    pub(super) fn replace<T: Serialize>(
        &self,
        name: &str,
        record: &T,
        durability: Durability,
    ) -> Result<(), StorageError> {
        self.replace_text(name, &json(record), durability)
    }

    pub(super) fn replace_text(
        &self,
        name: &str,
        text: &str,
        durability: Durability,
    ) -> Result<(), StorageError> {
        self.create()?;
        let file = self.file(name);
        Ok(uwf_durable::replace(&file, text.as_bytes(), durability)?)
    }

    /// Overwrites a small record in place, without waiting for the disk.
    pub(super) fn overwrite<T: Serialize>(
        &self,
        name: &str,
        record: &T,
    ) -> Result<(), StorageError> {
        self.overwrite_text(name, &json(record))
    }

    pub(super) fn overwrite_text(&self, name: &str, text: &str) -> Result<(), StorageError> {
        Ok(uwf_durable::overwrite(&self.file(name), text.as_bytes())?)
    }

    /// Overwrites a small record with blanks, which costs less than removing its file.
    pub(super) fn blank(&self, name: &str) -> Result<(), StorageError> {
        Ok(uwf_durable::blank(&self.file(name))?)
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.file(name))?)
    }
}

/// Returns a record as it is in its file.
pub(super) fn json<T: Serialize>(record: &T) -> String {
    serde_json::to_string(record).expect("a record is plain data with text for keys")
}
