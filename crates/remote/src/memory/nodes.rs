//! The nodes of a remote in memory.

use std::collections::{BTreeSet, HashMap};

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;

use crate::nodes::Closure;
use crate::order::needed_first;

/// Nodes. What a node needs is there, too.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: HashMap<CasRef, LinkedNode>,
}

/// Why nodes are not stored.
pub(super) enum Unfit {
    /// They need these, and these are not there.
    Lacking(Vec<CasRef>),
    /// Others are there under these hashes.
    Clash(Vec<CasRef>),
}

impl Nodes {
    pub(super) fn has(&self, hash: CasRef) -> bool {
        self.nodes.contains_key(&hash)
    }

    /// Stores nodes, all or none. A node that is there stays as it is. `head` must be there afterwards.
    pub(super) fn add(&mut self, nodes: &[LinkedNode], head: Option<CasRef>) -> Result<(), Unfit> {
        let mut new: HashMap<CasRef, &LinkedNode> = HashMap::new();
        let mut clash = BTreeSet::new();
        let mut needed: BTreeSet<CasRef> = head.into_iter().collect();
        for node in nodes {
            let hash = node.node.hash;
            let first = new.entry(hash).or_insert(node);
            let known = self.nodes.get(&hash).unwrap_or(first);
            if !known.node.is_same(&node.node) {
                clash.insert(hash);
            }
            needed.extend(node.needs());
        }
        if !clash.is_empty() {
            return Err(Unfit::Clash(clash.into_iter().collect()));
        }
        needed.retain(|hash| !self.has(*hash) && !new.contains_key(hash));
        if !needed.is_empty() {
            return Err(Unfit::Lacking(needed.into_iter().collect()));
        }
        for (hash, node) in new {
            self.nodes.entry(hash).or_insert_with(|| node.clone());
        }
        Ok(())
    }

    /// Returns what can be reached, each node after the nodes that it needs: after the first ones that are skipped, at most so
    /// many.
    pub(super) fn closure(
        &self,
        from: &[CasRef],
        have: &[CasRef],
        (skip, at_most): (usize, usize),
    ) -> Closure {
        let needs = |hash| Some(self.nodes.get(&hash)?.needs().collect());
        let all = needed_first(from, have, needs);
        let part = all.iter().skip(skip).take(at_most);
        Closure {
            nodes: part.map(|hash| self.nodes[hash].clone()).collect(),
            complete: all.len() <= skip.saturating_add(at_most),
        }
    }
}
