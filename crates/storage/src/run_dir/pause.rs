//! The pause of a thread: while it is on record, no step of the thread is started. A file of its own, because a person may
//! write it while a step runs. It is absent from threads that are not paused.

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;

use super::records::Records;
use crate::{BadLine, StorageError};

const PAUSED: &str = "paused.json";

/// Who paused a thread, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The name of the user, if it is known.
    #[serde(default)]
    pub by: Option<String>,
    /// Why, in the words of that person.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The record of the pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    records: Records,
}

impl Pause {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the pause, if the thread is paused.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] for a record that cannot be understood: it does not count as absent, because a person
    /// wanted the thread to stop. [`StorageError::Io`].
    pub fn read(&self) -> Result<Option<Paused>, StorageError> {
        let path = self.records.file(PAUSED);
        let Some(content) = uwf_durable::read(&path)? else {
            return Ok(None);
        };
        serde_json::from_slice(&content).map(Some).map_err(|error| {
            StorageError::Damaged(BadLine {
                path,
                line: error.line() as u64,
                problem: error.to_string(),
            })
        })
    }

    /// Puts the pause on record, durably.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write(&self, paused: &Paused) -> Result<(), StorageError> {
        self.records.replace(PAUSED, paused, Durability::Durable)
    }

    /// Removes the record. Returns whether there was one.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear(&self) -> Result<bool, StorageError> {
        let was_there = self.records.file(PAUSED).exists();
        self.records.remove(PAUSED)?;
        Ok(was_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_on_record_until_it_is_cleared_and_never_ignored() {
        let temp = tempfile::tempdir().unwrap();
        let pause = Pause::of(Records::at(temp.path().join("run")));
        assert_eq!(pause.read().unwrap(), None);
        assert!(!pause.clear().unwrap());
        let paused = Paused {
            at: 7,
            by: None,
            reason: Some("wait".to_owned()),
        };
        pause.write(&paused).unwrap();
        assert_eq!(pause.read().unwrap(), Some(paused));
        std::fs::write(temp.path().join("run").join(PAUSED), "").unwrap();
        assert!(matches!(pause.read(), Err(StorageError::Damaged(_))));
        assert!(pause.clear().unwrap());
        assert_eq!(pause.read().unwrap(), None);
    }
}
