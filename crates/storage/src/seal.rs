//! What the last writer of the state knew of its files when it left them. A writer that finds the files unchanged skips
//! the check for lost entries; any other writer makes it. The seal is a cache and lies with the locks.
//!
//! Each file is on the disk before what is sealed of it. So whatever a crash leaves, the files have at least what the
//! seal says, unless somebody else took it away.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::Root;
use crate::heads::Heads;
use crate::history;

/// What is known of `threads.yaml` and `history.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seal {
    /// The numbers, sizes and times of both files, as text.
    files: String,
    /// How many bytes the history had, all of them whole lines.
    pub(crate) history: u64,
    /// How many lines the history had; 0 in a seal of an older version.
    #[serde(default)]
    pub(crate) lines: u64,
    /// The oldest and the newest of the active threads.
    pub(crate) threads: Vec<(ThreadId, CasRef)>,
}

impl Seal {
    /// Returns what the last writer left, if that is known.
    pub(crate) fn read(root: &Root) -> Option<Self> {
        let sealed = uwf_durable::read(&root.seal_file()).ok()??;
        serde_json::from_slice(&sealed).ok()
    }

    /// Tells whether the files are as they were left. Only the holder of the state lock may ask.
    pub(crate) fn is_intact(&self, root: &Root) -> bool {
        self.files == describe(root)
    }

    /// Remembers what the files look like, which have these threads. If it cannot, the next writer looks closer.
    pub(crate) fn set(root: &Root, heads: &Heads) {
        let history = fs::symlink_metadata(root.history_file()).map_or(0, |found| found.len());
        let earlier = Self::read(root).filter(|seal| seal.history == history);
        let seal = Self {
            files: describe(root),
            history,
            // Most steps leave the history as it is.
            lines: earlier.map_or_else(|| count_lines(root), |seal| seal.lines),
            threads: heads.ends(),
        };
        let text = serde_json::to_vec(&seal).expect("a seal is plain data");
        let _ = uwf_durable::overwrite(&root.seal_file(), &text);
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
