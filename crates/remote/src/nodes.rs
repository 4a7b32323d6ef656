//! Nodes that a remote gives.

use uwf_protocol::raw_node::RawNode;

/// Nodes, each after the nodes that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closure {
    /// The nodes.
    pub nodes: Vec<RawNode>,
    /// Whether these are all that were asked for.
    pub complete: bool,
}
