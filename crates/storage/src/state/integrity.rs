//! Whether the files of the state say all that they once said.
//!
//! What they lost is told by others: the run folders of threads, the seal and the copy that the last writer left. Those
//! others may be gone, too, and say nothing then.

use std::collections::HashSet;

use indexmap::IndexMap;
use uwf_protocol::ids::{CasRef, ThreadId};

use super::State;
use crate::heads::Heads;
use crate::history::{self, Unfinished};
use crate::seal::Seal;
use crate::{History, Root, RunDir, StorageError, Vanished, registry};

impl State<'_> {
    /// Checks that every line is readable, and that every thread with a run folder, or named by the seal, is active or
    /// ended.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] with the first bad line, [`StorageError::Vanished`], and [`StorageError::Io`].
    pub fn check(&self) -> Result<(), StorageError> {
        self.check_knowing(&|| self.root.threads_with_runs())
    }

    /// Does the same with these threads instead of all that have run folders.
    pub(super) fn check_knowing(
        &self,
        known: &dyn Fn() -> Result<Vec<ThreadId>, StorageError>,
    ) -> Result<(), StorageError> {
        loop {
            // In this order nothing that is just being made or archived is missed.
            let seal = Seal::read(self.root);
            let known = known()?;
            let heads = self.read_heads()?;
            let checked = self.check_against(&heads, known, seal.as_ref());
            // Seals are written over one another: one that was read at that moment may be half of each.
            if checked.is_ok() || Seal::read(self.root) == seal {
                return checked;
            }
        }
    }

    /// Returns the heads for a writer, and checks the files unless the seal matches. An unfinished last line of the
    /// history is moved to `history.torn`: it may be needed by a person, and the seal counts whole lines only.
    pub(super) fn whole_heads(&self) -> Result<Heads, StorageError> {
        let seal = Seal::read(self.root);
        if seal.as_ref().is_some_and(|seal| seal.is_intact(self.root)) {
            return self.read_heads();
        }
        let known = self.root.threads_with_runs()?;
        let heads = self.read_heads()?;
        self.check_against(&heads, known, seal.as_ref())?;
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
        known: Vec<ThreadId>,
        seal: Option<&Seal>,
    ) -> Result<(), StorageError> {
        let history = self.history()?;
        if let Some(bad) = history.damaged.first() {
            return Err(StorageError::Damaged(bad.clone()));
        }
        let ended: HashSet<ThreadId> = history.records.iter().map(|one| one.thread).collect();
        let is_lost = |thread: &ThreadId| heads.get(*thread).is_none() && !ended.contains(thread);
        let sealed = seal.map_or(&[][..], |seal| &seal.threads).iter();
        let sealed: IndexMap<ThreadId, CasRef> = sealed
            .filter(|(thread, _)| is_lost(thread))
            .copied()
            .collect();
        let with_run = known
            .into_iter()
            .filter(|thread| is_lost(thread) && self.root.run(*thread).exists());
        if let Some(vanished) = vanished(self.root, &history, with_run, &sealed) {
            return Err(StorageError::Vanished(Box::new(vanished)));
        }
        self.check_lines(&history)?;
        match history.torn {
            Some(cut) if history.is_cut => Err(StorageError::Damaged(cut)),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns what the history says, in its order, also of threads that are active again.
    ///
    /// # Errors
    /// [`StorageError::Io`], and those of [`heads`](State::heads); lines that cannot be understood are in the result.
    pub fn history(&self) -> Result<History, StorageError> {
        loop {
            let content = self.read_history()?;
            let text = String::from_utf8_lossy(&content);
            let mut history = history::parse(&text, &self.root.history_file());
            let sealed = Seal::read(self.root).map_or(0, |seal| seal.lines);
            history.missing = sealed.saturating_sub(history::count_lines(&content));
            if history.missing > 0 && self.read_history()? != content {
                // A line was added between the two looks.
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
                    // It was being written, and what we compared it with came after it.
                    continue;
                }
            }
            return Ok(history);
        }
    }

    /// Fails if lines are gone that were there when the file was written last.
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

    /// Tells whether an unfinished last line was whole once. What a crash leaves was never sealed, and nothing has
    /// happened yet of what the line was to tell.
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
        match history.torn {
            Some(cut) if history.is_cut => Err(StorageError::Damaged(cut)),
            Some(_) | None => Ok(history.replaced),
        }
    }

    /// Returns the names of the own registry, which must be all that it once had.
    pub(super) fn own_names(&self) -> Result<IndexMap<String, CasRef>, StorageError> {
        let path = self.root.registry_file();
        // In this order a name that is just being added is in both or in none.
        let copy_path = self.root.registry_copy();
        let copy = uwf_durable::read(&copy_path)?.unwrap_or_default();
        let content = uwf_durable::read(&path)?.unwrap_or_default();
        if registry::is_cut(&content, &copy) {
            return Err(StorageError::RegistryCut {
                path,
                copy: copy_path,
            });
        }
        registry::parse(&content, &path)
    }
}

/// Returns which threads are in no file of the state: those with run folders, else those that only the seal names.
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
