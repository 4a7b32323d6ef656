//! The state: the active threads with their heads, the ended threads, and the names of workflows. Every change happens
//! under the lock of the state, and is complete and durable when the call returns.

mod integrity;
mod naming;
mod naming_workflows;
mod removal;
mod threads;

use uwf_durable::{Durability, FileLock};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Naming;

use crate::heads::Heads;
use crate::seal::Seal;
use crate::{HistoryRecord, ReplacedStep, Root, StorageError, history};

pub use naming_workflows::{Registered, Registering, Unregistered};
pub use removal::Leaving;
pub use threads::{Located, Threads};

/// The state under a root. It caches nothing: every call reads the files.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    root: &'a Root,
}

/// The result of moving a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Advance {
    /// It moved.
    Moved,
    /// The thread is not active; nothing changed.
    NotActive,
    /// The head is this one and not the expected one; nothing changed.
    HeadIs(CasRef),
}

/// The result of ending a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Archived {
    /// It ended.
    Done,
    /// The thread was not active; nothing changed.
    NotActive,
    /// The head is this one and not the expected one; nothing changed.
    HeadIs(CasRef),
}

/// The result of making a thread active again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Reactivated {
    /// It is active.
    Done,
    /// It was active already, with this head; nothing changed.
    Active(CasRef),
    /// The thread never ended; nothing changed.
    NotArchived,
    /// It ended with this head and not the expected one; nothing changed.
    HeadIs(CasRef),
}

impl<'a> State<'a> {
    /// Returns the state under a root. This touches nothing on the disk.
    #[must_use]
    pub fn new(root: &'a Root) -> Self {
        Self { root }
    }

    /// Returns all active threads with their heads, sorted by id.
    ///
    /// # Errors
    /// [`StorageError::Io`] and [`StorageError::Damaged`], as of every call that reads the state.
    pub fn heads(&self) -> Result<Vec<(ThreadId, CasRef)>, StorageError> {
        Ok(self.read_heads()?.all())
    }

    /// Returns the head of a thread, if it is active.
    ///
    /// # Errors
    /// See [`heads`](Self::heads).
    pub fn head(&self, thread: ThreadId) -> Result<Option<CasRef>, StorageError> {
        Ok(self.read_heads()?.get(thread))
    }

    /// Adds a thread that is not active yet.
    ///
    /// # Errors
    /// [`StorageError::ThreadExists`], and those of [`check`](Self::check).
    pub fn insert(&self, thread: ThreadId, head: CasRef) -> Result<(), StorageError> {
        self.insert_named(thread, head, &Naming::default())
    }

    /// Adds a thread that is not active yet, with a name and labels.
    ///
    /// # Errors
    /// [`StorageError::NameTaken`], and those of [`insert`](Self::insert).
    pub fn insert_named(
        &self,
        thread: ThreadId,
        head: CasRef,
        naming: &Naming,
    ) -> Result<(), StorageError> {
        let _lock = self.lock()?;
        let mut heads = self.checked_heads()?;
        if heads.get(thread).is_some() {
            return Err(StorageError::ThreadExists(thread));
        }
        // The name comes first: a crash in between leaves a name without a thread, which counts for nothing, and never a
        // thread without the name that it was to have.
        if !naming.is_empty() {
            self.name_new_thread(thread, naming, &heads)?;
        }
        heads.set(thread, head);
        self.write_heads(&heads)?;
        // The run folder proves from now on that the thread existed, in case the files of the state lose it. The thread
        // works without the folder, too.
        let _ = self.root.run(thread).create();
        Ok(())
    }

