//! The record of a finished step. It names what was paid for, so it carries a checksum: a record in which one
//! character was changed would otherwise name a step that nobody finished, and the role would run again.

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::run::Pending;
use xxhash_rust::xxh64::xxh64;

use super::{RunDir, json};
use crate::StorageError;

const PENDING: &str = "pending.json";

/// The record as it is in its file.
#[derive(Serialize, Deserialize)]
struct Summed {
    #[serde(flatten)]
    pending: Pending,
    /// XXH64 of the rest, in hexadecimal. Records of older versions and of other programs have none.
    #[serde(default)]
    sum: Option<String>,
}

impl RunDir {
    /// Returns the finished step that waits for its commit.
    ///
    /// # Errors
    /// [`StorageError::TornRecord`] for a file that is neither blank nor a record with its checksum, and
    /// [`StorageError::Io`] for one that cannot be read: what was paid for may be in it.
    pub fn read_pending(&self) -> Result<Option<Pending>, StorageError> {
        let path = self.path.join(PENDING);
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
            Ok(Summed { pending, sum })
                if sum.as_ref().is_none_or(|sum| *sum == sum_of(&pending)) =>
            {
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
    /// See [`create`](Self::create).
    pub fn write_pending(&self, pending: &Pending) -> Result<(), StorageError> {
        self.write(PENDING, &summed(pending), Durability::Durable)
    }

    /// Says that a step is finished, to an engine that is there to commit it: the record survives every
    /// process, but not yet a power cut.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn write_pending_volatile(&self, pending: &Pending) -> Result<(), StorageError> {
        Ok(uwf_durable::overwrite(
            &self.path.join(PENDING),
            json(&summed(pending)).as_bytes(),
        )?)
    }

    /// Removes the record of a finished step.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn clear_pending(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::blank(&self.path.join(PENDING))?)
    }
}

fn summed(pending: &Pending) -> Summed {
    Summed {
        pending: pending.clone(),
        sum: Some(sum_of(pending)),
    }
}

fn sum_of(pending: &Pending) -> String {
    format!("{:016x}", xxh64(json(pending).as_bytes(), 0))
}
