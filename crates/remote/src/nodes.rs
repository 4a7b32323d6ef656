//! Nodes that a remote gives.

use std::num::NonZeroUsize;

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;

/// Which part of the nodes is wanted. The order of the nodes depends on the question alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// How many nodes the caller has received already, by earlier calls or with a lease. They are the first ones of the order.
    pub skip: usize,
    /// How many nodes may come.
    pub at_most: NonZeroUsize,
}

/// Nodes, each after the nodes that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closure {
    /// The nodes.
    pub nodes: Vec<LinkedNode>,
    /// Whether none is left after these.
    pub complete: bool,
}

/// What came of asking for nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A part of them.
    Nodes(Closure),
    /// These of the asked nodes are not at the remote. They are in the order of the question.
    Lacking(Vec<CasRef>),
}
