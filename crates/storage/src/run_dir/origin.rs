//! Where a fork came from. A fork shares its nodes with another thread, so its chain cannot tell.

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::{CasRef, ThreadId};

use super::records::Records;
use crate::StorageError;

const ORIGIN: &str = "origin.json";

/// Where a fork came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The step, or the start, at which it began.
    pub step: CasRef,
    /// The thread that had it, if that was known.
    pub thread: Option<ThreadId>,
    /// The workflow of that thread, if the fork goes on under another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<CasRef>,
}

/// The origin of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    records: Records,
}

impl Origin {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns where the thread came from, if it is a fork and that is on record.
    #[must_use]
    pub fn read(&self) -> Option<ForkOrigin> {
        self.records.read(ORIGIN)
    }

    /// Records where the thread came from.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write(&self, origin: &ForkOrigin) -> Result<(), StorageError> {
        self.records.replace(ORIGIN, origin, Durability::Durable)
    }
}
