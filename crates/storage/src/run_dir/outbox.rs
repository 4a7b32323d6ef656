//! The finished step that waits for its commit, and the steps that were refused because their thread had left the head
//! that they follow.
//!
//! The pending record names a step that cost money, so it has a checksum. Without one, a single changed character would
//! name a step that nobody finished, and the role would run again.

use std::time::SystemTime;

use uwf_durable::Durability;
use uwf_protocol::run::{Pending, RefusedStep};

use super::checksum::{self, Checksum, with_checksum};
use super::ledger::STANDING;
use super::records::{Records, json};
use crate::StorageError;

const PENDING: &str = "pending.json";
const REFUSED: &str = "refused.jsonl";

/// The finished step that waits for its commit, and the refused steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox {
    records: Records,
}

impl Outbox {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the finished step that waits for its commit.
    ///
    /// # Errors
    /// [`StorageError::TornRecord`] for a file that is neither blank nor a valid record, and [`StorageError::Io`] for one
    /// that cannot be read. Neither counts as absent, because the file may name a step that cost money.
    pub fn read_pending(&self) -> Result<Option<Pending>, StorageError> {
        let path = self.records.file(PENDING);
        let Some(content) = uwf_durable::read(&path)? else {
            return Ok(None);
        };
        // A removed record is overwritten with blanks. An empty file is a record that a power cut destroyed.
        if !content.is_empty() && content.iter().all(|byte| *byte == b' ') {
            return Ok(None);
        }
        // Only runs of pipelines have such a record.
        let of_run = self.records.file(STANDING).exists();
        let torn = |problem: String| StorageError::TornRecord {
            path,
            of_run,
            problem,
        };
        match checksum::parse(&content) {
            Ok((pending, Checksum::Fits | Checksum::Absent)) => Ok(Some(pending)),
            Ok((_, Checksum::Differs)) => Err(torn(
                "it was changed, since its checksum does not fit".to_owned(),
            )),
            Err(error) => Err(torn(error.to_string())),
        }
    }

    /// Returns when a step was last finished, committed or refused; `None` if no step was finished here.
    #[must_use]
    pub fn changed_at(&self) -> Option<SystemTime> {
        let about = self.records.file(PENDING).metadata();
        about.and_then(|about| about.modified()).ok()
    }

    /// Records a finished step, durably.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_pending(&self, pending: &Pending) -> Result<(), StorageError> {
        self.records
            .replace_text(PENDING, &with_checksum(pending), Durability::Durable)
    }

    /// Records a finished step for an engine that waits to commit it. The record survives the end of every process, but not
    /// yet a power cut.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_pending_volatile(&self, pending: &Pending) -> Result<(), StorageError> {
        self.records
            .overwrite_text(PENDING, &with_checksum(pending))
    }

    /// Records a finished step that an agent only printed, as [`write_pending_volatile`](Self::write_pending_volatile) does. An agent
    /// that has written the record itself knows more about the step, so its record stays.
    ///
    /// # Errors
    /// See [`read_pending`](Self::read_pending) and [`RunDir::create`](crate::RunDir::create).
    pub fn record_printed(&self, printed: &Pending) -> Result<(), StorageError> {
        match self.read_pending()? {
            Some(_) => Ok(()),
            None => self.write_pending_volatile(printed),
        }
    }

    /// Removes the record of a finished step.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_pending(&self) -> Result<(), StorageError> {
        self.records.blank(PENDING)
    }

    /// Records that a finished step was refused, durably and once, and removes its pending record. Garbage collection keeps
    /// the step from now on.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn refuse(&self, refused: &RefusedStep) -> Result<(), StorageError> {
        let mut known = self.refused().into_iter();
        if !known.any(|known| known.step == refused.step) {
            uwf_durable::append_line(&self.records.file(REFUSED), &json(refused))?;
        }
        self.clear_pending()
    }

    /// Makes a refused step pending again, durably: it is about to join its thread. Does nothing for a step that was not refused.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn readmit(&self, pending: &Pending) -> Result<(), StorageError> {
        let all = self.refused();
        let others = all.iter().filter(|one| one.step != pending.step);
        let others: Vec<_> = others.collect();
        if others.len() == all.len() {
            return Ok(());
        }
        // The pending record comes first: one of both always keeps the step.
        self.write_pending(pending)?;
        let lines: String = others.iter().map(|one| json(*one) + "\n").collect();
        self.records
            .replace_text(REFUSED, &lines, Durability::Durable)
    }

    /// Returns the refused steps in the order of their refusal.
    #[must_use]
    pub fn refused(&self) -> Vec<RefusedStep> {
        let content = uwf_durable::read(&self.records.file(REFUSED));
        let content = content.ok().flatten().unwrap_or_default();
        let lines = content.split(|byte| *byte == b'\n');
        lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect()
    }
}