    /// Adds threads without names in one change of the state, if the thread that they work for is active and has this head.
    /// Returns whether it is. Those that are active already stay as they are.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub fn insert_children(
        &self,
        (parent, head): (ThreadId, CasRef),
        threads: &[(ThreadId, CasRef)],
    ) -> Result<bool, StorageError> {
        let _lock = self.lock()?;
        let mut heads = self.checked_heads()?;
        if heads.get(parent) != Some(head) {
            return Ok(false);
        }
        let known = |heads: &Heads, thread: ThreadId| heads.get(thread).is_some();
        let new: Vec<_> = threads
            .iter()
            .filter(|(id, _)| !known(&heads, *id))
            .collect();
        for (thread, head) in &new {
            heads.set(*thread, *head);
        }
        self.write_heads(&heads)?;
        for (thread, _) in new {
            // See `insert_named`.
            let _ = self.root.run(*thread).create();
        }
        Ok(true)
    }

    /// Adds a thread that has ended already, in another root, with a name and labels. If it is active, nothing is changed.
    ///
    /// # Errors
    /// See [`insert_named`](Self::insert_named).
    pub fn insert_ended(
        &self,
        record: &HistoryRecord,
        naming: &Naming,
    ) -> Result<(), StorageError> {
        let _lock = self.lock()?;
        let heads = self.checked_heads()?;
        if heads.get(record.thread).is_some() {
            return Err(StorageError::ThreadExists(record.thread));
        }
        // The name comes first, as in `insert_named`.
        if !naming.is_empty() {
            self.name_new_thread(record.thread, naming, &heads)?;
        }
        self.record_end(record, &heads)?;
        // See `insert_named`.
        let _ = self.root.run(record.thread).create();
        Ok(())
    }

    /// Moves the head of a thread, if it still is `from`: to its next step, or along a chain that is in the store already. The
    /// new nodes must be durable before the call: no other process can change the state while this one waits for the disk.
    /// This crate does not know what a chain is, so the caller knows that `to` leads back to `from`.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub fn advance(
        &self,
        thread: ThreadId,
        from: CasRef,
        to: CasRef,
    ) -> Result<Advance, StorageError> {
        let _lock = self.lock()?;
        let mut heads = self.checked_heads()?;
        match heads.get(thread) {
            None => return Ok(Advance::NotActive),
            Some(head) if head != from => return Ok(Advance::HeadIs(head)),
            Some(_) => heads.set(thread, to),
        }
        self.write_heads(&heads)?;
        Ok(Advance::Moved)
    }

    /// Ends a thread whose head is that of the record.
    ///
    /// # Errors
    /// See [`heads`](Self::heads).
    pub fn archive(&self, record: &HistoryRecord) -> Result<Archived, StorageError> {
        Ok(match self.advance_and_archive(record.head, record)? {
            Advance::Moved => Archived::Done,
            Advance::NotActive => Archived::NotActive,
            Advance::HeadIs(head) => Archived::HeadIs(head),
        })
    }

    /// Moves the head of a thread to that of the record, and ends the thread there, in one change.
    ///
    /// If the call is interrupted, the thread is still active with its old head, and the call can be repeated.
    ///
    /// # Errors
    /// See [`heads`](Self::heads).
    pub fn advance_and_archive(
        &self,
        from: CasRef,
        record: &HistoryRecord,
    ) -> Result<Advance, StorageError> {
        let _lock = self.lock()?;
        let mut heads = self.checked_heads()?;
        match heads.get(record.thread) {
            None => return Ok(Advance::NotActive),
            Some(head) if head != from => return Ok(Advance::HeadIs(head)),
            Some(_) => heads.remove(record.thread),
        }
        // The history comes first: a crash in between leaves the thread in both files, never in neither.
        self.record_end(record, &heads)?;
        self.write_heads(&heads)?;
        Ok(Advance::Moved)
    }

    /// Makes a thread that ended with this head active again. Its history stays as it is.
    ///
    /// # Errors
    /// See [`heads`](Self::heads).
    pub fn reactivate(&self, thread: ThreadId, head: CasRef) -> Result<Reactivated, StorageError> {
        let _lock = self.lock()?;
        let mut heads = self.checked_heads()?;
        if let Some(active) = heads.get(thread) {
            return Ok(Reactivated::Active(active));
        }
        match self.archived(thread)? {
            None => return Ok(Reactivated::NotArchived),
            Some(record) if record.head != head => return Ok(Reactivated::HeadIs(record.head)),
            Some(_) => heads.set(thread, head),
        }
        self.write_heads(&heads)?;
        Ok(Reactivated::Done)
    }

    /// Records, durably, that a step is about to be replaced, unless an interrupted attempt did so already.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn record_replaced(&self, step: &ReplacedStep) -> Result<(), StorageError> {
        let _lock = self.lock()?;
        let heads = self.checked_heads()?;
        let mut known = self.history()?.replaced.into_iter();
        if known.any(|known| (known.replaced, known.by) == (step.replaced, step.by)) {
            return Ok(());
        }
        let line = serde_json::to_string(step).expect("a step is plain data");
        self.append_to_history(&line, &heads)
    }

    /// Returns how a thread ended the last time, whether or not it is active again.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn archived(&self, thread: ThreadId) -> Result<Option<HistoryRecord>, StorageError> {
        // Bytes that are not UTF-8 damage their own line only.
        let content = self.read_history()?;
        let text = String::from_utf8_lossy(&content);
        Ok(history::last_of(&text, thread))
    }

    /// Returns the migrations of a thread, in the order in which they were recorded. It parses only the lines about replaced
    /// steps that contain the thread's id.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn migrations(&self, thread: ThreadId) -> Result<Vec<ReplacedStep>, StorageError> {
        let content = self.read_history()?;
        let text = String::from_utf8_lossy(&content);
        let lines = text.lines().filter(|line| line.contains("\"replaced\""));
        let lines = lines.filter(|line| line.contains(thread.as_str()));
        let steps = lines.filter_map(|line| serde_json::from_str::<ReplacedStep>(line).ok());
        Ok(steps
            .filter(|step| step.is_migration() && step.in_thread == thread)
            .collect())
    }

    fn lock(&self) -> Result<FileLock, StorageError> {
        self.root.lock_state()
    }

    fn read_heads(&self) -> Result<Heads, StorageError> {
        let path = self.root.threads_file();
        Heads::parse(uwf_durable::read(&path)?.unwrap_or_default(), &path)
    }

    fn write_heads(&self, heads: &Heads) -> Result<(), StorageError> {
        let path = self.root.threads_file();
        uwf_durable::replace(&path, heads.as_bytes(), Durability::Durable)?;
        Seal::set(self.root, heads);
        Ok(())
    }

    /// Appends a line, and seals the files; `heads` is the content of `threads.yaml` at this moment.
    fn append_to_history(&self, line: &str, heads: &Heads) -> Result<(), StorageError> {
        uwf_durable::append_line(&self.root.history_file(), line)?;
        Seal::set(self.root, heads);
        Ok(())
    }

    fn read_history(&self) -> Result<Vec<u8>, StorageError> {
        Ok(uwf_durable::read(&self.root.history_file())?.unwrap_or_default())
    }

    /// Appends a record, unless an interrupted attempt did so already.
    fn record_end(&self, record: &HistoryRecord, heads: &Heads) -> Result<(), StorageError> {
        let recorded = self.archived(record.thread)?;
        if recorded.is_some_and(|last| (last.head, last.reason) == (record.head, record.reason)) {
            return Ok(());
        }
        let line = serde_json::to_string(record).expect("a record is plain data");
        self.append_to_history(&line, heads)
    }
}
