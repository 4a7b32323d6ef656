//! Which configs of projects the user trusts: each folder with the exact text of its config. The text itself is kept, and
//! not a hash: nobody can make another text that passes for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_durable::Durability;
use uwf_storage::{Root, StorageError};

use crate::ConfigError;

/// The folders that the user trusts, with the texts of their configs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    texts: BTreeMap<PathBuf, String>,
}

/// Whether the config of a project is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It is, as it is now.
    Trusted,
    /// It was trusted, and has another text now.
    Changed,
    /// It never was, or its trust was revoked.
    Unknown,
}

impl Trust {
    /// Reads which configs of projects the user trusts.
    ///
    /// # Errors
    /// [`ConfigError::TrustDamaged`] if the file is damaged, [`ConfigError::Storage`] if it cannot be read.
    pub fn read(root: &Root) -> Result<Self, ConfigError> {
        let path = root.trust_file();
        let Some(content) = uwf_durable::read(&path)? else {
            return Ok(Self::default());
        };
        let texts =
            serde_json::from_slice(&content).map_err(|error| ConfigError::TrustDamaged {
                path,
                line: error.line() as u64,
                column: error.column() as u64,
                problem: error.to_string(),
            })?;
        Ok(Self { texts })
    }

    /// Tells whether a text is trusted as the config of a folder.
    #[must_use]
    pub fn standing(&self, folder: &Path, text: &str) -> Standing {
        match self.texts.get(folder) {
            Some(trusted) if trusted == text => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        }
    }

    /// Tells whether a directory is in a folder that was trusted.
    #[must_use]
    pub fn has_folder_around(&self, directory: &Path) -> bool {
        let directory = directory.canonicalize();
        directory.is_ok_and(|directory| self.folders().any(|folder| directory.starts_with(folder)))
    }

    /// Returns the folders that were trusted, sorted.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.texts.keys().map(PathBuf::as_path)
    }
}

/// Trusts a text as the config of a folder.
///
/// # Errors
/// See [`Trust::read`]; and when the name of the folder is no text.
pub fn trust(root: &Root, folder: &Path, text: &str) -> Result<(), ConfigError> {
    StorageError::recordable(folder)?;
    change(root, |texts| {
        texts.insert(folder.to_owned(), text.to_owned());
    })
}

/// Trusts a folder no more. Tells whether it was trusted.
///
/// # Errors
/// See [`Trust::read`].
pub fn revoke(root: &Root, folder: &Path) -> Result<bool, ConfigError> {
    let mut was_trusted = false;
    change(root, |texts| was_trusted = texts.remove(folder).is_some())?;
    Ok(was_trusted)
}

fn change(
    root: &Root,
    change: impl FnOnce(&mut BTreeMap<PathBuf, String>),
) -> Result<(), ConfigError> {
    let _lock = root.lock_state()?;
    let Trust { mut texts } = Trust::read(root)?;
    change(&mut texts);
    let text = serde_json::to_string(&texts).expect("only folders with names of text are trusted");
    let file = root.trust_file();
    Ok(uwf_durable::replace(
        &file,
        text.as_bytes(),
        Durability::Durable,
    )?)
}
