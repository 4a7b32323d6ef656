//! A private copy of `config.yaml` for an editor, and the way back. The caller runs the editor and checks the copy.

use std::path::{Path, PathBuf};

use uwf_durable::Durability;
use uwf_storage::Root;

use crate::ConfigError;
use crate::file::read_text;

/// A copy that is being edited. It stays on the disk until it is [accepted](Self::accept) or
/// [discarded](Self::discard), so that nothing that was typed is lost.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    /// The content of the file when the copy was made.
    original: Option<String>,
}

impl Draft {
    /// Copies the file into one beside it, with mode 0600.
    ///
    /// # Errors
    /// [`ConfigError::Storage`]; [`ConfigError::Invalid`] for a file that is not UTF-8.
    pub fn open(root: &Root) -> Result<Self, ConfigError> {
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

    /// Returns the present content of the copy.
    ///
    /// # Errors
    /// [`ConfigError::Storage`]; [`ConfigError::Invalid`] if it is not UTF-8.
    pub fn text(&self) -> Result<String, ConfigError> {
        let content = uwf_durable::read(&self.path)?.unwrap_or_default();
        String::from_utf8(content).map_err(|_| ConfigError::not_utf8(&self.path))
    }

    /// Tells whether a text is the original content of the file.
    #[must_use]
    pub fn is_unchanged(&self, text: &str) -> bool {
        self.original.as_deref().unwrap_or_default() == text
    }

    /// Replaces the content of the file by a text, atomically, and removes the copy.
    ///
    /// # Errors
    /// [`ConfigError::ChangedMeanwhile`] if the file was changed since it was copied: then it is not touched, and the copy
    /// stays. [`ConfigError::Storage`].
    pub fn accept(self, root: &Root, text: &str) -> Result<(), ConfigError> {
        let _lock = root.lock_state()?;
        if read_text(root)? != self.original {
            return Err(ConfigError::ChangedMeanwhile {
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
    /// [`ConfigError::Storage`].
    pub fn discard(self) -> Result<(), ConfigError> {
        Ok(uwf_durable::remove(&self.path)?)
    }
}
