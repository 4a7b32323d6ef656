//! Nodes as they travel between stores, read from files and from a store. `uwf_protocol::raw_node` is what they are.

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
    let RawNode {
        hash,
        type_hash,
        payload,
        ..
    } = raw;
    node::check_payload(*hash, *type_hash, payload).map_err(|reason| StoreError::NotTheNode {
        hash: *hash,
        reason,
    })
}
