//! The results of `uwf cas`: nodes, hashes, verdicts.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::{BrokenNode, Collect, Collected, Garbage, Node, Verdict, Verified};
use uwf_engine::VerifiedStore;
use uwf_protocol::ids::CasRef;
use uwf_util::size;
use uwf_util::text::counted;

use crate::local_time;
use crate::output::{Show, yaml};
use crate::text::table::{Page, table};

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
    fn text(&self, _page: Page) -> String {
        document(&serde_json::to_value(self).unwrap_or_default())
    }
}

/// Several nodes.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct NodesView(Vec<NamedNode>);

/// A node with its hash.
#[derive(Serialize)]
struct NamedNode {
    hash: CasRef,
    #[serde(flatten)]
    node: NodeView,
}

impl From<Vec<(CasRef, NodeView)>> for NodesView {
    fn from(nodes: Vec<(CasRef, NodeView)>) -> Self {
        let named = nodes
            .into_iter()
            .map(|(hash, node)| NamedNode { hash, node });
        Self(named.collect())
    }
}

impl Show for NodesView {
    fn text(&self, page: Page) -> String {
        let node = |one: &NamedNode| format!("{}:\n{}", one.hash, one.node.text(page));
        self.0.iter().map(node).collect::<Vec<_>>().join("\n\n")
    }
}

/// Returns data for people: a string as it is, everything else as YAML.
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
    fn text(&self, _page: Page) -> String {
        self.hash.to_string()
    }
}

/// Whether a node is stored.
#[derive(Serialize)]
pub(crate) struct ExistsView {
    pub(crate) exists: bool,
}

impl Show for ExistsView {
    fn text(&self, _page: Page) -> String {
        if self.exists { "yes" } else { "no" }.to_owned()
    }
}

/// What a node refers to.
#[derive(Serialize)]
pub(crate) struct RefsView {
    pub(crate) refs: Vec<CasRef>,
}

impl Show for RefsView {
    fn text(&self, _page: Page) -> String {
        lines(&self.refs)
    }
}

/// A list of nodes.
#[derive(Serialize)]
pub(crate) struct HashesView {
    pub(crate) hashes: Vec<CasRef>,
}

impl Show for HashesView {
    fn text(&self, _page: Page) -> String {
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

/// The type index was rebuilt.
#[derive(Serialize)]
pub(crate) struct ReindexedView {
    pub(crate) status: &'static str,
    pub(crate) nodes: usize,
}

impl Show for ReindexedView {
    fn text(&self, _page: Page) -> String {
        format!("the type index is rebuilt; nodes: {}", self.nodes)
    }
}

/// The result of collecting garbage.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CollectedView {
    dry_run: bool,
    /// How many nodes there were.
    nodes: usize,
    /// How many of them are in use.
    used: usize,
    /// How many are kept because they, or nodes that refer to them, are young.
    young: usize,
    /// How many were removed, or would be, and how much space they took.
    removed: usize,
    bytes: u64,
    temporary_files: usize,
    /// What would be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    garbage: Option<Vec<GarbageItem>>,
}

/// A node that would be removed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GarbageItem {
    hash: CasRef,
    bytes: u64,
    /// When it was written or put again the last time, in milliseconds since 1970.
    used_at: i64,
}

impl CollectedView {
    pub(crate) fn new(collected: &Collected, mode: Collect) -> Self {
        let garbage = &collected.garbage;
        let item = |one: &Garbage| GarbageItem {
            hash: one.hash,
            bytes: one.bytes,
            used_at: one.used_ms,
        };
        Self {
            dry_run: mode == Collect::Look,
            nodes: collected.nodes,
            used: collected.used,
            young: collected.young,
            removed: garbage.len(),
            bytes: garbage.iter().map(|one| one.bytes).sum(),
            temporary_files: collected.temporary.len(),
            garbage: (mode == Collect::Look).then(|| garbage.iter().map(item).collect()),
        }
    }
}

