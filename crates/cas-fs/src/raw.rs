//! Nodes as they travel between stores, read from files and from a store. `uwf_protocol::raw_node` is what they are.

use std::collections::hash_map::{Entry, HashMap};

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::{LinkedNode, RawNode};

use crate::error::StoreError;
use crate::store::Store;
use crate::{graph, node};

/// Reads a node from the bytes of its file, and checks that it has the hash.
///
/// # Errors
/// [`StoreError::NotTheNode`].
pub fn raw_of_file(hash: CasRef, bytes: &[u8]) -> Result<RawNode, StoreError> {
    let checked =
        node::check(hash, bytes).map_err(|reason| StoreError::NotTheNode { hash, reason })?;
    Ok(RawNode {
        hash,
        type_hash: checked.node.type_hash,
        payload: checked.payload.to_vec(),
        timestamp_ms: checked.node.timestamp_ms,
    })
}

/// Returns the bytes of the file of a node.
#[must_use]
pub fn file_of_raw(raw: &RawNode) -> Vec<u8> {
    node::file_bytes(raw.type_hash, &raw.payload, raw.timestamp_ms)
}

/// Reads a node.
pub(crate) fn raw(store: &Store, hash: CasRef) -> Result<RawNode, StoreError> {
    let stored = store.stored(hash)?.ok_or(StoreError::NotFound { hash })?;
    raw_of_file(hash, &stored.bytes).map_err(|error| match error {
        StoreError::NotTheNode { hash, reason } => StoreError::Damaged {
            hash,
            path: stored.path,
            reason,
        },
        other => other,
    })
}

/// Reads a node with the nodes that it refers to.
pub(crate) fn linked(store: &Store, hash: CasRef) -> Result<LinkedNode, StoreError> {
    Ok(LinkedNode {
        refs: graph::refs(store, hash)?,
        node: raw(store, hash)?,
    })
}

/// Checks that a node is one, and has its hash.
pub(crate) fn check(raw: &RawNode) -> Result<(), StoreError> {
    read(raw).map(drop)
}

/// Returns the payload of a node, which must have its hash.
fn read(raw: &RawNode) -> Result<Value, StoreError> {
    let RawNode {
        hash,
        type_hash,
        payload,
        ..
    } = raw;
    node::read_payload(*hash, *type_hash, payload).map_err(|reason| StoreError::NotTheNode {
        hash: *hash,
        reason,
    })
}

/// What nodes refer to that are in no store.
#[derive(Debug, Default)]
pub struct RawRefs {
    /// The schemas that were read before.
    schemas: HashMap<CasRef, Value>,
}

impl RawRefs {
    /// Returns what a node refers to; `None` if its schema is needed and is not given.
    ///
    /// # Errors
    /// [`StoreError::NotTheNode`] if one of both does not have its hash.
    pub fn of(
        &mut self,
        raw: &RawNode,
        schema: Option<&RawNode>,
    ) -> Result<Option<Vec<CasRef>>, StoreError> {
        let payload = read(raw)?;
        if graph::is_schema(raw.hash, raw.type_hash) {
            return Ok(Some(Vec::new()));
        }
        let Some(schema) = schema else {
            return Ok(None);
        };
        let known = match self.schemas.entry(schema.hash) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(read(schema)?),
        };
        Ok(Some(graph::refs_in(known, &payload)))
    }
}
