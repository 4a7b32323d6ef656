//! The nodes of one request to store nodes.

use std::collections::{BTreeMap, BTreeSet};

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;

use crate::push::{Advanced, Put};

/// Why nodes are not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// They need these nodes, which are not there.
    Lacking(Vec<CasRef>),
    /// Different nodes have these hashes.
    Clash(Vec<CasRef>),
}

impl From<Unfit> for Advanced {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Lacking(nodes) => Self::Lacking(nodes),
            Unfit::Clash(nodes) => Self::Clash(nodes),
        }
    }
}

impl From<Unfit> for Put {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Lacking(nodes) => Self::Lacking(nodes),
            Unfit::Clash(nodes) => Self::Clash(nodes),
        }
    }
}

/// Nodes that are stored together, each once.
#[derive(Debug)]
pub struct Together<'a> {
    /// The nodes, by their hashes.
    pub nodes: BTreeMap<CasRef, &'a LinkedNode>,
    /// What must be there already.
    pub needed: BTreeSet<CasRef>,
}

impl<'a> Together<'a> {
    /// Returns the nodes of a request. `head` counts as needed, too.
    ///
    /// # Errors
    /// [`Unfit::Clash`] if two different nodes have one hash.
    pub fn of(nodes: &'a [LinkedNode], head: Option<CasRef>) -> Result<Self, Unfit> {
        let mut each: BTreeMap<CasRef, &LinkedNode> = BTreeMap::new();
        let mut clash = BTreeSet::new();
        for node in nodes {
            let known = each.entry(node.node.hash).or_insert(node);
            if !known.node.is_same(&node.node) {
                clash.insert(node.node.hash);
            }
        }
        if !clash.is_empty() {
            return Err(Unfit::Clash(clash.into_iter().collect()));
        }
        let needs = each.values().flat_map(|node| node.needs());
        let mut needed: BTreeSet<CasRef> = needs.chain(head).collect();
        needed.retain(|hash| !each.contains_key(hash));
        Ok(Self {
            nodes: each,
            needed,
        })
    }
}
