//! The recaps of a thread: what models wrote about its steps, for prompts. Each was paid for, so the record is durable.

use uwf_durable::Durability;
use uwf_protocol::review::Recap;

use super::records::Records;
use crate::StorageError;

const RECAPS: &str = "recaps.json";

/// How many recaps are known. A prompt needs the newest one of its chain, and those of other chains come back with a poke.
const KEPT: usize = 20;

/// The recaps of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recaps {
    records: Records,
}

impl Recaps {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the newest recaps, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Recap> {
        self.records.read(RECAPS).unwrap_or_default()
    }

    /// Adds a recap, durably, in place of an earlier one up to the same step.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn add(&self, recap: Recap) -> Result<(), StorageError> {
        let mut recaps = self.all();
        recaps.retain(|known| known.step != recap.step);
        recaps.push(recap);
        let surplus = recaps.len().saturating_sub(KEPT);
        recaps.drain(..surplus);
        self.records.replace(RECAPS, &recaps, Durability::Durable)
    }
}