impl Show for CollectedView {
    fn text(&self, _page: Page) -> String {
        let row = |item: &GarbageItem| {
            let used = local_time::cell(item.used_at);
            vec![item.hash.to_string(), size::format(item.bytes), used]
        };
        let mut parts = Vec::new();
        if let Some(garbage) = self.garbage.as_ref().filter(|garbage| !garbage.is_empty()) {
            let rows = garbage.iter().map(row).collect();
            let used = local_time::heading("LAST USED");
            parts.push(table(&["NODE", "SIZE", &used], rows));
        }
        let (nodes, size) = (counted(self.removed, "node"), size::format(self.bytes));
        let files = match self.temporary_files {
            0 => String::new(),
            files => format!(", and {}", counted(files, "temporary file")),
        };
        let removed = if self.dry_run {
            "would be removed"
        } else {
            "removed"
        };
        let kept = counted(self.used + self.young, "node");
        let young = match self.young {
            0 => String::new(),
            young => format!(", {young} of them only because they are young"),
        };
        parts.push(format!(
            "{nodes} {removed} ({size}){files}; {kept} kept{young}"
        ));
        parts.join("\n")
    }
}

/// The result of checking nodes.
#[derive(Serialize)]
pub(crate) struct VerifiedView {
    ok: bool,
    checked: usize,
    problems: Vec<NodeProblem>,
}

/// A node with a problem.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeProblem {
    hash: CasRef,
    verdict: &'static str,
    reason: String,
    /// What cannot be read without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed_by: Option<String>,
}

impl VerifiedView {
    /// Tells whether no node has a problem.
    pub(crate) fn is_sound(&self) -> bool {
        self.ok
    }
}

impl From<VerifiedStore> for VerifiedView {
    fn from(verified: VerifiedStore) -> Self {
        let mut broken: BTreeMap<CasRef, BrokenNode> = verified
            .broken
            .into_iter()
            .map(|node| (node.hash, node))
            .collect();
        let mut checked = verified.nodes.len();
        let mut problem = |node: Verified| {
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
                needed_by: broken.remove(&node.hash).map(|node| node.needed_by),
            })
        };
        let mut problems: Vec<NodeProblem> = verified
            .nodes
            .into_iter()
            .filter_map(&mut problem)
            .collect();
        // The remaining nodes are needed, but not in the store.
        checked += broken.len();
        problems.extend(broken.into_values().map(|node| NodeProblem {
            hash: node.hash,
            verdict: "missing",
            reason: format!("it {}, and is {}", node.problem, node.used_by),
            needed_by: Some(node.needed_by),
        }));
        problems.sort_by_key(|problem| problem.hash);
        Self {
            ok: problems.is_empty(),
            checked,
            problems,
        }
    }
}

impl Show for VerifiedView {
    fn text(&self, _page: Page) -> String {
        let mut lines: Vec<String> = self.problems.iter().map(NodeProblem::line).collect();
        let nodes = counted(self.checked, "node");
        lines.push(match self.problems.len() {
            0 => format!("{nodes} checked, no problems"),
            problems => format!("{nodes} checked, {problems} with problems"),
        });
        lines.join("\n")
    }
}

impl NodeProblem {
    fn line(&self) -> String {
        let Self {
            hash,
            verdict,
            reason,
            needed_by,
        } = self;
        let needed = needed_by.as_ref().map(|by| format!(" (needed by {by})"));
        format!("{hash} {verdict}: {reason}{}", needed.unwrap_or_default())
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
        let title = uwf_engine::schema_title(hash, schema);
        let title = title.unwrap_or_else(|| "(untitled)".to_owned());
        Self { hash, title }
    }
}

impl Show for Vec<SchemaItem> {
    fn text(&self, _page: Page) -> String {
        let row = |item: &SchemaItem| vec![item.hash.to_string(), item.title.clone()];
        table(&["SCHEMA", "TITLE"], self.iter().map(row).collect())
    }
}

/// A schema.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct SchemaView(pub Value);

impl Show for SchemaView {
    fn text(&self, _page: Page) -> String {
        document(&self.0)
    }
}
