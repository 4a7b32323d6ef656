//! The index of git for one look at a working tree. Nobody else uses it, and it is removed after the look.

use std::path::{Path, PathBuf};

use crate::{Env, Root, StorageError};

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
    }
}
