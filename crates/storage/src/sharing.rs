//! Which threads are shared: `shared/<thread>.json`. A record is not in the run folder, because a run folder can be deleted, and a
//! shared thread must not be stepped as if it were only here. That a remote is still to be told of an end is a file of its own beside
//! it, `shared/<thread>.owes-end`: calls that change one of the two never undo what others do with the other.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

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
    /// What tells the leases of this root from those of all others. A later call has the same mark, so it takes over the lease of an
    /// earlier call that died. The lock of the thread keeps two living calls apart. A worker that takes the lease of the next thread
    /// under a new mark replaces this one.
    pub mark: String,
}

/// The file beside the records that says that none is missing.
const COMPLETE: &str = "complete";
/// What stands behind the identity of a folder of which records may be missing.
const INCOMPLETE: &str = "records may be missing\n";

/// The folder of the records of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFolder {
    path: PathBuf,
}

impl SharedFolder {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Tells whether every thread here that a remote shares has its record. A folder that was copied does not say so: the root may
    /// have been restored from a backup that is older than records. A folder whose disk or files were set back in place looks as it did
    /// before.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match (self.said(), self.identity()) {
            (Some(said), Ok(identity)) => said == identity.as_bytes(),
            _ => false,
        }
    }

    /// Tells whether the folder is a copy of another one, so that its records have the marks of another root.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        let said = self.said();
        said.is_some_and(|said| match self.identity() {
            Ok(identity) => !said.starts_with(identity.as_bytes()),
            Err(_) => true,
        })
    }

    /// Says durably that every thread here that a remote shares has its record.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn set_complete(&self) -> Result<(), StorageError> {
        uwf_durable::create_dir(&self.path)?;
        self.say("")
    }

    /// Says durably that threads may be here that a remote shares and that have no record. A copy of the folder is known as one
    /// afterwards, too. Does nothing if the folder never said that it is complete.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn set_incomplete(&self) -> Result<(), StorageError> {
        match self.is_complete() {
            true => self.say(INCOMPLETE),
            false => Ok(()),
        }
    }

    fn say(&self, more: &str) -> Result<(), StorageError> {
        let identity = self.identity().map_err(|source| StorageError::Io {
            action: "look at",
            path: self.path.clone(),
            source,
        })?;
        let file = self.path.join(COMPLETE);
        let content = format!("{identity}{more}");
        Ok(uwf_durable::replace(
            &file,
            content.as_bytes(),
            Durability::Durable,
        )?)
    }

    /// Returns what the folder says of itself, if it says something.
    fn said(&self) -> Option<Vec<u8>> {
        uwf_durable::read(&self.path.join(COMPLETE)).ok()?
    }

    /// Returns the threads that have a record, sorted.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn threads(&self) -> Result<Vec<ThreadId>, StorageError> {
        let records = crate::references::entries(&self.path)?;
        let records = records
            .iter()
            .filter(|path| path.extension().is_some_and(|it| it == "json"));
        let thread = |path: &PathBuf| path.file_stem()?.to_str()?.parse().ok();
        let mut threads: Vec<ThreadId> = records.filter_map(thread).collect();
        threads.sort_unstable();
        Ok(threads)
    }

    /// Returns what a copy of the folder does not have: its number in the file system, and when it was made, if the file system tells
    /// that.
    fn identity(&self) -> std::io::Result<String> {
        let about = self.path.metadata()?;
        let made = about.created().ok();
        let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let made = made.map_or(0, |made| made.as_nanos());
        Ok(format!("{} {made}\n", about.ino()))
    }
}

/// The record of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    path: PathBuf,
    owed: PathBuf,
}

impl SharedFile {
    pub(crate) fn at(directory: &Path, thread: ThreadId) -> Self {
        Self {
            path: directory.join(format!("{thread}.json")),
            owed: directory.join(format!("{thread}.owes-end")),
        }
    }

