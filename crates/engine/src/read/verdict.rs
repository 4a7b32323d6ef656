//! The verdict of a thread's supervisor, as views show it.

use serde::Serialize;
use uwf_cas_fs::Store;
use uwf_protocol::config::Config;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::Usage;
use uwf_protocol::review::{Decision, RecordedVerdict, Reviews, VerdictNode};

use crate::limits::LimitedThread;

/// A verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerdictView {
    /// Its node.
    pub hash: CasRef,
    /// The head that was judged.
    pub head: CasRef,
    /// Whether the thread goes on.
    pub decision: Decision,
    /// Whether a person let the thread go on in spite of it.
    pub released: bool,
    /// Why; `None` if the node cannot be read.
    pub reason: Option<String>,
    /// Which model says so; `None` if the node cannot be read.
    pub model: Option<String>,
    /// What that used up; `None` if the node cannot be read.
    pub usage: Option<Usage>,
    /// When it was said, in milliseconds since 1970; `None` if the node cannot be read.
    pub at_ms: Option<i64>,
}

impl VerdictView {
    /// Returns the newest verdict on a thread.
    pub(crate) fn newest(store: &Store, reviews: &Reviews) -> Option<Self> {
        let recorded = reviews.verdicts.last()?;
        let view = Self {
            hash: recorded.node,
            head: recorded.head,
            decision: recorded.decision,
            released: recorded.released,
            reason: None,
            model: None,
            usage: None,
            at_ms: None,
        };
        let Some((verdict, at_ms)) = read(store, recorded) else {
            return Some(view);
        };
        Some(Self {
            reason: Some(verdict.reason),
            model: Some(verdict.model),
            usage: Some(verdict.usage),
            at_ms: Some(at_ms),
            ..view
        })
    }
}

fn read(store: &Store, recorded: &RecordedVerdict) -> Option<(VerdictNode, i64)> {
    let node = store.find(recorded.node).ok()??;
    let verdict = serde_json::from_value(node.payload).ok()?;
    Some((verdict, node.timestamp_ms))
}

/// Returns what the supervisor says.
pub(crate) fn reason(store: &Store, recorded: &RecordedVerdict) -> String {
    match read(store, recorded) {
        Some((verdict, _)) => verdict.reason,
        None => format!(
            "the reason cannot be read from the node `{}`",
            recorded.node
        ),
    }
}

/// Returns why the supervisor suspends a thread, if it does. A supervisor that is switched off suspends nothing; then no
/// record is read.
pub(crate) fn held(store: &Store, limited: &LimitedThread<'_>, config: &Config) -> Option<String> {
    if !limited.has_supervisor {
        config.supervisor.every?;
    }
    let reviews = limited.ledger.reviews();
    let verdict = reviews.verdict_on(limited.head);
    let verdict = verdict.filter(|verdict| verdict.holds())?;
    Some(reason(store, verdict))
}
