//! The marks under which calls of this root ask a remote for the next thread: `shared/<mark>.next`.
//!
//! The remote chooses the thread, so a call that dies with the answer leaves no record of the thread. It leaves its mark, by which a
//! later call takes the lease over. The marks in a copy of a root are removed.

use std::path::{Path, PathBuf};

use uwf_durable::FileLock;

use crate::{Root, SharedFolder, StorageError};

/// A mark under which this call asks for the next thread. The call has the lock on its file, which ends with the call. So the file
/// stays without a lock if the call dies, or drops the mark and does not [remove](Self::remove) it.
///
/// The file is not synced. If a power cut takes it away, the lease ends by its time.
#[derive(Debug)]
pub struct NextMark {
    mark: String,
    path: PathBuf,
    folder: SharedFolder,
    _lock: FileLock,
}

impl NextMark {
    /// Puts a new mark on record. Returns `None` if another call has just taken it for one that was left.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn create(root: &Root, mark: &str) -> Result<Option<Self>, StorageError> {
        let folder = root.shared_folder();
        folder.before_new_file()?;
        let path = folder.path().join(format!("{mark}.next"));
        let lock = FileLock::try_acquire(&path)?;
        Ok(lock.map(|lock| Self::of(mark, path, folder, lock)))
    }

    /// Takes the first mark that was left and that is wanted.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn take_left(
        root: &Root,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, StorageError> {
        for path in crate::references::entries(&root.shared_dir())? {
            let Some(mark) = mark_of(&path).filter(|mark| is_wanted(mark)) else {
                continue;
            };
            // Opened without creating it: if its owner has just removed the file, a new one would look like a mark that was left.
            if let Some(lock) = FileLock::try_acquire_existing(&path)? {
                return Ok(Some(Self::of(
                    mark,
                    path.clone(),
                    root.shared_folder(),
                    lock,
                )));
            }
        }
        Ok(None)
    }

    /// Removes all marks, also those that a call has locked. They are in a copy of a root, and belong to calls of the original. With
    /// hard links, the locks of these calls are seen in the copy, too.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn remove_all(root: &Root) -> Result<(), StorageError> {
        root.shared_folder().before_change()?;
        for path in crate::references::entries(&root.shared_dir())? {
            if mark_of(&path).is_some() {
                uwf_durable::remove(&path)?;
            }
        }
        Ok(())
    }

    fn of(mark: &str, path: PathBuf, folder: SharedFolder, lock: FileLock) -> Self {
        Self {
            mark: mark.to_owned(),
            path,
            folder,
            _lock: lock,
        }
    }

    /// Returns the mark.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Removes the mark: no lease is left under it that this root does not know.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn remove(self) -> Result<(), StorageError> {
        self.folder.before_change()?;
        Ok(uwf_durable::remove(&self.path)?)
    }
}

fn mark_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_suffix(".next")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_left_if_its_call_did_not_remove_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path().to_path_buf());
        let left = || NextMark::take_left(&root, |mark| mark != "other").unwrap();
        assert!(left().is_none());
        let mark = NextMark::create(&root, "1").unwrap().unwrap();
        let other = NextMark::create(&root, "other").unwrap().unwrap();
        assert!(left().is_none(), "their calls live");
        drop((mark, other));
        let mark = left().unwrap();
        assert_eq!(mark.mark(), "1");
        assert!(left().is_none(), "this call has it");
        assert!(NextMark::create(&root, "1").unwrap().is_none());
        assert!(root.shared_folder().threads().unwrap().is_empty());
        mark.remove().unwrap();
        assert!(left().is_none());
    }
}
