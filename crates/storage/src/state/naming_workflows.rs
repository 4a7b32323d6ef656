//! The names of workflows: registering, removing, and what a name stood for before. They change under the lock of the
//! state.
//!
//! The registry alone tells what a name stands for. The history is written around it: what the name stood for before is on
//! record before the registry changes, and the change itself after it. So a crash loses no earlier workflow, and the next
//! change of the name adds what is missing.

use std::path::PathBuf;

use indexmap::IndexMap;
use uwf_durable::Durability;
use uwf_protocol::ids::CasRef;

use super::State;
use crate::registry_history::{self, NameChange, RegistryHistory};
use crate::{StorageError, registry};

/// Why a name gets a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registering {
    /// Somebody registered it.
    Put,
    /// It had the name before.
    Rollback,
}

/// The result of registering a workflow in place of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Registered {
    /// The name stands for it.
    Done,
    /// The name stood for something else than the caller knew, or for nothing any more; nothing changed.
    StandsFor(Option<CasRef>),
}

/// The result of removing a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Unregistered {
    /// It is removed; it stood for this workflow.
    Done(CasRef),
    /// It is not in our registry; nothing changed.
    Unknown,
    /// Only the registry of other programs has it, which is never written.
    Foreign,
}

impl State<'_> {
    /// Returns the workflows that have names, those of `workflows.yaml` after those of `registry.yaml`.
    ///
    /// # Errors
    /// [`StorageError::RegistryCut`], and those of [`heads`](Self::heads).
    pub fn workflows(&self) -> Result<IndexMap<String, CasRef>, StorageError> {
        let mut names = self.own_names()?;
        for (name, hash) in self.foreign_names()? {
            names.entry(name).or_insert(hash);
        }
        Ok(names)
    }

    /// Returns the workflows that a name stands for, with the files that say so; the first one counts.
    ///
    /// # Errors
    /// See [`workflows`](Self::workflows).
    pub fn registered(&self, name: &str) -> Result<Vec<(PathBuf, CasRef)>, StorageError> {
        let own = self.own_names()?.get(name).copied();
        let foreign = self.foreign_names()?.get(name).copied();
        let own = own.map(|hash| (self.root.registry_file(), hash));
        let foreign = foreign.map(|hash| (self.root.foreign_registry_file(), hash));
        Ok(own.into_iter().chain(foreign).collect())
    }

    /// Returns what names stood for, as far as it is on record.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn registry_history(&self) -> Result<RegistryHistory, StorageError> {
        let content = uwf_durable::read(&self.root.registry_history_file())?;
        Ok(RegistryHistory::parse(&content.unwrap_or_default()))
    }

    /// Registers a workflow under a name, in place of the workflow that had the name before. Returns that one if it is
    /// another.
    ///
    /// # Errors
    /// See [`workflows`](Self::workflows).
    pub fn register(
        &self,
        name: &str,
        hash: CasRef,
        why: Registering,
        now_ms: i64,
    ) -> Result<Option<CasRef>, StorageError> {
        let _lock = self.lock()?;
        let stood_for = self.stands_for(name)?;
        self.write_name(name, hash, why, now_ms)?;
        Ok(stood_for.filter(|before| *before != hash))
    }

    /// Registers a workflow under a name that stands for none. Returns the workflow that the name stands for already, if it
    /// does: then nothing is changed.
    ///
    /// # Errors
    /// See [`workflows`](Self::workflows).
    pub fn register_if_free(
        &self,
        name: &str,
        hash: CasRef,
        now_ms: i64,
    ) -> Result<Option<CasRef>, StorageError> {
        Ok(match self.register_after(None, name, hash, now_ms)? {
            Registered::Done => None,
            Registered::StandsFor(here) => here,
        })
    }

    /// Registers a workflow under a name, if the name still stands for what the caller knows: a workflow, or none.
    ///
    /// # Errors
    /// See [`workflows`](Self::workflows).
    pub fn register_after(
        &self,
        known: Option<CasRef>,
        name: &str,
        hash: CasRef,
        now_ms: i64,
    ) -> Result<Registered, StorageError> {
        let _lock = self.lock()?;
        let stands_for = self.stands_for(name)?;
        if stands_for != known {
            return Ok(Registered::StandsFor(stands_for));
        }
        self.write_name(name, hash, Registering::Put, now_ms)?;
        Ok(Registered::Done)
    }

    /// Returns what a name stands for. The caller has the lock of the state.
    fn stands_for(&self, name: &str) -> Result<Option<CasRef>, StorageError> {
        Ok(self.registered(name)?.first().map(|(_, hash)| *hash))
    }

    /// Writes what a name stands for, with its history. The caller has the lock of the state.
    fn write_name(
        &self,
        name: &str,
        hash: CasRef,
        why: Registering,
        now_ms: i64,
    ) -> Result<(), StorageError> {
        let path = self.root.registry_file();
        let mut names = self.own_names()?;
        let before = names.insert(name.to_owned(), hash);
        self.record_earlier(name, before.filter(|before| *before != hash))?;
        if before != Some(hash) {
            let text = registry::render(&names);
            uwf_durable::replace(&path, text.as_bytes(), Durability::Durable)?;
        }
        let content = uwf_durable::read(&path)?.unwrap_or_default();
        registry::keep_copy(self.root, &content);
        if self.registry_history()?.last(name) != Some(hash) {
            self.record(&NameChange {
                name: name.to_owned(),
                hash: Some(hash),
                at: Some(now_ms),
                rollback: why == Registering::Rollback,
            })?;
        }
        Ok(())
    }

    /// Removes a name. The workflow stays in the store.
    ///
    /// # Errors
    /// See [`workflows`](Self::workflows).
    pub fn unregister(&self, name: &str, now_ms: i64) -> Result<Unregistered, StorageError> {
        let _lock = self.lock()?;
        let mut names = self.own_names()?;
        let Some(before) = names.shift_remove(name) else {
            return Ok(match self.foreign_names()?.contains_key(name) {
                true => Unregistered::Foreign,
                false => Unregistered::Unknown,
            });
        };
        self.record_earlier(name, Some(before))?;
        let text = registry::render(&names);
        // The copy comes first: a registry that is shorter than its copy looks as if it had been cut.
        let copy = self.root.registry_copy();
        uwf_durable::replace(&copy, text.as_bytes(), Durability::Durable)?;
        let path = self.root.registry_file();
        uwf_durable::replace(&path, text.as_bytes(), Durability::Durable)?;
        self.record(&NameChange {
            name: name.to_owned(),
            hash: None,
            at: Some(now_ms),
            rollback: false,
        })?;
        Ok(Unregistered::Done(before))
    }

    /// Returns the names of other programs.
    fn foreign_names(&self) -> Result<IndexMap<String, CasRef>, StorageError> {
        let path = self.root.foreign_registry_file();
        let content = uwf_durable::read(&path)?.unwrap_or_default();
        registry::parse(&content, &path)
    }

    /// Records what a name stands for before it changes, unless that is on record: older versions of the program and
    /// interrupted calls left no record.
    fn record_earlier(&self, name: &str, before: Option<CasRef>) -> Result<(), StorageError> {
        if before.is_none() || self.registry_history()?.last(name) == before {
            return Ok(());
        }
        self.record(&NameChange {
            name: name.to_owned(),
            hash: before,
            at: None,
            rollback: false,
        })
    }

    fn record(&self, change: &NameChange) -> Result<(), StorageError> {
        let line = registry_history::line(change);
        Ok(uwf_durable::append_line(
            &self.root.registry_history_file(),
            &line,
        )?)
    }
}
