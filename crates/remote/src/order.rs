//! The order in which a remote gives nodes.

use std::collections::HashSet;
use std::hash::Hash;

/// Returns the nodes that can be reached from `from`, without `have`. Each node comes after the nodes that it needs.
///
/// `needs` returns what a node needs, or `None` if there is no such node. It is called once for each node. The order depends on the
/// arguments alone.
pub fn needed_first<N: Copy + Eq + Hash>(
    from: &[N],
    have: &[N],
    mut needs: impl FnMut(N) -> Option<Vec<N>>,
) -> Vec<N> {
    let mut seen: HashSet<N> = have.iter().copied().collect();
    let mut ordered = Vec::new();
    // The path has each node with those of its needs that were not looked at yet. It is no recursion, because a chain may be too
    // long for the stack.
    let mut path: Vec<(N, Vec<N>)> = Vec::new();
    let mut left: Vec<N> = from.iter().rev().copied().collect();
    loop {
        let next = match path.last_mut() {
            Some((_, unseen)) => unseen.pop(),
            None => match left.pop() {
                Some(root) => Some(root),
                None => return ordered,
            },
        };
        match next {
            Some(node) => {
                if seen.insert(node)
                    && let Some(needs) = needs(node)
                {
                    path.push((node, needs));
                }
            }
            None => ordered.extend(path.pop().map(|(node, _)| node)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::needed_first;

    /// Node 1 needs 2 and 3, which both need 4. Node 5 is not there.
    fn needs(node: u32) -> Option<Vec<u32>> {
        match node {
            1 => Some(vec![2, 3, 5]),
            2 | 3 => Some(vec![4]),
            4 => Some(vec![]),
            _ => None,
        }
    }

    #[test]
    fn each_node_comes_once_after_what_it_needs() {
        assert_eq!(needed_first(&[1, 4], &[], needs), [4, 3, 2, 1]);
        assert!(needed_first(&[5], &[], needs).is_empty());
    }

    #[test]
    fn what_the_caller_has_is_not_looked_at() {
        assert_eq!(needed_first(&[1], &[2, 4], needs), [3, 1]);
        assert!(needed_first(&[1], &[1], needs).is_empty());
    }
}
