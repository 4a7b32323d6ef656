//! The nodes of a remote in memory.

use std::collections::HashMap;

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::LinkedNode;

use crate::nodes::Closure;
use crate::order::needed_first;
use crate::together::{Together, Unfit};

/// Nodes. What a node needs is there, too.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: HashMap<CasRef, LinkedNode>,
}

impl Nodes {
    pub(super) fn has(&self, hash: CasRef) -> bool {
        self.nodes.contains_key(&hash)
    }

    /// Stores nodes, all or none. A node that is there stays as it is. `head` must be there afterwards.
    pub(super) fn add(&mut self, nodes: &[LinkedNode], head: Option<CasRef>) -> Result<(), Unfit> {
        let Together { nodes, mut needed } = Together::of(nodes, head)?;
        let is_another = |(hash, node): &(&CasRef, &&LinkedNode)| {
            let known = self.nodes.get(hash);
            known.is_some_and(|known| !known.node.is_same(&node.node))
        };
        let clash: Vec<CasRef> = nodes
            .iter()
            .filter(is_another)
            .map(|(hash, _)| *hash)
            .collect();
        if !clash.is_empty() {
            return Err(Unfit::Clash(clash));
        }
        needed.retain(|hash| !self.has(*hash));
        if !needed.is_empty() {
            return Err(Unfit::Lacking(needed.into_iter().collect()));
        }
        for (hash, node) in nodes {
            self.nodes.entry(hash).or_insert_with(|| node.clone());
        }
        Ok(())
    }

    /// Returns a part of the nodes that can be reached, each after the nodes that it needs. The first `skip` nodes are left out,
    /// and at most `at_most` come.
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
