//! The index of git for one look at a working tree. Nobody else uses it, and it is removed after the look.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Env, Root, StorageError};

/// How old a file is that no look needs any more.
const OLD: Duration = Duration::from_hours(24);

/// An index of git that lives as long as this value.
#[derive(Debug)]
pub struct PassingIndex {
    path: PathBuf,
}

impl PassingIndex {
    /// Returns the path for a new index. git makes the file.
    ///
    /// # Errors
    /// [`StorageError::Io`] if its folder cannot be made.
    pub fn new(root: &Root, env: &Env) -> Result<Self, StorageError> {
        let folder = root.indexes_dir();
        uwf_durable::create_dir(&folder)?;
        remove_old(&folder);
        let random = env
            .random()
            .map_err(StorageError::io("name a file in", &folder))?;
        let path = folder.join(format!("{}-{random:x}", env.process_id()));
        Ok(Self { path })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PassingIndex {
    fn drop(&mut self) {
        // A file that stays says nothing: no other look has its name.
        let _ = uwf_durable::remove(&self.path);
        let _ = uwf_durable::remove(&lock_of(&self.path));
    }
}

/// Returns the lock that git makes beside an index, and leaves if it is ended.
fn lock_of(index: &Path) -> PathBuf {
    let mut lock = index.as_os_str().to_owned();
    lock.push(".lock");
    lock.into()
}

/// Removes what processes left that were killed during a look.
fn remove_old(folder: &Path) {
    for name in uwf_durable::names(folder).unwrap_or_default() {
        let file = folder.join(name);
        let changed = file.metadata().and_then(|found| found.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        if age.is_some_and(|age| age > OLD) {
            let _ = uwf_durable::remove(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_look_leaves_nothing_and_removes_what_killed_ones_left() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path().to_owned());
        let env = Env::from_parts(&[], dir.path(), 1, 7);
        let folder = root.indexes_dir();
        fs::create_dir_all(&folder).unwrap();
        for (name, age) in [("old", OLD * 2), ("at-work", OLD / 2)] {
            let file = File::create(folder.join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        let index = PassingIndex::new(&root, &env).unwrap();
        fs::write(index.path(), "").unwrap();
        fs::write(lock_of(index.path()), "").unwrap();
        drop(index);
        assert_eq!(uwf_durable::names(&folder).unwrap(), ["at-work"]);
    }
}
