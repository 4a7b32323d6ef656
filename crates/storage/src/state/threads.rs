//! Where threads are: one, or all of them, active and ended.
//!
//! Active threads are read first. A thread that ends is in the history before its head goes, so one that ends in between
//! is found in both files, and never in neither.

use std::collections::BTreeMap;

use uwf_protocol::ids::{CasRef, ThreadId};

use super::State;
use crate::heads::Heads;
use crate::{BadLine, History, HistoryRecord, ReplacedStep, StorageError};

/// Where a thread is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// Among the active threads, with this head.
    Active(CasRef),
    /// Among those that ended.
    Archived(HistoryRecord),
}

impl Located {
    /// Returns the head of the thread.
    #[must_use]
    pub fn head(&self) -> CasRef {
        match self {
            Self::Active(head) => *head,
            Self::Archived(record) => record.head,
        }
    }

    /// Returns how the thread ended; `None` if it is active.
    #[must_use]
    pub fn end(&self) -> Option<&HistoryRecord> {
        match self {
            Self::Active(_) => None,
            Self::Archived(record) => Some(record),
        }
    }

    /// Tells whether a person has ended the thread.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.end().is_some_and(HistoryRecord::is_cancelled)
    }
}

/// All threads, active and ended, and what the history says beside that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threads {
    /// Where each thread is. A thread that is in both files is active.
    pub places: BTreeMap<ThreadId, Located>,
    /// The steps that were done again, in the order of the history.
    pub replaced: Vec<ReplacedStep>,
    /// The lines of the history that cannot be read.
    pub damaged: Vec<BadLine>,
}

impl State<'_> {
    /// Finds a thread, active or ended. A thread that is in both files is active.
    ///
    /// # Errors
    /// See [`heads`](Self::heads).
    pub fn find(&self, thread: ThreadId) -> Result<Option<Located>, StorageError> {
        if let Some(head) = self.head(thread)? {
            return Ok(Some(Located::Active(head)));
        }
        if let Some(record) = self.archived(thread)? {
            return Ok(Some(Located::Archived(record)));
        }
        // It is in neither file. That proves something only if the files have lost nothing.
        self.check_threads(&|| Ok(vec![thread]))?;
        Ok(None)
    }

    /// Returns all threads, active and ended.
    ///
    /// # Errors
    /// See [`heads`](Self::heads). Lines of the history that cannot be read are in the result.
    pub fn threads(&self) -> Result<Threads, StorageError> {
        // The heads are read first.
        let heads = self.read_heads()?;
        Ok(Threads::of(&heads, self.history()?))
    }
}

impl Threads {
    pub(super) fn of(heads: &Heads, history: History) -> Self {
        let heads = heads.all().into_iter();
        // Of several records of a thread, the last one counts.
        let ended = history.records.into_iter();
        let ended = ended.map(|record| (record.thread, Located::Archived(record)));
        let mut places: BTreeMap<ThreadId, Located> = ended.collect();
        places.extend(heads.map(|(thread, head)| (thread, Located::Active(head))));
        Self {
            places,
            replaced: history.replaced,
            damaged: history.damaged,
        }
    }
}
