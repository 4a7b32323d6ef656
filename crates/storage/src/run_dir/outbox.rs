//! The finished step that waits to be committed, and those that were refused since their thread had gone on elsewhere.
//!
//! The record of the one that waits names what was paid for, so it carries a checksum: a record in which one character was
//! changed would otherwise name a step that nobody finished, and the role would run again.

use serde::Deserialize;
use uwf_durable::Durability;
use uwf_protocol::run::{Pending, RefusedStep};
use xxhash_rust::xxh64::xxh64;

use super::records::{Records, json};
use crate::StorageError;

const PENDING: &str = "pending.json";
const REFUSED: &str = "refused.jsonl";

/// What comes between the record and its checksum.
const SUM: &str = ",\"sum\":";

/// The record as it is in its file.
#[derive(Deserialize)]
struct Summed {
    #[serde(flatten)]
    pending: Pending,
    /// The [checksum](sum_of). Records of older versions and of other programs have none.
    #[serde(default)]
    sum: Option<String>,
}

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
        let read: Result<Summed, _> = serde_json::from_slice(&content);
        let torn = |problem: String| StorageError::TornRecord { path, problem };
        match read {
            Ok(Summed { pending, sum }) if sum.as_ref().is_none_or(|sum| fits(&content, sum)) => {
                Ok(Some(pending))
            }
            Ok(_) => Err(torn(
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
            .replace_text(PENDING, &summed(pending), Durability::Durable)
    }

    /// Says that a step is finished, to an engine that is there to commit it: the record survives every
    /// process, but not yet a power cut.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_pending_volatile(&self, pending: &Pending) -> Result<(), StorageError> {
        self.records.overwrite_text(PENDING, &summed(pending))
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

/// Returns the content of the file for a record: the checksum is the last member, and is about the bytes before it.
fn summed(pending: &Pending) -> String {
    let record = json(pending);
    let rest = record.strip_suffix('}').expect("a record is an object");
    format!("{rest}{SUM}\"{}\"}}", sum_of(rest.as_bytes()))
}

/// Tells whether the content of the file ends with this checksum, and the checksum is that of what is before it.
fn fits(content: &[u8], sum: &str) -> bool {
    let member = format!("{SUM}\"{sum}\"}}");
    let rest = content.trim_ascii_end().strip_suffix(member.as_bytes());
    rest.is_some_and(|rest| sum == sum_of(rest))
}

/// Returns the checksum of the bytes of a record: XXH64 with the seed 0, as 16 hexadecimal digits.
fn sum_of(bytes: &[u8]) -> String {
    format!("{:016x}", xxh64(bytes, 0))
}
