//! Nodes, hashes and verdicts.

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::{Node, Verdict, Verified};
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;

use crate::output::{Show, yaml};
use crate::text::table::table;

/// A node.
#[derive(Serialize)]
pub(crate) struct NodeView {
    r#type: CasRef,
    payload: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<i64>,
}

impl NodeView {
    pub(crate) fn new(node: Node, timestamp: bool) -> Self {
        Self {
            r#type: node.type_hash,
            payload: node.payload,
            timestamp: timestamp.then_some(node.timestamp_ms),
        }
    }
}

impl Show for NodeView {
    fn text(&self) -> String {
        document(&serde_json::to_value(self).unwrap_or_default())
    }
}

/// Returns data as people read it best: YAML, or the plain text of a string.
pub(crate) fn document(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => yaml(other).unwrap_or_else(|_| other.to_string()),
    }
}

/// The hash of a node.
#[derive(Serialize)]
pub(crate) struct HashView {
    pub(crate) hash: CasRef,
}

impl Show for HashView {
    fn text(&self) -> String {
        self.hash.to_string()
    }
}

/// Whether a node is stored.
#[derive(Serialize)]
pub(crate) struct ExistsView {
    pub(crate) exists: bool,
}

impl Show for ExistsView {
    fn text(&self) -> String {
        if self.exists { "yes" } else { "no" }.to_owned()
    }
}

/// What a node refers to.
#[derive(Serialize)]
pub(crate) struct RefsView {
    pub(crate) refs: Vec<CasRef>,
}

impl Show for RefsView {
    fn text(&self) -> String {
        lines(&self.refs)
    }
}

/// A list of nodes.
#[derive(Serialize)]
pub(crate) struct HashesView {
    pub(crate) hashes: Vec<CasRef>,
}

impl Show for HashesView {
    fn text(&self) -> String {
        lines(&self.hashes)
    }
}

fn lines(hashes: &[CasRef]) -> String {
    hashes
        .iter()
        .map(CasRef::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The type index was made again.
#[derive(Serialize)]
pub(crate) struct ReindexedView {
    pub(crate) status: &'static str,
    pub(crate) nodes: usize,
}

impl Show for ReindexedView {
    fn text(&self) -> String {
        format!("the type index is made again; nodes: {}", self.nodes)
    }
}

/// What checking nodes found.
#[derive(Serialize)]
pub(crate) struct VerifiedView {
    ok: bool,
    checked: usize,
    problems: Vec<NodeProblem>,
}

/// A node that is not what it should be.
#[derive(Serialize)]
struct NodeProblem {
    hash: CasRef,
    verdict: &'static str,
    reason: String,
}

impl From<Vec<Verified>> for VerifiedView {
    fn from(verified: Vec<Verified>) -> Self {
        let checked = verified.len();
        let problem = |node: Verified| {
            let (verdict, reason) = match node.verdict {
                Verdict::Ok => return None,
                Verdict::Corrupted { reason } => ("corrupted", reason),
                Verdict::Invalid { reason } => ("invalid", reason),
                Verdict::Missing => ("missing", "it is not in the store".to_owned()),
            };
            Some(NodeProblem {
                hash: node.hash,
                verdict,
                reason,
            })
        };
        let problems: Vec<NodeProblem> = verified.into_iter().filter_map(problem).collect();
        Self {
            ok: problems.is_empty(),
            checked,
            problems,
        }
    }
}

impl Show for VerifiedView {
    fn text(&self) -> String {
        let mut lines: Vec<String> = self
            .problems
            .iter()
            .map(|problem| format!("{} {}: {}", problem.hash, problem.verdict, problem.reason))
            .collect();
        let nodes = match self.checked {
            1 => "1 node".to_owned(),
            checked => format!("{checked} nodes"),
        };
        lines.push(match self.problems.len() {
            0 => format!("{nodes} checked, all in order"),
            problems => format!("{nodes} checked, {problems} not in order"),
        });
        lines.join("\n")
    }
}

/// A schema in a list.
#[derive(Serialize)]
pub(crate) struct SchemaItem {
    pub(crate) hash: CasRef,
    title: String,
}

impl SchemaItem {
    pub(crate) fn new(hash: CasRef, schema: &Value) -> Self {
        let word = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let title = if hash == schemas::META {
            "(the schema of schemas)".to_owned()
        } else {
            word("title")
                .or_else(|| word("description"))
                .or_else(|| word("type").map(|kind| format!("({kind})")))
                .unwrap_or_else(|| "(untitled)".to_owned())
        };
        Self { hash, title }
    }
}

impl Show for Vec<SchemaItem> {
    fn text(&self) -> String {
        let row = |item: &SchemaItem| vec![item.hash.to_string(), item.title.clone()];
        table(&["SCHEMA", "TITLE"], self.iter().map(row).collect())
    }
}

/// A schema.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct SchemaView(pub Value);

impl Show for SchemaView {
    fn text(&self) -> String {
        document(&self.0)
    }
}
