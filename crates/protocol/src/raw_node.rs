//! Nodes as they travel: type, payload bytes and time, independent of the file or the table that keeps them.

use crate::ids::CasRef;

/// A node without its file. Two of them with the same hash, type and payload are the same node, whatever their times are.
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
}

/// A node with what it refers to. A carrier of nodes need not understand payloads.
///
/// It is a type of its own, because a node whose references were not looked for is not one that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedNode {
    /// The node.
    pub node: RawNode,
    /// The nodes that the payload refers to, without the schema.
    pub refs: Vec<CasRef>,
}

impl RawNode {
    /// Tells whether both are the same node. Their times are not compared: each is that of one store.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.hash, self.type_hash, &self.payload) == (other.hash, other.type_hash, &other.payload)
    }
}

impl LinkedNode {
    /// Returns the nodes that must be where this one is: its schema, unless it types itself, and what it refers to.
    pub fn needs(&self) -> impl Iterator<Item = CasRef> {
        let RawNode {
            hash, type_hash, ..
        } = self.node;
        let schema = (type_hash != hash).then_some(type_hash);
        schema.into_iter().chain(self.refs.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(hash: u64, type_hash: u64, timestamp_ms: i64) -> RawNode {
        RawNode {
            hash: CasRef::from_u64(hash),
            type_hash: CasRef::from_u64(type_hash),
            payload: vec![1],
            timestamp_ms,
        }
    }

    #[test]
    fn a_node_with_another_time_is_the_same_node() {
        assert!(node(1, 2, 3).is_same(&node(1, 2, 4)));
        assert!(!node(1, 2, 3).is_same(&node(1, 5, 3)));
        let other = RawNode {
            payload: vec![2],
            ..node(1, 2, 3)
        };
        assert!(!node(1, 2, 3).is_same(&other));
    }

    #[test]
    fn a_node_needs_its_schema_and_what_it_refers_to_but_not_itself() {
        let needs = |node: RawNode| {
            let refs = vec![CasRef::from_u64(9)];
            LinkedNode { node, refs }.needs().collect::<Vec<_>>()
        };
        assert_eq!(needs(node(1, 2, 0)), [2, 9].map(CasRef::from_u64));
        assert_eq!(needs(node(1, 1, 0)), [CasRef::from_u64(9)]);
    }
}
