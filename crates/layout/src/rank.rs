//! Gives every node an even rank. The odd ranks between them hold labels and lines only.

use crate::acyclic::Link;

/// How many ranks an edge spans at least.
pub(crate) const STEP: usize = 2;

/// Returns the rank of each node, from 0. Every link leads down by [`STEP`] ranks or more.
pub(crate) fn ranks(count: usize, start: usize, links: &[Link]) -> Vec<usize> {
    let mut above = vec![0_usize; count];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    for link in links {
        above[link.lower] += 1;
        below[link.upper].push(link.lower);
    }
    let mut ranks = vec![0; count];
    let mut waiting = above.clone();
    let mut ready: Vec<usize> = (0..count).filter(|node| above[*node] == 0).collect();
    let mut sorted = Vec::with_capacity(count);
    while let Some(node) = ready.pop() {
        sorted.push(node);
        for lower in &below[node] {
            ranks[*lower] = ranks[*lower].max(ranks[node] + STEP);
            waiting[*lower] -= 1;
            if waiting[*lower] == 0 {
                ready.push(*lower);
            }
        }
    }
    // A node with more edges below than above stands nearer to what is below: its edges are shorter there.
    for node in sorted.into_iter().rev() {
        let lowest = below[node].iter().map(|lower| ranks[*lower] - STEP).min();
        if let Some(lowest) = lowest
            && node != start
            && below[node].len() > above[node]
        {
            ranks[node] = lowest;
        }
    }
    close_gaps(&mut ranks);
    ranks
}

/// Renumbers the ranks so that none is without a node.
fn close_gaps(ranks: &mut [usize]) {
    let mut used: Vec<usize> = ranks.to_vec();
    used.sort_unstable();
    used.dedup();
    for rank in ranks {
        *rank = used.binary_search(rank).unwrap_or(0) * STEP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(upper: usize, lower: usize) -> Link {
        Link {
            upper,
            lower,
            edge: 0,
            turned: false,
        }
    }

    #[test]
    fn a_node_stands_below_all_that_lead_to_it() {
        let links = [link(0, 1), link(1, 2), link(0, 2), link(2, 3)];
        assert_eq!(ranks(4, 0, &links), [0, 2, 4, 6]);
    }

    #[test]
    fn a_node_that_nothing_leads_to_stands_right_above_what_it_leads_to() {
        let links = [link(0, 1), link(1, 2), link(3, 2)];
        assert_eq!(ranks(4, 0, &links), [0, 2, 4, 2]);
    }

    #[test]
    fn the_start_stays_on_top() {
        let links = [link(1, 2), link(2, 3), link(0, 3)];
        assert_eq!(ranks(4, 0, &links)[0], 0);
    }
}
