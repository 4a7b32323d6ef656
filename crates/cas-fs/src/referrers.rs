//! References backwards: which nodes need a node. No index knows that, so every node of the store is read.

use std::collections::{HashMap, HashSet};

use uwf_protocol::ids::CasRef;

use crate::error::StoreError;
use crate::mark::Marker;
use crate::store::Store;

/// The nodes from which a node can be reached.
#[derive(Debug, Default)]
pub struct Referrers {
    /// Of each node that leads to the node: those of its references that do so.
    leading: HashMap<CasRef, Vec<CasRef>>,
    /// The nodes that cannot be read. Any of them may refer to the node.
    pub unreadable: Vec<CasRef>,
}

impl Referrers {
    /// Returns the references of a node that are the node, or lead to it.
    #[must_use]
    pub fn leading_from(&self, from: CasRef) -> &[CasRef] {
        self.leading.get(&from).map_or(&[], Vec::as_slice)
    }

    /// Returns the nodes that refer to a node directly, sorted.
    #[must_use]
    pub fn direct(&self, to: CasRef) -> Vec<CasRef> {
        let all = self.leading.iter();
        let direct = all.filter(|(_, references)| references.contains(&to));
        let mut direct: Vec<CasRef> = direct.map(|(from, _)| *from).collect();
        direct.sort_unstable();
        direct
    }
}

/// Reads all nodes, and returns those from which this one can be reached. As for garbage collection, a string that is the
/// hash of a node counts as a reference.
pub(crate) fn referrers(store: &Store, to: CasRef) -> Result<Referrers, StoreError> {
    let lost = HashSet::new();
    let mut marker = Marker::new(store, &lost);
    let mut found = Referrers::default();
    let mut back: HashMap<CasRef, Vec<CasRef>> = HashMap::new();
    for hash in store.all()? {
        match store.find(hash) {
            Ok(Some(node)) => {
                let links: HashSet<CasRef> = marker.links(hash, &node)?.all().collect();
                for link in links {
                    back.entry(link).or_default().push(hash);
                }
            }
            Ok(None) => {}
            Err(StoreError::Damaged { .. }) => found.unreadable.push(hash),
            Err(error) => return Err(error),
        }
    }
    let mut seen = HashSet::from([to]);
    let mut queue = vec![to];
    while let Some(reached) = queue.pop() {
        for from in back.remove(&reached).unwrap_or_default() {
            found.leading.entry(from).or_default().push(reached);
            if seen.insert(from) {
                queue.push(from);
            }
        }
    }
    Ok(found)
}
