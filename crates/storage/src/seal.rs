//! The seal: what the files of the state looked like after the last writer. A writer that finds the files unchanged skips
//! the check for lost entries. The seal is a cache and lies with the locks.
//!
//! Each file is on the disk before the seal that describes it. So after a crash the files have at least what the seal
//! says, unless another program removed something.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::heads::Heads;
use crate::history;
use crate::{Root, StorageError};

/// What `threads.yaml` and `history.jsonl` looked like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seal {
    /// The inodes, sizes and times of both files, as text.
    files: String,
    /// How many bytes the history had, all of them in complete lines.
    pub(crate) history: u64,
    /// How many lines the history had; 0 in a seal of an older version.
    #[serde(default)]
    pub(crate) lines: u64,
    /// The oldest and the newest of the active threads.
    pub(crate) threads: Vec<(ThreadId, CasRef)>,
}

impl Seal {
    /// Returns the seal of the last writer, if it can be read.
    pub(crate) fn read(root: &Root) -> Option<Self> {
        let sealed = uwf_durable::read(&root.seal_file()).ok()??;
        serde_json::from_slice(&sealed).ok()
    }

    /// Tells whether the files are unchanged. Without the lock of the state, a writer may be changing them just now, and then the answer is
    /// no.
    pub(crate) fn is_intact(&self, root: &Root) -> bool {
        self.files == describe(root)
    }

    /// Writes the seal of the files as they are now; `heads` is the content of `threads.yaml`. If this fails, the next
    /// writer makes the full check.
    pub(crate) fn set(root: &Root, heads: &Heads) {
        let history = fs::symlink_metadata(root.history_file()).map_or(0, |found| found.len());
        let earlier = Self::read(root).filter(|seal| seal.history == history);
        let seal = Self {
            files: describe(root),
            history,
            // Most steps do not change the history, so its lines need not be counted again.
            lines: earlier.map_or_else(|| count_lines(root), |seal| seal.lines),
            threads: heads.ends(),
        };
        let text = serde_json::to_vec(&seal).expect("a seal is plain data");
        let _ = uwf_durable::overwrite(&root.seal_file(), &text);
    }

    /// Seals, durably, the history that is about to take the place of a longer one. The seal must be on the disk before that:
    /// otherwise the shorter file would look as if it had lost lines. It fits neither file as it is now, so the next writer
    /// makes the full check if this one dies.
    pub(crate) fn announce(root: &Root, heads: &Heads, history: &str) -> Result<(), StorageError> {
        let seal = Self {
            files: String::new(),
            history: history.len() as u64,
            lines: history::count_lines(history.as_bytes()),
            threads: heads.ends(),
        };
        let text = serde_json::to_vec(&seal).expect("a seal is plain data");
        Ok(uwf_durable::replace(
            &root.seal_file(),
            &text,
            Durability::Durable,
        )?)
    }
}

fn count_lines(root: &Root) -> u64 {
    let content = uwf_durable::read(&root.history_file()).ok().flatten();
    history::count_lines(&content.unwrap_or_default())
}

fn describe(root: &Root) -> String {
    let one = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) => format!(
            "{} {} {}.{:09}",
            found.ino(),
            found.len(),
            found.mtime(),
            found.mtime_nsec()
        ),
        Err(_) => "-".to_owned(),
    };
    format!(
        "{}, {}",
        one(&root.threads_file()),
        one(&root.history_file())
    )
}
