//! The digest that a remote keeps beside the hash of a node.

use uwf_protocol::raw_node::RawNode;

/// Returns the BLAKE3 hash of the type and the payload of a node. The hash of the store has 64 bits, which is no protection against
/// somebody who wants two contents under one hash.
#[must_use]
pub fn digest(node: &RawNode) -> [u8; 32] {
    let mut digest = blake3::Hasher::new();
    digest.update(node.type_hash.as_str().as_bytes());
    digest.update(&node.payload);
    *digest.finalize().as_bytes()
}
