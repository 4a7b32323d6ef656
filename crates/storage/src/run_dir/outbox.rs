//! The finished step that waits to be committed, and those that were refused since their thread had gone on elsewhere.
//!
//! The record of the one that waits names what was paid for, so it carries a checksum: a record in which one character was
//! changed would otherwise name a step that nobody finished, and the role would run again.

use uwf_durable::Durability;
use uwf_protocol::run::{Pending, RefusedStep};

use super::checksum::{self, Checksum, with_checksum};
use super::records::{Records, json};
use crate::StorageError;

const PENDING: &str = "pending.json";
const REFUSED: &str = "refused.jsonl";

/// The finished step that waits to be committed, and those that could not be.
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
    /// [`StorageError::TornRecord`] for a file that is neither blank nor a record with its checksum, and
    /// [`StorageError::Io`] for one that cannot be read: what was paid for may be in it.
    pub fn read_pending(&self) -> Result<Option<Pending>, StorageError> {
        let path = self.records.file(PENDING);
        let Some(content) = uwf_durable::read(&path)? else {
            return Ok(None);
        };
        // Records are blanked with blanks; an empty file is what a power cut leaves of one.
        if !content.is_empty() && content.iter().all(|byte| *byte == b' ') {
            return Ok(None);
        }
        let torn = |problem: String| StorageError::TornRecord { path, problem };
        match checksum::parse(&content) {
            Ok((pending, Checksum::Fits | Checksum::Absent)) => Ok(Some(pending)),
            Ok((_, Checksum::Differs)) => Err(torn(
                "it was changed, since its checksum does not fit".to_owned(),
            )),
            Err(error) => Err(torn(error.to_string())),
        }
    }

    /// Says that a step is finished; durable on return.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_pending(&self, pending: &Pending) -> Result<(), StorageError> {
        self.records
            .replace_text(PENDING, &with_checksum(pending), Durability::Durable)
    }

    /// Says that a step is finished, to an engine that is there to commit it: the record survives every
    /// process, but not yet a power cut.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_pending_volatile(&self, pending: &Pending) -> Result<(), StorageError> {
        self.records
            .overwrite_text(PENDING, &with_checksum(pending))
    }

    /// Removes the record of a finished step.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_pending(&self) -> Result<(), StorageError> {
        self.records.blank(PENDING)
    }

    /// Keeps the name of a finished step that cannot be committed, durably and once, and removes its record. Garbage
    /// collection leaves the step alone from now on.
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

    /// Returns the finished steps that could not be committed, in the order in which they were refused.
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
