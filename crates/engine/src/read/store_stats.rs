//! What is in the store: how many nodes of which types, how large and how old they are, and how many are in use.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::Surveyed;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;
use uwf_storage::references;

use crate::needs::Needs;
use crate::{EngineError, Site};

/// How many of the largest nodes are named.
const LARGEST: usize = 5;

/// What is in a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreStats {
    /// How many nodes there are.
    pub nodes: usize,
    /// How much space their files take.
    pub bytes: u64,
    /// The nodes that the threads and workflows of this root use, and the schemas that every store has.
    pub used: NodeTotal,
    /// All other nodes. Other roots may use them, or a step that is at work.
    pub unused: NodeTotal,
    /// When the oldest node was written or put again, in milliseconds since 1970.
    pub oldest: Option<i64>,
    /// When the newest node was written or put again, in milliseconds since 1970.
    pub newest: Option<i64>,
    /// The types of the nodes, the one with the most bytes first.
    pub types: Vec<TypeStats>,
    /// The largest nodes, the largest first.
    pub largest: Vec<LargeNode>,
}

/// Some of the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeTotal {
    /// How many they are.
    pub nodes: usize,
    /// How much space their files take.
    pub bytes: u64,
}

/// The nodes of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeStats {
    /// The hash of their schema; `None` for damaged nodes.
    pub r#type: Option<CasRef>,
    /// The title of the schema.
    pub title: Option<String>,
    /// How many they are, and how much space they take.
    #[serde(flatten)]
    pub usage: NodeTotal,
}

/// A large node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LargeNode {
    /// The node.
    pub hash: CasRef,
    /// The hash of its schema.
    pub r#type: Option<CasRef>,
    /// The title of the schema.
    pub title: Option<String>,
    /// How much space it takes.
    pub bytes: u64,
}

impl NodeTotal {
    fn of<'a>(nodes: impl Iterator<Item = &'a Surveyed>) -> Self {
        nodes.fold(Self::default(), |sum, node| Self {
            nodes: sum.nodes + 1,
            bytes: sum.bytes + node.bytes,
        })
    }
}

/// Looks at the store of a root.
///
/// # Errors
/// When the store or a file of the state cannot be read.
pub fn store_stats(site: &Site) -> Result<StoreStats, EngineError> {
    let _hold = site.store.hold_to_read().ok();
    let in_use = in_use(site)?;
    let nodes = site.store.survey()?;
    let (used, unused): (Vec<&Surveyed>, Vec<&Surveyed>) =
        nodes.iter().partition(|node| in_use.contains(&node.hash));
    let all = NodeTotal::of(nodes.iter());
    let mut largest: Vec<&Surveyed> = nodes.iter().collect();
    largest.sort_by_key(|node| (Reverse(node.bytes), node.hash));
    largest.truncate(LARGEST);
    let large = |node: &Surveyed| LargeNode {
        hash: node.hash,
        r#type: node.type_hash,
        title: title(site, node.type_hash),
        bytes: node.bytes,
    };
    Ok(StoreStats {
        nodes: all.nodes,
        bytes: all.bytes,
        used: NodeTotal::of(used.into_iter()),
        unused: NodeTotal::of(unused.into_iter()),
        oldest: nodes.iter().map(|node| node.used_ms).min(),
        newest: nodes.iter().map(|node| node.used_ms).max(),
        types: types(site, &nodes),
        largest: largest.into_iter().map(large).collect(),
    })
}

/// Returns the nodes that the root uses.
fn in_use(site: &Site) -> Result<HashSet<CasRef>, EngineError> {
    let needs = Needs::of(&site.root)?;
    let mut roots: Vec<CasRef> = needs.needed.into_iter().map(|(hash, _)| hash).collect();
    roots.extend(needs.useful);
    roots.extend(references::named_by_runs(&site.root)?);
    roots.extend(site.store.own_schemas());
    Ok(site.store.closure(&roots)?.into_iter().collect())
}

fn types(site: &Site, nodes: &[Surveyed]) -> Vec<TypeStats> {
    let mut by_type: HashMap<Option<CasRef>, NodeTotal> = HashMap::new();
    for node in nodes {
        let usage = by_type.entry(node.type_hash).or_default();
        usage.nodes += 1;
        usage.bytes += node.bytes;
    }
    let stats = |(hash, usage)| TypeStats {
        r#type: hash,
        title: title(site, hash),
        usage,
    };
    let mut types: Vec<TypeStats> = by_type.into_iter().map(stats).collect();
    types.sort_by_key(|one| (Reverse(one.usage.bytes), one.r#type));
    types
}

/// Returns the title of a schema, if it has one and can be read.
fn title(site: &Site, schema: Option<CasRef>) -> Option<String> {
    let schema = schema?;
    let node = site.store.find(schema).ok()??;
    schema_title(schema, &node.payload)
}

/// Returns what a schema is called: by its title, its description or the type of its values.
#[must_use]
pub fn schema_title(hash: CasRef, schema: &Value) -> Option<String> {
    if hash == schemas::META {
        return Some("(the schema of schemas)".to_owned());
    }
    let word = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = || word("type").map(|kind| format!("({kind})"));
    word("title").or_else(|| word("description")).or_else(kind)
}
