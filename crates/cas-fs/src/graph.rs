//! References between nodes: what a node refers to, and what can be reached from it.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas::META;

use crate::error::StoreError;
use crate::node::Node;
use crate::schema;
use crate::store::Store;

/// Returns what the payload of a node refers to. A schema refers to nothing.
pub(crate) fn refs(store: &Store, hash: CasRef) -> Result<Vec<CasRef>, StoreError> {
    let node = store.get(hash)?;
    if is_schema(hash, &node) {
        return Ok(Vec::new());
    }
    let schema = store.get(node.type_hash)?.payload;
    Ok(schema::refs_in(&schema, &node.payload))
}

/// Returns what can be reached from a node, breadth-first.
pub(crate) fn walk(store: &Store, root: CasRef) -> Result<Vec<CasRef>, StoreError> {
    let mut schemas: HashMap<CasRef, Option<Value>> = HashMap::new();
    let mut queue = VecDeque::from([root]);
    let mut seen = HashSet::from([root]);
    let mut found = Vec::new();
    while let Some(hash) = queue.pop_front() {
        let Some(node) = store.find(hash)? else {
            continue;
        };
        found.push(hash);
        if is_schema(hash, &node) {
            continue;
        }
        if !schemas.contains_key(&node.type_hash) {
            let schema = store.find(node.type_hash)?.map(|schema| schema.payload);
            schemas.insert(node.type_hash, schema);
        }
        let Some(Some(schema)) = schemas.get(&node.type_hash) else {
            continue;
        };
        let refs = schema::refs_in(schema, &node.payload);
        queue.extend(refs.into_iter().filter(|hash| seen.insert(*hash)));
    }
    Ok(found)
}

fn is_schema(hash: CasRef, node: &Node) -> bool {
    node.type_hash == META || node.type_hash == hash
}
