//! Nodes as they travel between stores: type, payload bytes and time, independent of files.

use uwf_protocol::ids::CasRef;

use crate::error::StoreError;
use crate::store::Store;
use crate::{graph, node};

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

impl RawNode {
    /// Reads a node from the bytes of its file, and checks that it has the hash. The references are not looked for: that
    /// needs the schema.
    ///
    /// # Errors
    /// [`StoreError::NotTheNode`].
    pub fn of_file(hash: CasRef, bytes: &[u8]) -> Result<Self, StoreError> {
        let checked =
            node::check(hash, bytes).map_err(|reason| StoreError::NotTheNode { hash, reason })?;
        Ok(Self {
            hash,
            type_hash: checked.node.type_hash,
            payload: checked.payload.to_vec(),
            timestamp_ms: checked.node.timestamp_ms,
            refs: Vec::new(),
        })
    }

    /// Returns the bytes of the node's file.
    #[must_use]
    pub fn file_bytes(&self) -> Vec<u8> {
        node::file_bytes(self.type_hash, &self.payload, self.timestamp_ms)
    }
}

/// Reads a node without its references.
pub(crate) fn read(store: &Store, hash: CasRef) -> Result<RawNode, StoreError> {
    let stored = store.stored(hash)?.ok_or(StoreError::NotFound { hash })?;
    RawNode::of_file(hash, &stored.bytes).map_err(|error| match error {
        StoreError::NotTheNode { hash, reason } => StoreError::Damaged {
            hash,
            path: stored.path,
            reason,
        },
        other => other,
    })
}

/// Reads a node with the nodes that it refers to.
pub(crate) fn export(store: &Store, hash: CasRef) -> Result<RawNode, StoreError> {
    Ok(RawNode {
        refs: graph::refs(store, hash)?,
        ..read(store, hash)?
    })
}

/// Checks that a node has its hash.
pub(crate) fn check(raw: &RawNode) -> Result<(), StoreError> {
    RawNode::of_file(raw.hash, &raw.file_bytes()).map(drop)
}
