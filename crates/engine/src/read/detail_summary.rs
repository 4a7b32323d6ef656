//! The two facts of a step's detail that views show beside its data: how the data was extracted, and which tool calls
//! were refused.

use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{Extraction, RefusedCalls};
use uwf_protocol::schemas;

/// The summary of a detail that the agent kit wrote; empty for details of other programs.
#[derive(Debug, Default)]
pub(crate) struct DetailSummary {
    pub(crate) extraction: Option<Extraction>,
    pub(crate) refused_calls: Vec<RefusedCalls>,
}

impl DetailSummary {
    /// Reads the summary of a detail node.
    pub(crate) fn read(store: &Store, detail: CasRef) -> Result<Self, StoreError> {
        let node = store.need(detail)?;
        Ok(Self::of(node.type_hash, &node.payload))
    }

    /// Returns the summary of a detail, by its type and its payload.
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
