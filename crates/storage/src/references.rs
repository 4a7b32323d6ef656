//! Roots of garbage collection outside the state files: the nodes that run records name, and the start of the oldest
//! running agent.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use uwf_protocol::ids::CasRef;

use crate::{Root, RunDir, StorageError};

/// The extensions of records. All other files of a run are output of agents.
const RECORDS: [&str; 2] = ["json", "jsonl"];

/// The running agents under a root, as far as garbage collection needs to know them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtWork {
    /// When the oldest running step started, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Whether a thread is locked without a lease record, for example by an agent that a person started.
    pub unknown: bool,
}

impl AtWork {
    /// Looks at the lock of every thread with a run folder.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn look(root: &Root) -> Result<Self, StorageError> {
        let mut found = Self::default();
        for run in runs(root)? {
            if !run.lease.is_held()? {
                continue;
            }
            match run.lease.read_record() {
                Some(record) => {
                    let started = record.started_at_ms;
                    let since = found.since_ms.map_or(started, |since| since.min(started));
                    found.since_ms = Some(since);
                }
                None => found.unknown = true,
            }
        }
        Ok(found)
    }
}

/// Returns every node that a record of a run names: each string in any record that has the form of a hash.
///
/// # Errors
/// [`StorageError::Io`] if one cannot be read.
pub fn named_by_runs(root: &Root) -> Result<BTreeSet<CasRef>, StorageError> {
    let mut named = BTreeSet::new();
    for run in runs(root)? {
        for path in entries(run.path())? {
            let ending = path.extension().and_then(|ending| ending.to_str());
            if ending.is_some_and(|ending| RECORDS.contains(&ending)) {
                // A record that was removed meanwhile names nothing.
                let content = uwf_durable::read(&path)?.unwrap_or_default();
                named.extend(quoted(&content));
            }
        }
    }
    Ok(named)
}

/// Returns the temporary files, in all folders where files are replaced, that were last written before a time, in milliseconds since
/// 1970. A program that writes one may be on another machine, so only its age tells whether it is in use.
///
/// # Errors
/// [`StorageError::Io`].
pub fn left_behind(root: &Root, before_ms: i64) -> Result<Vec<PathBuf>, StorageError> {
    let mut left = files_left_in(root.path(), before_ms)?;
    let locks = root.path().join("locks");
    for folder in [locks, root.shared_dir(), root.worktrees_dir()] {
        left.extend(files_left_in(&folder, before_ms)?);
    }
    for run in runs(root)? {
        left.extend(files_left_in(run.path(), before_ms)?);
    }
    Ok(left)
}

/// Removes files that were left behind in a root. A folder that has such a name goes with all that is in it.
///
/// # Errors
/// [`StorageError::Io`].
pub fn remove_all(root: &Root, paths: &[PathBuf]) -> Result<(), StorageError> {
    root.shared_folder().before_change()?;
    Ok(paths
        .iter()
        .try_for_each(|path| uwf_durable::remove_tree(path))?)
}

fn files_left_in(dir: &Path, before_ms: i64) -> Result<Vec<PathBuf>, StorageError> {
    let is_old = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let used = fs::symlink_metadata(path).and_then(|found| found.modified());
        let used = used
            .ok()
            .and_then(|used| used.duration_since(UNIX_EPOCH).ok());
        let used_ms = used.and_then(|used| i64::try_from(used.as_millis()).ok());
        uwf_durable::is_temporary(&name) && used_ms.is_some_and(|used| used < before_ms)
    };
    let mut left = entries(dir)?;
    left.retain(is_old);
    Ok(left)
}

fn runs(root: &Root) -> Result<Vec<RunDir>, StorageError> {
    let mut runs = root.runs()?;
    runs.retain(RunDir::exists);
    Ok(runs)
}

/// Returns the entries of a directory. A missing directory has none.
pub(crate) fn entries(dir: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let io = StorageError::io("list", dir);
    match fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        found => {
            let found = found.and_then(|entries| {
                entries
                    .map(|entry| Ok(entry?.path()))
                    .collect::<Result<Vec<_>, _>>()
            });
            found.map_err(io)
        }
    }
}

/// Returns the hashes between double quotes.
fn quoted(content: &[u8]) -> impl Iterator<Item = CasRef> {
    let parts = content.split(|byte| *byte == b'"');
    parts.filter_map(|part| std::str::from_utf8(part).ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_in_quotes_is_named() {
        let line = br#"{"step":"0123456789012","head":null,"turns":["CTS5P6RD8HMCS"],"x":"a CTS5P6RD8HMCS"}"#;
        let found: Vec<String> = quoted(line).map(|hash| hash.to_string()).collect();
        assert_eq!(found, ["0123456789012", "CTS5P6RD8HMCS"]);
        assert_eq!(quoted(b"0123456789012").count(), 1, "better one too many");
        assert_eq!(quoted(b"\xff\"\"").count(), 0);
    }
}
