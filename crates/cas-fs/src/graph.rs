//! References between nodes: what a node refers to, and what is reachable from it.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{HashSet, VecDeque};

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::META;
use uwf_schema::references;

use crate::error::StoreError;
use crate::node::Node;
use crate::store::Store;

/// Returns what the payload of a node refers to. A schema refers to nothing.
pub(crate) fn refs(store: &Store, hash: CasRef) -> Result<Vec<CasRef>, StoreError> {
    refs_of(store, hash, &store.get(hash)?)
}

/// Returns what the payload of this node refers to.
pub(crate) fn refs_of(store: &Store, hash: CasRef, node: &Node) -> Result<Vec<CasRef>, StoreError> {
    if is_schema(hash, node.type_hash) {
        return Ok(Vec::new());
    }
    let schema = store.get(node.type_hash)?.payload;
    Ok(refs_in(&schema, &node.payload))
}

/// Returns all nodes that are reachable from a node, breadth-first.
pub(crate) fn walk(store: &Store, root: CasRef) -> Result<Vec<CasRef>, StoreError> {
    let mut schemas: HashMap<CasRef, Option<Node>> = HashMap::new();
    let mut queue = VecDeque::from([root]);
    let mut seen = HashSet::from([root]);
    let mut found = Vec::new();
    while let Some(hash) = queue.pop_front() {
        let Some(node) = store.find(hash)? else {
            continue;
        };
        found.push(hash);
        if is_schema(hash, node.type_hash) {
            continue;
        }
        let schema = match schemas.entry(node.type_hash) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(store.find(node.type_hash)?),
        };
        let Some(schema) = schema else {
            continue;
        };
        let refs = refs_in(&schema.payload, &node.payload);
        queue.extend(refs.into_iter().filter(|hash| seen.insert(*hash)));
    }
    Ok(found)
}

/// Returns the references in a payload, in order of appearance, each once.
pub(crate) fn refs_in(schema: &Value, payload: &Value) -> Vec<CasRef> {
    let found = references(schema, payload).into_iter();
    let hashes = found.filter_map(|reference| reference.hash.parse().ok());
    let mut seen = HashSet::new();
    hashes.filter(|hash: &CasRef| seen.insert(*hash)).collect()
}

/// Tells whether a node of this type is a schema.
pub(crate) fn is_schema(hash: CasRef, type_hash: CasRef) -> bool {
    type_hash == META || type_hash == hash
}
