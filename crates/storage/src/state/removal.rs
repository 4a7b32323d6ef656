//! Removing threads from the files of the state.
//!
//! A call that is interrupted anywhere leaves each thread whole or gone:
//! 1. The history says that the threads are removed. This line makes their recorded ends void: an ended thread is gone. An
//!    active thread is not: it is still in `threads.yaml`, which counts more.
//! 2. Their entries leave `threads.yaml`: now the active threads are gone, too.
//! 3. The history is written anew without the void lines. This makes the file shorter, and changes nothing that it says.
//!
//! The line of a removed thread stays. It proves that the thread is not lost, and tells its last head and what it used up.

use std::collections::HashMap;

use uwf_durable::Durability;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;

use crate::heads::Heads;
use crate::seal::Seal;
use crate::{HistoryRecord, Located, RemovedThread, ReturnedThread, State, StorageError, history};

/// A thread that is to be removed.
#[derive(Debug, Clone)]
pub struct Leaving {
    /// The thread.
    pub thread: ThreadId,
    /// Where it was found.
    pub place: Located,
    /// What its runs used up, if that is known.
    pub used: Option<Used>,
    /// The digests of the steps that `used` counts.
    pub steps: Vec<CasRef>,
}

impl State<'_> {
    /// Removes threads that are still where the caller found them. Returns those that were removed. The others changed
    /// meanwhile, and stay.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub fn remove(
        &self,
        threads: &[Leaving],
        at_ms: i64,
    ) -> Result<Vec<RemovedThread>, StorageError> {
        let _lock = self.lock()?;
        let mut heads = self.checked_heads()?;
        let records = self.history()?.records.into_iter();
        let ended: HashMap<ThreadId, HistoryRecord> =
            records.map(|record| (record.thread, record)).collect();
        let is_there = |one: &&Leaving| match (heads.get(one.thread), &one.place) {
            (Some(head), Located::Active(found)) => head == *found,
            (None, Located::Archived(found)) => ended.get(&one.thread) == Some(found),
            (Some(_), Located::Archived(_)) | (None, Located::Active(_)) => false,
        };
        let removed = threads.iter().filter(is_there);
        let removed: Vec<RemovedThread> = removed
            .map(|one| RemovedThread {
                removed: one.thread,
                head: one.place.head(),
                removed_at: at_ms,
                used: one.used.clone(),
                steps: one.steps.clone(),
            })
            .collect();
        if removed.is_empty() {
            return Ok(removed);
        }
        self.append_to_history(&lines_of(&removed), &heads)?;
        let before = heads.as_bytes().len();
        for one in &removed {
            heads.remove(one.removed);
        }
        if heads.as_bytes().len() < before {
            self.write_heads(&heads)?;
        }
        // A name of a thread that is gone counts for nothing. If this fails, its line stays until the name is given again.
        let _ = self.forget_namings(removed.iter().map(|one| one.removed));
        // The threads are gone. If this fails, the next removal leaves the void lines out.
        let _ = self.leave_out_void_lines(&heads);
        Ok(removed)
    }

    /// Returns the record of a removed thread.
    ///
    /// # Errors
    /// See [`history`](Self::history).
    pub fn removed(&self, thread: ThreadId) -> Result<Option<RemovedThread>, StorageError> {
        let mut newest_first = self.history()?.removed.into_iter().rev();
        Ok(newest_first.find(|one| one.removed == thread))
    }

    /// Records, durably, that a removed thread comes back, or came back, with less than it had used up.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub fn record_returned(&self, returned: &ReturnedThread) -> Result<(), StorageError> {
        let _lock = self.lock()?;
        let heads = self.checked_heads()?;
        if self.history()?.returned.contains(returned) {
            return Ok(());
        }
        let line = serde_json::to_string(returned).expect("a record is plain data");
        self.append_to_history(&line, &heads)
    }

    /// Makes the history shorter, if a removal was interrupted before it could.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub fn finish_removals(&self) -> Result<(), StorageError> {
        if self.without_void_lines(&self.read_heads()?)?.is_none() {
            return Ok(());
        }
        let _lock = self.lock()?;
        let heads = self.checked_heads()?;
        self.leave_out_void_lines(&heads)
    }

    fn leave_out_void_lines(&self, heads: &Heads) -> Result<(), StorageError> {
        let Some(kept) = self.without_void_lines(heads)? else {
            return Ok(());
        };
        Seal::announce(self.root, heads, &kept)?;
        uwf_durable::replace(
            &self.root.history_file(),
            kept.as_bytes(),
            Durability::Durable,
        )?;
        Seal::set(self.root, heads);
        Ok(())
    }

    /// Returns the history without its void lines, if it has some.
    fn without_void_lines(&self, heads: &Heads) -> Result<Option<String>, StorageError> {
        let content = self.read_history()?;
        // Bytes that are not UTF-8 are damage, which no writer gets past.
        let text = String::from_utf8_lossy(&content);
        let kept = history::without_void(&text, |thread| heads.get(thread).is_some());
        Ok((kept.len() < text.len()).then_some(kept))
    }
}

/// Returns the lines of removed threads, without the last line feed.
fn lines_of(removed: &[RemovedThread]) -> String {
    let line = |one| serde_json::to_string(one).expect("a record is plain data");
    let lines: Vec<String> = removed.iter().map(line).collect();
    lines.join("\n")
}
