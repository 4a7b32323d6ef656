//! Which threads are shared: `shared/<thread>.json`. A record is not in the run folder, because a run folder can be deleted, and a
//! shared thread must not be stepped as if it were only here. That a remote is still to be told of an end is a file of its own beside
//! it, `shared/<thread>.owes-end`: calls that change one of the two never undo what others do with the other.

use std::path::PathBuf;

use uwf_durable::{Draft, Durability, Placed};
use uwf_protocol::ids::ThreadId;

use crate::{BadLine, SharedFolder, SharedRecord, StorageError};

/// The record of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    path: PathBuf,
    owed: PathBuf,
    folder: SharedFolder,
}

impl SharedFile {
    pub(crate) fn at(folder: SharedFolder, thread: ThreadId) -> Self {
        Self {
            path: folder.path().join(format!("{thread}.json")),
            owed: folder.path().join(format!("{thread}.owes-end")),
            folder,
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
        self.folder.before_new_record()?;
        let content = serde_json::to_vec(record).expect("it is text only");
        let draft = Draft::beside(&self.path, &content)?;
        draft.sync()?;
        // The other call may not have come so far, so the name is made durable in both cases.
        let placed = draft.place(&self.path)?;
        uwf_durable::sync_dir(self.folder.path())?;
        self.folder.after_new_record()?;
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
        self.folder.before_new_record()?;
        let content = serde_json::to_vec(record).expect("it is text only");
        let durably = Durability::Durable;
        uwf_durable::replace(&self.path, &content, durably)?;
        self.folder.after_new_record()
    }

    /// Records durably that a person has ended the thread here, and that the remote may not know it yet. If it is not known whether the
    /// thread is shared, this is the place of the remote that was to be asked.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn owe_end(&self, unasked: Option<&str>) -> Result<(), StorageError> {
        self.folder.before_new_file()?;
        Ok(uwf_durable::replace(
            &self.owed,
            unasked.unwrap_or_default().as_bytes(),
            Durability::Durable,
        )?)
    }

    /// Records that the remote knows the end of the thread.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn settle_end(&self) -> Result<(), StorageError> {
        self.folder.before_change()?;
        Ok(uwf_durable::remove(&self.owed)?)
    }

    /// Records that the thread is only here, if the end was owed because this remote could not be asked.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn settle_end_at(&self, place: &str) -> Result<(), StorageError> {
        let owed = uwf_durable::read(&self.owed)?;
        match owed.is_some_and(|unasked| unasked == place.as_bytes()) && self.read()?.is_none() {
            true => self.settle_end(),
            false => Ok(()),
        }
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
        self.folder.before_change()?;
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
        let root = crate::Root::at(folder.path().to_path_buf());
        let file = root.shared(ThreadId::new(1, 0));
        let record = |mark: &str| SharedRecord::certain("r".to_owned(), mark.to_owned());
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
        let record = |mark: &str| SharedRecord::certain("r".to_owned(), mark.to_owned());
        // One call has read the first record, and writes the second one after another call has noted an end.
        file.create(&record("1")).unwrap();
        file.owe_end(None).unwrap();
        file.replace(&record("2")).unwrap();
        assert!(file.owes_end().unwrap());
        // The other way round.
        file.owe_end(None).unwrap();
        assert_eq!(file.read().unwrap(), Some(record("2")));
        assert_eq!(root.shared_folder().threads().unwrap(), [thread]);
        file.settle_end().unwrap();
        file.settle_end().unwrap();
        assert!(!file.owes_end().unwrap());
        assert_eq!(file.read().unwrap(), Some(record("2")));
        // What is owed goes with the record: the next thread with this id owes nothing.
        file.owe_end(None).unwrap();
        file.remove().unwrap();
        assert!(!file.owes_end().unwrap());
        assert!(root.shared_folder().threads().unwrap().is_empty());
        // What one remote was to be told is not settled by the answer of another one.
        file.owe_end(Some("a uwf")).unwrap();
        file.settle_end_at("b uwf").unwrap();
        assert!(file.owes_end().unwrap());
        file.settle_end_at("a uwf").unwrap();
        assert!(!file.owes_end().unwrap());
    }
}
