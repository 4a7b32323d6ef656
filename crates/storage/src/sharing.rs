//! Which threads are shared: `shared/<thread>.json`. A record is not in the run folder, because a run folder can be deleted, and a
//! shared thread must not be stepped as if it were only here. That a remote is still to be told of an end is a file of its own beside
//! it, `shared/<thread>.owes-end`: calls that change one of the two never undo what others do with the other.

use std::fs::Metadata;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use uwf_durable::{Draft, Durability, FileLock, Placed};
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
/// What is appended to that file when records may be missing.
const INCOMPLETE: &str = "records may be missing";
/// By how many seconds the last change of a folder may be later than that of its content in a folder that was not set back. Some file
/// systems keep one of these times in steps of two seconds.
const CLOCK_STEP_SECS: i64 = 2;

/// The folder of the records of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFolder {
    path: PathBuf,
}

/// What a folder says of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// Nothing.
    Silent,
    /// What another folder said, which was copied.
    Copy,
    /// That records may be missing. Its file was put back, or says so.
    Incomplete,
    /// That none is missing, but its times tell that files were restored in place since.
    SetBack,
    /// That none is missing.
    Complete,
}

impl SharedFolder {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Tells whether every thread here that a remote shares has its record. A folder that was copied does not say so, nor does one whose
    /// files were restored in place: the backup may be older than records. A folder on a disk that was set back as a whole looks as it
    /// did before.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stand() == Stand::Complete
    }

    /// Tells whether the folder is a copy of another one, so that its records have the marks of another root.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        self.stand() == Stand::Copy
    }

    /// Makes the folder if it is not there, and takes its lock. The caller finds out which records are missing, makes them, and says
    /// that the folder is complete. What others say of the folder meanwhile waits, and counts afterwards.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn lock(&self) -> Result<FileLock, StorageError> {
        loop {
            uwf_durable::create_dir(&self.path)?;
            if let Some(lock) = FileLock::acquire_folder(&self.path)? {
                return Ok(lock);
            }
        }
    }

    /// Says durably that every thread here that a remote shares has its record. The caller has the lock.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn set_complete(&self) -> Result<(), StorageError> {
        let file = self.path.join(COMPLETE);
        let draft = Draft::beside(&file, b"")?;
        let mut write = draft.file();
        let written = self.path.metadata().and_then(|folder| {
            let own = write.metadata()?;
            write!(write, "{}{}", identity(&folder), identity(&own))
        });
        written.map_err(StorageError::io("write", &file))?;
        Ok(draft.replace_durably(&file)?)
    }

    /// Says durably that threads may be here that a remote shares and that have no record. A copy of the folder is known as one
    /// afterwards, too. Does nothing if the folder does not say that it is complete.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn set_incomplete(&self) -> Result<(), StorageError> {
        let _lock = FileLock::acquire_folder(&self.path)?;
        match self.stand() {
            Stand::Complete | Stand::SetBack => self.doubt(),
            Stand::Silent | Stand::Copy | Stand::Incomplete => Ok(()),
        }
    }

    /// Prepares a change of a file in the folder. The times of the folder may tell that it was set back. The change makes them new, so
    /// what they tell is written down first.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn before_change(&self) -> Result<(), StorageError> {
        match self.stand() {
            Stand::SetBack => self.doubt(),
            _ => Ok(()),
        }
    }

    /// Prepares a new file in the folder, as [`before_change`](Self::before_change), and makes the folder if it is not there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn before_new_file(&self) -> Result<(), StorageError> {
        uwf_durable::create_dir(&self.path)?;
        self.before_change()
    }

    /// Says that records may be missing. The times of the folder stay, so a call that dies meanwhile has not made them new.
    fn doubt(&self) -> Result<(), StorageError> {
        let file = self.path.join(COMPLETE);
        Ok(uwf_durable::append_line(&file, INCOMPLETE)?)
    }

    fn stand(&self) -> Stand {
        let file = self.path.join(COMPLETE);
        let Ok(Some(said)) = uwf_durable::read(&file) else {
            return Stand::Silent;
        };
        let (Ok(folder), Ok(file)) = (self.path.metadata(), file.metadata()) else {
            return Stand::Silent;
        };
        let Some(said) = said.strip_prefix(identity(&folder).as_bytes()) else {
            return Stand::Copy;
        };
        if said != identity(&file).as_bytes() {
            return Stand::Incomplete;
        }
        // A tool that restores a folder sets the time of its content back. Nothing sets back the other time, that of the last change of
        // any kind.
        match folder.ctime() - folder.mtime() > CLOCK_STEP_SECS {
            true => Stand::SetBack,
            false => Stand::Complete,
        }
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
}

