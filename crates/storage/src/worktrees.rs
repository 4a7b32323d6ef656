//! The records of the worktrees of threads: `worktrees/<thread>.json`. The worktrees themselves lie beside them, unless the
//! config names another folder. A record is not in the run folder, because a run folder can be deleted, and the work in a
//! worktree must not be forgotten then.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::ThreadId;

use crate::{BadLine, Root, StorageError};

/// The worktree of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeRecord {
    /// The git folder of the repository.
    pub git_dir: PathBuf,
    /// The working tree that the thread was started in, which the worktree stands for.
    pub source: PathBuf,
    /// The folder of the worktree.
    pub place: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit at which the branch began.
    pub base: String,
    /// Whether branch and worktree were made. Until then nobody has worked there, and a folder that is at the place is left
    /// of a call that was killed.
    pub made: bool,
}

impl WorktreeRecord {
    /// Makes a folder, if it lies in the worktree. Returns whether it does.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn make_folder(&self, folder: &Path) -> Result<bool, StorageError> {
        let is_inside = folder.starts_with(&self.place);
        if is_inside {
            uwf_durable::create_dir(folder)?;
        }
        Ok(is_inside)
    }

    /// Returns the folder in the worktree that stands for a folder of the working tree that it was made for. A folder elsewhere
    /// stays the same.
    #[must_use]
    pub fn inside(&self, folder: &Path) -> PathBuf {
        match real(folder).strip_prefix(&self.source) {
            Ok(relative) => self.place.join(relative),
            Err(_) => folder.to_owned(),
        }
    }
}

/// Returns a path without links and without `..`, also if its end does not exist.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        Some((real, path.strip_prefix(above).ok()?))
    });
    let Some((mut real, rest)) = found else {
        return path.to_owned();
    };
    for part in rest.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => real.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    real
}

/// The record of the worktree of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeFile {
    path: PathBuf,
}

impl WorktreeFile {
    pub(crate) fn at(directory: &Path, thread: ThreadId) -> Self {
        Self {
            path: directory.join(format!("{thread}.json")),
        }
    }

    /// Returns the path of the file, which people are told.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the record; `None` if the thread has no worktree.
    ///
    /// # Errors
    /// [`StorageError::Worktree`] for a record that cannot be understood: it does not count as absent, because a worktree
    /// with work in it may be at the place. [`StorageError::Io`].
    pub fn read(&self) -> Result<Option<WorktreeRecord>, StorageError> {
        let Some(content) = uwf_durable::read(&self.path)? else {
            return Ok(None);
        };
        serde_json::from_slice(&content)
            .map(Some)
            .map_err(|error| StorageError::Worktree(BadLine::in_json(&self.path, &error)))
    }

    /// Replaces the record, durably.
    ///
    /// # Errors
    /// [`StorageError::PathNotText`] for a path that cannot be recorded. [`StorageError::Io`].
    pub fn write(&self, record: &WorktreeRecord) -> Result<(), StorageError> {
        for path in [&record.git_dir, &record.source, &record.place] {
            StorageError::recordable(path)?;
        }
        if let Some(directory) = self.path.parent() {
            uwf_durable::create_dir(directory)?;
        }
        let content = serde_json::to_vec(record).expect("its paths are text");
        Ok(uwf_durable::replace(
            &self.path,
            &content,
            Durability::Durable,
        )?)
    }

    /// Removes the record, if there is one.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn remove(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.path)?)
    }

    /// Returns the index with which git reads the files that the worktree begins with. It is removed right after.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        self.path.with_extension("index")
    }

    /// Removes this index, if it is there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn remove_index(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.index())?)
    }
}

impl Root {
    /// Returns the record of the worktree of a thread.
    #[must_use]
    pub fn worktree(&self, thread: ThreadId) -> WorktreeFile {
        WorktreeFile::at(&self.worktrees_dir(), thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_cannot_be_read_does_not_count_as_absent() {
        let temp = tempfile::tempdir().unwrap();
        let thread = "01J7K9Z0000000000000000001".parse().unwrap();
        let file = Root::at(temp.path().to_owned()).worktree(thread);
        assert_eq!(file.read().unwrap(), None);
        let record = WorktreeRecord {
            git_dir: "/work/.git".into(),
            source: "/work".into(),
            place: "/root/worktrees/x".into(),
            branch: "uwf/x".to_owned(),
            base: "0".repeat(40),
            made: false,
        };
        file.write(&record).unwrap();
        assert_eq!(file.read().unwrap(), Some(record));
        std::fs::write(&file.path, "{").unwrap();
        assert!(matches!(file.read(), Err(StorageError::Worktree(_))));
    }
}
