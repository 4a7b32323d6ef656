//! Who needs the nodes that cannot be read: every root from which one is reached, and not just the first.

use std::collections::{BTreeMap, HashMap, HashSet};

use uwf_protocol::ids::CasRef;
use uwf_util::causes::with_causes;

use crate::error::StoreError;
use crate::mark::Marker;
use crate::store::Store;

/// A needed node that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The node.
    pub hash: CasRef,
    /// What is wrong, as the rest of a sentence about it: "is not in the store".
    pub problem: String,
    /// The roots that lead to it, by their positions in what was asked.
    pub roots: Vec<usize>,
}

/// Returns the nodes that are reachable from the roots and cannot be read, sorted.
pub(crate) fn unreadable(store: &Store, roots: &[CasRef]) -> Result<Vec<Unreadable>, StoreError> {
    let mut graph = Graph::default();
    let nothing = HashSet::new();
    let mut marker = Marker::new(store, &nothing);
    let mut queue = roots.to_vec();
    while let Some(hash) = queue.pop() {
        if !graph.seen.insert(hash) {
            continue;
        }
        let problem = match store.find(hash) {
            Ok(Some(node)) => {
                for child in marker.links(hash, &node)?.needed() {
                    graph.parents.entry(child).or_default().push(hash);
                    queue.push(child);
                }
                continue;
            }
            Ok(None) => "is not in the store".to_owned(),
            Err(StoreError::Damaged { reason, .. }) => format!("is damaged ({reason})"),
            Err(error) => format!("cannot be read ({})", with_causes(&error)),
        };
        graph.problems.insert(hash, problem);
    }
    Ok(graph.unreadable(roots))
}

/// The nodes that were looked at.
#[derive(Default)]
struct Graph {
    seen: HashSet<CasRef>,
    /// For each node, the nodes that refer to it.
    parents: HashMap<CasRef, Vec<CasRef>>,
    problems: BTreeMap<CasRef, String>,
}

impl Graph {
    fn unreadable(self, roots: &[CasRef]) -> Vec<Unreadable> {
        let found = self.problems.iter().map(|(hash, problem)| {
            let above = self.above(*hash);
            let leading = (0..).zip(roots).filter(|(_, root)| above.contains(root));
            Unreadable {
                hash: *hash,
                problem: problem.clone(),
                roots: leading.map(|(position, _)| position).collect(),
            }
        });
        found.collect()
    }

    /// Returns the node and all nodes that lead to it.
    fn above(&self, hash: CasRef) -> HashSet<CasRef> {
        let mut above = HashSet::new();
        let mut queue = vec![hash];
        while let Some(hash) = queue.pop() {
            if above.insert(hash) {
                queue.extend(self.parents.get(&hash).into_iter().flatten());
            }
        }
        above
    }
}
