//! What changed between two snapshots.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::{Repository, SnapshotError};

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// Its content, its mode or its type is another one.
    Modified,
    /// It is gone.
    Deleted,
}

/// A file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The file, relative to the working tree.
    pub path: PathBuf,
    /// What happened to it.
    pub change: Change,
    /// How many lines were added and removed; `None` if it is not text.
    pub lines: Option<(u64, u64)>,
}

/// How a patch is asked for.
const PATCH: [&str; 5] = ["diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff"];

/// A part of a working tree.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The folder that it is.
    pub folder: &'a Path,
    /// A folder that is left out.
    pub hidden: &'a Path,
}

impl Repository {
    /// Returns the files that differ between two commits, in the order of their names. A file that was moved is one that is
    /// gone and one that is new.
    ///
    /// # Errors
    /// When `git` refuses: for example because a commit is gone.
    pub fn changed(&self, before: &str, after: &str) -> Result<Vec<Changed>, SnapshotError> {
        let args = |form| ["diff-tree", "-r", "-z", "--no-renames", form, before, after];
        let names = self.git().bytes(&args("--name-status"), b"")?;
        let counts = self.git().bytes(&args("--numstat"), b"")?;
        let mut names = names.split(|byte| *byte == 0);
        let mut counts = counts.split(|byte| *byte == 0);
        let mut changed = Vec::new();
        while let (Some(status), Some(path)) = (names.next(), names.next()) {
            let change = match status {
                b"A" => Change::Added,
                b"D" => Change::Deleted,
                _ => Change::Modified,
            };
            changed.push(Changed {
                path: OsString::from_vec(path.to_vec()).into(),
                change,
                lines: counts.next().and_then(lines_of),
            });
        }
        Ok(changed)
    }

    /// Returns the difference between two commits as a patch.
    ///
    /// # Errors
    /// See [`changed`](Self::changed).
    pub fn patch(&self, before: &str, after: &str) -> Result<Vec<u8>, SnapshotError> {
        let args = [&PATCH[..], &[before, after]].concat();
        self.git().bytes(&args, b"")
    }

    /// Returns the beginning of the difference between two commits or trees in a part of the working tree, as a patch, and the
    /// length of the whole patch, both in bytes.
    ///
    /// # Errors
    /// See [`changed`](Self::changed).
    pub fn patch_of(
        &self,
        before: &str,
        after: &str,
        part: Part<'_>,
        most: u64,
    ) -> Result<(Vec<u8>, u64), SnapshotError> {
        let inside = |path: &Path| {
            let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let path = path.strip_prefix(self.root()).ok()?.to_str()?.to_owned();
            (!path.is_empty()).then_some(path)
        };
        let folder = inside(part.folder).map(|path| format!(":(top,literal){path}"));
        let hidden = inside(part.hidden).map(|path| format!(":(top,exclude,literal){path}"));
        let parts: Vec<&str> = [folder.as_deref(), hidden.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        let args = [&PATCH[..], &[before, after, "--"], &parts].concat();
        self.git().beginning(&args, most)
    }
}

/// Reads the counts of one file, `<added> TAB <removed> TAB <path>`. A file that is not text has dashes.
fn lines_of(entry: &[u8]) -> Option<(u64, u64)> {
    let text = String::from_utf8_lossy(entry);
    let mut parts = text.split('\t');
    let added = parts.next()?.parse().ok()?;
    Some((added, parts.next()?.parse().ok()?))
}