    /// Returns the record; `None` if the thread is not shared.
    ///
    /// # Errors
    /// [`StorageError::Sharing`] for a record that cannot be understood: it does not count as absent. [`StorageError::Io`].
    pub fn read(&self) -> Result<Option<SharedRecord>, StorageError> {
        let Some(content) = uwf_durable::read(&self.path)? else {
            return match self.path.is_symlink() {
                // It leads nowhere.
                true => Err(StorageError::Link {
                    path: self.path.clone(),
                }),
                false => Ok(None),
            };
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

    /// Records durably that a person has ended the thread here, and that the remote may not know it yet.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn owe_end(&self) -> Result<(), StorageError> {
        let directory = self.path.parent().expect("it is in a directory");
        uwf_durable::create_dir(directory)?;
        Ok(uwf_durable::replace(&self.owed, b"", Durability::Durable)?)
    }

    /// Records that the remote knows the end of the thread.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn settle_end(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.owed)?)
    }

    /// Tells whether the remote is still to be told of an end.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn owes_end(&self) -> Result<bool, StorageError> {
        Ok(uwf_durable::read(&self.owed)?.is_some())
    }

    /// Removes the record, if there is one, and what is owed.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn remove(&self) -> Result<(), StorageError> {
        uwf_durable::remove(&self.owed)?;
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
        };
        assert_eq!(file.create(&record("1")).unwrap(), record("1"));
        assert_eq!(file.create(&record("2")).unwrap(), record("1"));
        assert_eq!(file.read().unwrap(), Some(record("1")));
        file.remove().unwrap();
        assert_eq!(file.create(&record("3")).unwrap(), record("3"));
    }

    #[test]
    fn an_owed_end_and_the_mark_of_a_lease_do_not_undo_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let root = crate::Root::at(folder.path().to_path_buf());
        let thread = ThreadId::new(1, 0);
        let file = root.shared(thread);
        let record = |mark: &str| SharedRecord {
            remote: "r".to_owned(),
            mark: mark.to_owned(),
        };
        // One call has read the first record, and writes the second one after another call has noted an end.
        file.create(&record("1")).unwrap();
        file.owe_end().unwrap();
        file.replace(&record("2")).unwrap();
        assert!(file.owes_end().unwrap());
        // The other way round.
        file.owe_end().unwrap();
        assert_eq!(file.read().unwrap(), Some(record("2")));
        assert_eq!(root.shared_folder().threads().unwrap(), [thread]);
        file.settle_end().unwrap();
        file.settle_end().unwrap();
        assert!(!file.owes_end().unwrap());
        assert_eq!(file.read().unwrap(), Some(record("2")));
        // What is owed goes with the record: the next thread with this id owes nothing.
        file.owe_end().unwrap();
        file.remove().unwrap();
        assert!(!file.owes_end().unwrap());
        assert!(root.shared_folder().threads().unwrap().is_empty());
    }

    #[test]
    fn a_copy_of_the_folder_does_not_say_that_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| SharedFolder::at(folder.path().join(name));
        let (own, copy) = (at("own"), at("copy"));
        assert!(!own.is_complete() && !own.is_copy());
        own.set_complete().unwrap();
        assert!(own.is_complete() && !own.is_copy());
        std::fs::create_dir(&copy.path).unwrap();
        std::fs::copy(own.path.join(COMPLETE), copy.path.join(COMPLETE)).unwrap();
        assert!(!copy.is_complete() && copy.is_copy());
        own.set_incomplete().unwrap();
        own.set_incomplete().unwrap();
        assert!(!own.is_complete() && !own.is_copy());
        copy.set_incomplete().unwrap();
        assert!(copy.is_copy());
        std::fs::copy(own.path.join(COMPLETE), copy.path.join(COMPLETE)).unwrap();
        assert!(copy.is_copy());
        copy.set_complete().unwrap();
        assert!(copy.is_complete() && !copy.is_copy());
    }
}
