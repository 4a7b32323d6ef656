//! Reads included files, but none outside the folder of the workflow.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use uwf_protocol::workflow_yaml::Included;
use uwf_storage::StorageError;

use super::{read_limited, text};

/// The files that a workflow may include: those in its folder and below, after all links are resolved.
#[derive(Debug, Clone)]
pub struct FsIncludes {
    /// The folder, without links.
    root: PathBuf,
    /// The folder as messages show it.
    shown: PathBuf,
}

impl FsIncludes {
    /// Returns the includes of the workflow in a file, which messages show as `shown`.
    ///
    /// # Errors
    /// [`StorageError::Io`] when the folder of the file cannot be found.
    pub fn beside(path: &Path, shown: &Path) -> Result<Self, StorageError> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Ok(Self {
            root: fs::canonicalize(folder).map_err(StorageError::io("read", folder))?,
            shown: shown.parent().unwrap_or(Path::new("")).to_owned(),
        })
    }

    /// Reads the file at `path`, which is relative to the including file `from`. `from` is the name of the workflow's file,
    /// or the name that an earlier call returned. A file has the same name by whichever path it is included.
    ///
    /// # Errors
    /// Why the file is not read: it does not exist, lies outside, is not text, or is too large.
    pub fn read(&self, from: &str, path: &str) -> Result<Included, String> {
        if path.trim().is_empty() {
            return Err("the path is empty".to_owned());
        }
        if Path::new(path).is_absolute() {
            return Err("the path must be relative to the including file".to_owned());
        }
        let from = Path::new(from)
            .strip_prefix(&self.shown)
            .unwrap_or(Path::new(from));
        let folder = from.parent().unwrap_or(Path::new(""));
        let real =
            fs::canonicalize(self.root.join(folder).join(path)).map_err(|error| {
                match error.kind() {
                    ErrorKind::NotFound | ErrorKind::NotADirectory => {
                        "there is no such file".to_owned()
                    }
                    _ => error.to_string(),
                }
            })?;
        let inside = real
            .strip_prefix(&self.root)
            .map_err(|_| "it is outside the folder of the workflow".to_owned())?;
        let content = read_limited(&real).map_err(|error| error.to_string())?;
        let text = text(content).map_err(|(line, message)| format!("line {line}: {message}"))?;
        let name = self.shown.join(inside).to_string_lossy().into_owned();
        Ok(Included { name, text })
    }
}
