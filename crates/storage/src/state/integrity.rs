//! Checks that the files of the state have lost nothing.
//!
//! The evidence is in other files: the run folders of threads, the seal, and the copy of the registry. These may be gone,
//! too; then there is no evidence of a loss.

use std::collections::HashSet;

use indexmap::IndexMap;
use uwf_protocol::ids::{CasRef, ThreadId};

use super::{State, Threads};
use crate::heads::Heads;
use crate::history::{self, Unfinished};
use crate::seal::Seal;
use crate::{History, Root, RunDir, StorageError, Vanished, registry};

impl State<'_> {
    /// Checks that every line is readable, and that every thread with a run folder, or named by the seal, is active,
    /// ended or removed.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] with the first bad line, [`StorageError::Vanished`], and [`StorageError::Io`].
    pub fn check(&self) -> Result<(), StorageError> {
        self.check_threads(&|| self.root.threads_with_runs())
    }

    /// Makes the same check, unless the files are as the last writer left them.
    ///
    /// # Errors
    /// See [`check`](Self::check).
    pub fn check_if_changed(&self) -> Result<(), StorageError> {
        match Seal::read(self.root).is_some_and(|seal| seal.is_intact(self.root)) {
            true => Ok(()),
            false => self.check(),
        }
    }

    /// Returns all threads, and why the files may not have all of them or not as they were: what [`check`](Self::check) fails
    /// with. The files are read once for both.
    ///
    /// # Errors
    /// See [`threads`](Self::threads).
    pub fn threads_checked(&self) -> Result<(Threads, Option<StorageError>), StorageError> {
        let known = || self.root.threads_with_runs();
        let (heads, history, checked) = self.read_and_check(&known)?;
        Ok((Threads::of(&heads, history), checked.err()))
    }

    /// Makes the same check for the threads of `known` instead of all threads with run folders.
    pub(super) fn check_threads(
        &self,
        known: &dyn Fn() -> Result<Vec<ThreadId>, StorageError>,
    ) -> Result<(), StorageError> {
        self.read_and_check(known)?.2
    }

    /// Reads the heads and the history, and checks them.
    fn read_and_check(
        &self,
        known: &dyn Fn() -> Result<Vec<ThreadId>, StorageError>,
    ) -> Result<(Heads, History, Result<(), StorageError>), StorageError> {
        loop {
            // In this order we never miss a thread that is being made or archived at the moment.
            let seal = Seal::read(self.root);
            let known = known()?;
            let heads = self.read_heads()?;
            let history = self.history()?;
            let checked = self.check_against(&heads, &history, known, seal.as_ref());
            // A seal is overwritten in place, so one that was read during a write may mix the old and the new one.
            if checked.is_ok() || Seal::read(self.root) == seal {
                return Ok((heads, history, checked));
            }
        }
    }

    /// Returns the heads for a writer, and checks the files unless the seal matches. Moves an unfinished last line of the
    /// history to `history.torn`: a person may need it, and the seal counts complete lines only.
    pub(super) fn checked_heads(&self) -> Result<Heads, StorageError> {
        let seal = Seal::read(self.root);
        if seal.as_ref().is_some_and(|seal| seal.is_intact(self.root)) {
            return self.read_heads();
        }
        let known = self.root.threads_with_runs()?;
        let heads = self.read_heads()?;
        let history = self.history()?;
        self.check_against(&heads, &history, known, seal.as_ref())?;
        let path = self.root.history_file();
        let content = uwf_durable::read(&path)?.unwrap_or_default();
        if let Some(end) = history::unfinished(&content) {
            let torn = String::from_utf8_lossy(&content[end..]);
            uwf_durable::append_line(&self.root.torn_history_file(), &torn)?;
            uwf_durable::cut(&path, end as u64)?;
        }
        Ok(heads)
    }

    fn check_against(
        &self,
        heads: &Heads,
        history: &History,
        known: Vec<ThreadId>,
        seal: Option<&Seal>,
    ) -> Result<(), StorageError> {
        if let Some(bad) = history.damaged.first() {
            return Err(StorageError::Damaged(bad.clone()));
        }
        let ended = history.records.iter().map(|one| one.thread);
        let removed = history.removed.iter().map(|one| one.removed);
        let told_of: HashSet<ThreadId> = ended.chain(removed).collect();
        let is_lost = |thread: &ThreadId| heads.get(*thread).is_none() && !told_of.contains(thread);
        let sealed = seal.map_or(&[][..], |seal| &seal.threads).iter();
        let sealed: IndexMap<ThreadId, CasRef> = sealed
            .filter(|(thread, _)| is_lost(thread))
            .copied()
            .collect();
        let with_run = known
            .into_iter()
            .filter(|thread| is_lost(thread) && self.root.run(*thread).exists());
        if let Some(vanished) = vanished(self.root, history, with_run, &sealed) {
            return Err(StorageError::Vanished(Box::new(vanished)));
        }
        self.check_lines(history)?;
        match &history.torn {
            Some(cut) if history.is_cut => Err(StorageError::Damaged(cut.clone())),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the history in its order, also of threads that are active again.
    ///
    /// # Errors
    /// [`StorageError::Io`], and those of [`heads`](State::heads). Lines that cannot be read are in the result.
    pub fn history(&self) -> Result<History, StorageError> {
        loop {
            let content = self.read_history()?;
            let text = String::from_utf8_lossy(&content);
            let mut history = history::parse(&text, &self.root.history_file());
            let sealed = Seal::read(self.root).map_or(0, |seal| seal.lines);
            history.missing = sealed.saturating_sub(history::count_lines(&content));
            if history.missing > 0 && self.read_history()? != content {
                // The file and the seal are of different moments: a line was added in between.
                continue;
            }
            let (Some(torn), Some(start)) = (&mut history.torn, history::unfinished(&content))
            else {
                return Ok(history);
            };
            history.is_cut = self.is_cut(&content[start..], start)?;
            if history.is_cut {
                torn.problem = format!("the line is cut off ({})", torn.problem);
                if self.read_history()? != content {
                    // The line was being written, and we compared it with files that were written later.
                    continue;
                }
            }
            return Ok(history);
        }
    }

    /// Fails if the history has lost lines since it was written last.
    fn check_lines(&self, history: &History) -> Result<(), StorageError> {
        match history.missing {
            0 => Ok(()),
            missing => Err(StorageError::LostLines {
                path: self.root.history_file(),
                missing,
                seal: self.root.seal_file(),
            }),
        }
    }

    /// Tells whether an unfinished last line was complete once. A line that a crash left unfinished was never sealed, and
    /// the change that it announces has not happened yet.
    fn is_cut(&self, line: &[u8], start: usize) -> Result<bool, StorageError> {
        if Seal::read(self.root).is_some_and(|seal| seal.history > start as u64) {
            return Ok(true);
        }
        let heads = self.read_heads()?;
        Ok(match Unfinished::of(line) {
            Unfinished::Ended(thread) => heads.get(thread).is_none(),
            Unfinished::Replaced(step) => !heads.all().iter().any(|(_, head)| *head == step),
            Unfinished::Unknown => false,
        })
    }

    /// Returns the steps that were done again.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] if the file has lost its end, and those of [`history`](Self::history).
    pub fn replaced(&self) -> Result<Vec<crate::ReplacedStep>, StorageError> {
        let history = self.history()?;
        self.check_lines(&history)?;
        match &history.torn {
            Some(cut) if history.is_cut => Err(StorageError::Damaged(cut.clone())),
            Some(_) | None => Ok(history.replaced),
        }
    }

    /// Returns the names of our registry, and fails if it has lost some.
    pub(super) fn own_names(&self) -> Result<IndexMap<String, CasRef>, StorageError> {
        let path = self.root.registry_file();
        let copy_path = self.root.registry_copy();
        // The copy is read first: a name that is being added at the moment is then never in the copy alone.
        let mut copy = uwf_durable::read(&copy_path)?.unwrap_or_default();
        let content = loop {
            let content = uwf_durable::read(&path)?.unwrap_or_default();
            if !registry::is_cut(&content, &copy) {
                break content;
            }
            // A name that is being removed at the moment leaves the copy first, perhaps after we read the copy.
            let again = uwf_durable::read(&copy_path)?.unwrap_or_default();
            if again == copy {
                return Err(StorageError::RegistryCut {
                    path,
                    copy: copy_path,
                });
            }
            copy = again;
        };
        registry::parse(&content, &path)
    }
}

/// Returns the threads that are in no file of the state: those with run folders, or else those that only the seal names.
fn vanished(
    root: &Root,
    history: &History,
    with_run: impl Iterator<Item = ThreadId>,
    sealed: &IndexMap<ThreadId, CasRef>,
) -> Option<Vanished> {
    let last_head = |run: &RunDir| run.ledger.chain_summary().map(|summary| summary.head);
    let with_run = with_run.map(|thread| {
        let sealed = sealed.get(&thread).copied();
        (thread, sealed.or_else(|| last_head(&root.run(thread))))
    });
    let mut threads: Vec<_> = with_run.collect();
    let has_run = !threads.is_empty();
    if !has_run {
        let is_known = |thread: &ThreadId| !root.run(*thread).forgotten().is_dir();
        let sealed = sealed.iter().filter(|(thread, _)| is_known(thread));
        threads.extend(sealed.map(|(thread, head)| (*thread, Some(*head))));
    }
    (!threads.is_empty()).then(|| Vanished {
        threads,
        active: root.threads_file(),
        ended: root.history_file(),
        runs: root.runs_dir(),
        seal: (!has_run).then(|| root.seal_file()),
        torn: history.torn.clone(),
    })
}
