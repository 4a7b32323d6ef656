//! A private copy of `config.yaml` for an editor, and the way back. Which editor, and whether the copy is good
//! enough, is said by those who open it.

use std::path::{Path, PathBuf};

use crate::config::read_text;
use crate::{Root, StorageError};
use uwf_durable::{Durability, FileLock};

/// A copy that is being edited. It stays on the disk until it is [accepted](Self::accept) or
/// [thrown away](Self::discard), so that nothing that was typed is lost.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    /// What the file said when the copy was made.
    original: Option<String>,
}

impl Draft {
    /// Copies the file into one beside it, for its owner alone.
    ///
    /// # Errors
    /// [`StorageError::Io`]; [`StorageError::Invalid`] for a file that is no text.
    pub fn open(root: &Root) -> Result<Self, StorageError> {
        let original = read_text(root)?;
        let text = original.as_deref().unwrap_or_default();
        let copy =
            uwf_durable::Draft::write_as(root.path(), "config-edit-", ".yaml", text.as_bytes())?;
        let path = copy.keep()?;
        Ok(Self { path, original })
    }

    /// Returns the copy's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what the copy says now.
    ///
    /// # Errors
    /// [`StorageError::Io`]; [`StorageError::Invalid`] if it is no text.
    pub fn text(&self) -> Result<String, StorageError> {
        let content = uwf_durable::read(&self.path)?.unwrap_or_default();
        String::from_utf8(content).map_err(|_| StorageError::not_utf8(&self.path))
    }

    /// Tells whether a text is what the file said at first.
    #[must_use]
    pub fn is_unchanged(&self, text: &str) -> bool {
        self.original.as_deref().unwrap_or_default() == text
    }

    /// Replaces the file with a text, in one step, and removes the copy.
    ///
    /// # Errors
    /// [`StorageError::ChangedMeanwhile`] if the file is not any more what was copied: it is not touched, and the
    /// copy stays; [`StorageError::Io`], [`StorageError::Link`].
    pub fn accept(self, root: &Root, text: &str) -> Result<(), StorageError> {
        let _lock = FileLock::acquire(&root.state_lock_file())?;
        if read_text(root)? != self.original {
            return Err(StorageError::ChangedMeanwhile {
                path: root.config_file(),
                copy: self.path,
            });
        }
        uwf_durable::replace(&root.config_file(), text.as_bytes(), Durability::Durable)?;
        Ok(uwf_durable::remove(&self.path)?)
    }

    /// Removes the copy.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn discard(self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove(&self.path)?)
    }
}