/// Returns what a copy of a file or folder does not have: its number in the file system, and when it was made, if the file system tells
/// that.
fn identity(of: &Metadata) -> String {
    let made = of.created().ok();
    let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let made = made.map_or(0, |made| made.as_nanos());
    format!("{} {made}\n", of.ino())
}

/// The record of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    path: PathBuf,
    owed: PathBuf,
    folder: SharedFolder,
}

impl SharedFile {
    pub(crate) fn at(directory: &Path, thread: ThreadId) -> Self {
        Self {
            path: directory.join(format!("{thread}.json")),
            owed: directory.join(format!("{thread}.owes-end")),
            folder: SharedFolder::at(directory.to_owned()),
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
        self.folder.before_new_file()?;
        let content = serde_json::to_vec(record).expect("it is two texts");
        let draft = Draft::beside(&self.path, &content)?;
        draft.sync()?;
        // The other call may not have come so far, so the name is made durable in both cases.
        let placed = draft.place(&self.path)?;
        uwf_durable::sync_dir(&self.folder.path)?;
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
        self.folder.before_new_file()?;
        let content = serde_json::to_vec(record).expect("it is two texts");
        let durably = Durability::Durable;
        Ok(uwf_durable::replace(&self.path, &content, durably)?)
    }

    /// Records durably that a person has ended the thread here, and that the remote may not know it yet.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn owe_end(&self) -> Result<(), StorageError> {
        self.folder.before_new_file()?;
        Ok(uwf_durable::replace(&self.owed, b"", Durability::Durable)?)
    }

    /// Records that the remote knows the end of the thread.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn settle_end(&self) -> Result<(), StorageError> {
        self.folder.before_change()?;
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
        drop(own.lock().unwrap());
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

    /// A root whose folder of records says that it is complete.
    fn complete_root() -> (tempfile::TempDir, crate::Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = crate::Root::at(folder.path().to_path_buf());
        let shared = root.shared_folder();
        let _lock = shared.lock().unwrap();
        shared.set_complete().unwrap();
        assert!(shared.is_complete());
        (folder, root)
    }

    /// Sets the time of the content of a folder back by an hour, as tools do that restore files.
    fn set_times_back(root: &crate::Root) {
        let folder = std::fs::File::open(root.shared_dir()).unwrap();
        let hour = std::time::Duration::from_secs(3600);
        let before = std::time::SystemTime::now() - hour;
        folder.set_modified(before).unwrap();
    }

    #[test]
    fn a_folder_that_was_set_back_does_not_say_that_it_is_complete_whatever_is_changed_next() {
        let record = SharedRecord {
            remote: "r".to_owned(),
            mark: "1".to_owned(),
        };
        let thread = ThreadId::new(1, 0);
        type Change<'a> = &'a dyn Fn(&crate::Root);
        let changes: [Change<'_>; 8] = [
            &|_| {},
            &|root| drop(root.shared(thread).create(&record).unwrap()),
            &|root| root.shared(thread).replace(&record).unwrap(),
            &|root| root.shared(thread).owe_end().unwrap(),
            &|root| root.shared(thread).settle_end().unwrap(),
            &|root| root.shared(thread).remove().unwrap(),
            &|root| drop(crate::NextMark::create(root, "2").unwrap().unwrap()),
            &|root| root.shared_folder().set_incomplete().unwrap(),
        ];
        for change in changes {
            let (_temp, root) = complete_root();
            root.shared(thread).owe_end().unwrap();
            set_times_back(&root);
            change(&root);
            let folder = root.shared_folder();
            assert!(!folder.is_complete() && !folder.is_copy());
            folder.set_complete().unwrap();
            assert!(folder.is_complete());
        }
        let (_temp, root) = complete_root();
        let mark = crate::NextMark::create(&root, "2").unwrap().unwrap();
        set_times_back(&root);
        mark.remove().unwrap();
        assert!(!root.shared_folder().is_complete());
    }

    #[test]
    fn a_file_that_was_put_back_does_not_say_that_the_folder_is_complete() {
        let (_temp, root) = complete_root();
        let (folder, file) = (root.shared_folder(), root.shared_dir().join(COMPLETE));
        let kept = root.path().join("kept");
        std::fs::copy(&file, &kept).unwrap();
        std::fs::rename(&kept, &file).unwrap();
        assert!(!folder.is_complete() && !folder.is_copy());
        folder.set_complete().unwrap();
        assert!(folder.is_complete());
    }
}
