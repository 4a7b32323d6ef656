//! The order in which nodes can be written or removed: children first, or referrers first.

use std::collections::HashSet;

use uwf_protocol::ids::CasRef;

use crate::error::StoreError;

/// Returns everything that is reachable from the roots, in an order in which every node comes after the nodes that it
/// refers to. `links` returns what a node refers to; `None` leaves the node out.
///
/// The order depends on the order of the roots and of the links alone.
pub(crate) fn children_first(
    roots: impl IntoIterator<Item = CasRef>,
    mut links: impl FnMut(CasRef) -> Result<Option<Vec<CasRef>>, StoreError>,
) -> Result<Vec<CasRef>, StoreError> {
    let mut done = Vec::new();
    let mut seen = HashSet::new();
    for root in roots {
        // Depth first, with a stack of our own: a chain may be longer than the stack of the process. Each element is a node
        // with the links that are left to follow, the last one first.
        let mut path: Vec<(CasRef, Vec<CasRef>)> = Vec::new();
        let mut next = Some(root);
        loop {
            if let Some(hash) = next.take()
                && seen.insert(hash)
                && let Some(mut found) = links(hash)?
            {
                found.reverse();
                path.push((hash, found));
            }
            let Some((hash, left)) = path.last_mut() else {
                break;
            };
            next = left.pop();
            if next.is_none() {
                done.push(*hash);
                path.pop();
            }
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> CasRef {
        CasRef::from_u64(number)
    }

    fn order(roots: &[u64], links: &[(u64, &[u64])]) -> Vec<CasRef> {
        let links_of = |hash: CasRef| {
            let mut found = links.iter();
            let found = found.find(|(from, _)| node(*from) == hash);
            Ok(found.map(|(_, to)| to.iter().copied().map(node).collect()))
        };
        children_first(roots.iter().copied().map(node), links_of).unwrap()
    }

    #[test]
    fn every_node_comes_once_and_after_its_children() {
        let found = order(&[1, 2], &[(1, &[3, 2]), (2, &[3, 4]), (3, &[]), (4, &[])]);
        assert_eq!(found, [3, 4, 2, 1].map(node));
    }

    #[test]
    fn a_node_without_links_known_is_left_out() {
        assert_eq!(order(&[1, 9], &[(1, &[8])]), [1].map(node));
    }

    #[test]
    fn a_chain_may_be_longer_than_the_stack() {
        let mut last = 0;
        let links = |_| {
            last += 1;
            Ok((last < 1_000_000).then(|| vec![node(last)]))
        };
        let found = children_first([node(0)], links).unwrap();
        assert_eq!(found.last(), Some(&node(0)));
        assert_eq!(found.len(), 999_999);
    }
}
