//! One node of the store, with what it is and what it refers to.

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;

use crate::read::store_stats::schema_title;
use crate::read::which::NodeUse;
use crate::{EngineError, Site, node_kind};

/// A node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDetail {
    /// The node.
    pub hash: CasRef,
    /// The schema that types it.
    pub r#type: CasRef,
    /// What that is called, if it can be read.
    pub type_title: Option<String>,
    /// What the node is, such as `step of reviewer`.
    pub what: String,
    /// Its content.
    pub payload: Value,
    /// When it was first stored, in milliseconds since 1970.
    pub timestamp: i64,
    /// The nodes that it refers to, each with what it is.
    pub refs: Vec<NodeUse>,
}

/// Returns a node with what it is and what it refers to.
///
/// # Errors
/// When it is not in the store, or damaged.
pub fn node_detail(site: &Site, hash: CasRef) -> Result<NodeDetail, EngineError> {
    let store = &site.store;
    let node = store.get(hash)?;
    let schema = store.find(node.type_hash).ok().flatten();
    let refs = store.refs(hash)?.into_iter();
    Ok(NodeDetail {
        hash,
        r#type: node.type_hash,
        type_title: schema.and_then(|schema| schema_title(node.type_hash, &schema.payload)),
        what: node_kind::what(hash, &node),
        refs: refs.map(|one| used(store, one)).collect(),
        timestamp: node.timestamp_ms,
        payload: node.payload,
    })
}

fn used(store: &Store, hash: CasRef) -> NodeUse {
    let what = match store.find(hash) {
        Ok(Some(node)) => node_kind::what(hash, &node),
        Ok(None) => "not in the store".to_owned(),
        Err(error) => error.to_string(),
    };
    NodeUse { hash, what }
}
