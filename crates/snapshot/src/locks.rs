//! The locks of `git` on a worktree and its branch. A `git` that is killed leaves its locks, and every later one then refuses.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::SystemTime;

use uwf_durable::{names, remove};

use crate::{SnapshotError, Worktree};

/// A lock of `git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Its file.
    pub file: PathBuf,
    /// When it was taken.
    pub taken: SystemTime,
}

impl Lock {
    fn at(file: PathBuf) -> Option<Self> {
        let taken = file.symlink_metadata().ok()?.modified().ok()?;
        Some(Self { file, taken })
    }

    /// Gives the lock back. The caller knows that its owner is dead.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn remove(&self) -> Result<(), SnapshotError> {
        Ok(remove(&self.file)?)
    }
}

impl Worktree<'_> {
    /// Returns the locks that `git` has on the index, the head and the branch. One that is killed leaves its locks, and every later
    /// one then refuses to commit.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn locks(&self) -> Result<Vec<Lock>, SnapshotError> {
        let mut locks = vec![self.branch_lock()];
        let known = self.git_dir.join("worktrees");
        for name in names(&known)? {
            let entry = known.join(&name);
            if self.is_known_as(&entry)? {
                let files = names(&entry)?;
                let files = files.iter().map(|file| entry.join(file));
                locks.extend(files.filter(|file| file.extension() == Some(OsStr::new("lock"))));
            }
        }
        Ok(locks.into_iter().filter_map(Lock::at).collect())
    }

    /// Returns the lock on all references of the repository. Any `git` of the repository may own it.
    #[must_use]
    pub fn packed_refs_lock(&self) -> Option<Lock> {
        Lock::at(self.git_dir.join("packed-refs.lock"))
    }

    /// Returns the file that `git` makes while it moves the branch.
    pub(crate) fn branch_lock(&self) -> PathBuf {
        self.git_dir.join(format!("{}.lock", self.reference()))
    }
}
