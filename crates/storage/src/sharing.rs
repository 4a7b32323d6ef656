//! Which threads are shared: `shared/<thread>.json`. A record is not in the run folder, because a run folder can be deleted, and a
//! shared thread must not be stepped as if it were only here.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_durable::{Draft, Durability, Placed};
use uwf_protocol::ids::ThreadId;

use crate::{BadLine, StorageError};

/// That a thread is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedRecord {
    /// The id of the remote where it is, as the remote tells it.
    pub remote: String,
    /// What tells the leases of this root from those of all others. It stays the same while a lease lasts, so that a call takes over
    /// the lease of an earlier call that died: the lock of the thread keeps two living calls apart.
    pub mark: String,
    /// Whether a person has ended the thread here, and the remote may not know it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owes_end: bool,
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

    /// Makes the record durable, unless there is one already. Of two calls at once, one makes it, and its mark counts for both.
    /// Returns the record that counts.
    ///
    /// # Errors
    /// See [`read`](Self::read).
    pub fn create(&self, record: &SharedRecord) -> Result<SharedRecord, StorageError> {
        let directory = self.path.parent().expect("it is in a directory");
        uwf_durable::create_dir(directory)?;
        let content = serde_json::to_vec(record).expect("it is two texts");
        let draft = Draft::beside(&self.path, &content)?;
        draft.sync()?;
        // The other call may not have come so far, so the name is made durable in both cases.
        let placed = draft.place(&self.path)?;
        uwf_durable::sync_dir(directory)?;
        match placed {
            Placed::Done => Ok(record.clone()),
            Placed::Taken(_) => Ok(self.read()?.unwrap_or_else(|| record.clone())),
        }
    }

    /// Replaces the record, durably.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn replace(&self, record: &SharedRecord) -> Result<(), StorageError> {
        let directory = self.path.parent().expect("it is in a directory");
        uwf_durable::create_dir(directory)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_of_a_thread_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = SharedFile::at(&folder.path().join("shared"), ThreadId::new(1, 0));
        let record = |mark: &str| SharedRecord {
            remote: "r".to_owned(),
            mark: mark.to_owned(),
            owes_end: false,
        };
        assert_eq!(file.create(&record("1")).unwrap(), record("1"));
        assert_eq!(file.create(&record("2")).unwrap(), record("1"));
        assert_eq!(file.read().unwrap(), Some(record("1")));
        file.remove().unwrap();
        assert_eq!(file.create(&record("3")).unwrap(), record("3"));
    }
}
