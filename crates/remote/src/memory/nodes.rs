//! The nodes of a remote in memory.

use std::collections::{BTreeSet, HashMap, HashSet};

use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::RawNode;

use crate::nodes::Closure;

/// Nodes. What a node needs is there, too.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: HashMap<CasRef, RawNode>,
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
    pub(super) fn add(&mut self, nodes: &[RawNode], head: Option<CasRef>) -> Result<(), Unfit> {
        let mut new: HashMap<CasRef, &RawNode> = HashMap::new();
        let mut clash = BTreeSet::new();
        let mut needed: BTreeSet<CasRef> = head.into_iter().collect();
        for node in nodes {
            let first = new.entry(node.hash).or_insert(node);
            let known = self.nodes.get(&node.hash).unwrap_or(first);
            if !known.is_same(node) {
                clash.insert(node.hash);
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
        let mut skipped = 0;
        let mut seen: HashSet<CasRef> = have.iter().copied().collect();
        let mut found: Vec<RawNode> = Vec::new();
        // Each node on the path comes with what it needs and what was not looked at yet. A chain may be longer than the stack.
        let mut path: Vec<(&RawNode, Vec<CasRef>)> = Vec::new();
        let mut left: Vec<CasRef> = from.iter().rev().copied().collect();
        loop {
            let next = match path.last_mut() {
                Some((_, needs)) => needs.pop(),
                None => match left.pop() {
                    Some(root) => Some(root),
                    None => break,
                },
            };
            match next {
                Some(hash) => {
                    if seen.insert(hash)
                        && let Some(node) = self.nodes.get(&hash)
                    {
                        path.push((node, node.needs().collect()));
                    }
                }
                None if skipped < skip => {
                    skipped += 1;
                    path.pop();
                }
                None if found.len() == at_most => {
                    return Closure {
                        nodes: found,
                        complete: false,
                    };
                }
                None => {
                    let done = path.pop().map(|(node, _)| node.clone());
                    found.extend(done);
                }
            }
        }
        Closure {
            nodes: found,
            complete: true,
        }
    }
}
