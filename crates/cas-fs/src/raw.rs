//! Nodes as they travel between stores: type, payload bytes and time, independent of files.

use uwf_protocol::ids::CasRef;

use crate::error::StoreError;
use crate::store::Store;
use crate::{disk, graph, node};

/// A node without its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawNode {
    /// The hash of type and payload.
    pub hash: CasRef,
    /// The hash of the schema that types the payload; that of the node itself if it types itself.
    pub type_hash: CasRef,
    /// The encoded payload, exactly as it was hashed.
    pub payload: Vec<u8>,
    /// When the node was first stored, in milliseconds since 1970. Not part of the hash.
    pub timestamp_ms: i64,
    /// The nodes that the payload refers to, without the schema. A carrier of nodes need not understand payloads.
    pub refs: Vec<CasRef>,
}

/// Reads a node with the nodes that it refers to.
pub(crate) fn export(store: &Store, hash: CasRef) -> Result<RawNode, StoreError> {
    let stored = disk::read(store.dir(), hash)?.ok_or(StoreError::NotFound { hash })?;
    let checked = node::check(hash, &stored.bytes).map_err(|reason| StoreError::Damaged {
        hash,
        path: stored.path.clone(),
        reason,
    })?;
    Ok(RawNode {
        hash,
        type_hash: checked.node.type_hash,
        payload: checked.payload.to_vec(),
        timestamp_ms: checked.node.timestamp_ms,
        refs: graph::refs_of(store, hash, &checked.node)?,
    })
}

/// Checks that a node has its hash.
pub(crate) fn check(raw: &RawNode) -> Result<(), StoreError> {
    let bytes = node::file_bytes(raw.type_hash, &raw.payload, raw.timestamp_ms);
    let hash = raw.hash;
    match node::check(hash, &bytes) {
        Ok(_) => Ok(()),
        Err(reason) => Err(StoreError::NotTheNode { hash, reason }),
    }
}
