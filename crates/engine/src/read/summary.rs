//! The summary of a thread that a model wrote, as views show it.

use serde::Serialize;
use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::Usage;
use uwf_protocol::review::SummaryNode;
use uwf_storage::Ledger;

/// A summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryView {
    /// Its node.
    pub hash: CasRef,
    /// The head that the thread had. Later steps are not in the summary.
    pub head: CasRef,
    /// The text.
    pub text: String,
    /// Which model wrote it.
    pub model: String,
    /// What that used up.
    pub usage: Usage,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: i64,
}

impl SummaryView {
    /// Reads the summary of a thread. One that cannot be read is left out: it is no part of the thread.
    pub(crate) fn read(store: &Store, ledger: &Ledger) -> Option<Self> {
        let recorded = ledger.summaries().newest?;
        let node = store.find(recorded.node).ok()??;
        let summary: SummaryNode = serde_json::from_value(node.payload).ok()?;
        Some(Self::of(recorded.node, summary, recorded.at_ms))
    }

    pub(crate) fn of(hash: CasRef, summary: SummaryNode, at_ms: i64) -> Self {
        Self {
            hash,
            head: summary.head,
            text: summary.text,
            model: summary.model,
            usage: summary.usage,
            at_ms,
        }
    }
}
