//! What is worth a note beside a step's data: how the data was got, and what its agent was not allowed to do.

use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{Extraction, RefusedCalls};
use uwf_protocol::schemas;

/// What a detail that the agent kit wrote says; nothing for those of other programs.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) extraction: Option<Extraction>,
    pub(crate) refused_calls: Vec<RefusedCalls>,
}

impl Notes {
    /// Reads those of a detail node.
    pub(crate) fn read(store: &Store, detail: CasRef) -> Result<Self, StoreError> {
        let node = store.need(detail)?;
        Ok(Self::of(node.type_hash, &node.payload))
    }

    /// Returns those in the payload of a detail.
    pub(crate) fn of(type_hash: CasRef, detail: &Value) -> Self {
        if !schemas::DETAILS.contains(&type_hash) {
            return Self::default();
        }
        let read = |key: &str| detail.get(key).cloned();
        let extraction = read("extraction").and_then(|it| serde_json::from_value(it).ok());
        let refused = read("refusedCalls").and_then(|it| serde_json::from_value(it).ok());
        Self {
            extraction,
            refused_calls: refused.unwrap_or_default(),
        }
    }
}
