//! Which threads are shared: `shared/<thread>.json`. A record is not in the run folder, because a run folder can be deleted, and a
//! shared thread must not be stepped as if it were only here.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::ThreadId;

use crate::{BadLine, StorageError};

/// That a thread is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedRecord {
    /// The id of the remote where it is, as the remote tells it.
    pub remote: String,
    /// What tells the leases of this root from those of all others. It stays the same, so that a call takes over the lease of
    /// an earlier call that died: the lock of the thread keeps two living calls apart.
    pub mark: String,
}

/// The record of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    pub(crate) fn at(directory: &Path, thread: ThreadId) -> Self {
        Self {
            path: directory.join(format!("{thread}.json")),
        }
    }

    /// Returns the record; `None` if the thread is not shared.
    ///
    /// # Errors
    /// [`StorageError::Sharing`] for a record that cannot be understood: it does not count as absent. [`StorageError::Io`].
    pub fn read(&self) -> Result<Option<SharedRecord>, StorageError> {
        let Some(content) = uwf_durable::read(&self.path)? else {
            return Ok(None);
        };
        serde_json::from_slice(&content)
            .map(Some)
            .map_err(|error| StorageError::Sharing(BadLine::in_json(&self.path, &error)))
    }

    /// Replaces the record, durably.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn write(&self, record: &SharedRecord) -> Result<(), StorageError> {
        if let Some(directory) = self.path.parent() {
            uwf_durable::create_dir(directory)?;
        }
        let content = serde_json::to_vec(record).expect("it is two texts");
        let durably = Durability::Durable;
        Ok(uwf_durable::replace(&self.path, &content, durably)?)
    }

    /// Removes the record, if there is one.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn remove(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.path)?)
    }
}
