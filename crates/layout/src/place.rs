//! Gives the cells their x.
//!
//! A cell wants to stand where its neighbours on both sides are. Within one rank the best places under the order and the
//! distances are computed exactly: this is an isotonic regression, and merging the cells that push each other solves it.
//! Sweeps repeat it rank by rank. At the end, `straighten` removes the bends for which there is room.

use crate::net::{Chain, Net};
use crate::straighten::straighten;

/// The most sweeps.
const MOST_SWEEPS: usize = 200;
/// How many cells all sweeps together may look at.
const WORK: usize = 4_000_000;

/// A neighbour of a cell: how far from it the cell wants to stand, and how much.
struct Pull {
    neighbour: usize,
    distance: f64,
    weight: f64,
}

/// Returns the x of the middle of each cell.
pub(crate) fn places(net: &Net) -> Vec<f64> {
    let pulls = pulls(net);
    let mut xs = packed(net);
    let sweeps = (WORK / net.cells.len().max(1)).clamp(10, MOST_SWEEPS);
    for sweep in 0..sweeps {
        let count = net.ranks.len();
        for step in 0..count {
            let rank = if sweep % 2 == 0 {
                step
            } else {
                count - 1 - step
            };
            settle(net, &net.ranks[rank], &pulls, &mut xs);
        }
    }
    // Whole numbers let edges be exactly straight.
    xs.iter_mut().for_each(|x| *x = x.round());
    straighten(net, &mut xs);
    xs
}

/// Returns what pulls each cell.
fn pulls(net: &Net) -> Vec<Vec<Pull>> {
    let mut pulls: Vec<Vec<Pull>> = net.cells.iter().map(|_| Vec::new()).collect();
    for segment in net.chains.iter().flat_map(Chain::segments) {
        // A bend in the middle of a long edge looks worse than one at its end.
        let weight = if segment.is_inner { 8.0 } else { 2.0 };
        pulls[segment.upper].push(Pull {
            neighbour: segment.lower,
            distance: -segment.distance,
            weight,
        });
        pulls[segment.lower].push(Pull {
            neighbour: segment.upper,
            distance: segment.distance,
            weight,
        });
    }
    pulls
}

/// Returns the places of cells that stand as close together as they may, each rank around 0.
fn packed(net: &Net) -> Vec<f64> {
    let mut xs = vec![0.0; net.cells.len()];
    for rank in &net.ranks {
        let width: f64 = rank
            .iter()
            .map(|cell| net.cells[*cell].left + net.cells[*cell].right)
            .sum();
        let mut left = -width / 2.0;
        for cell in rank {
            xs[*cell] = left + net.cells[*cell].left;
            left = xs[*cell] + net.cells[*cell].right;
        }
    }
    xs
}

/// A group of cells that push each other, so that they move together.
struct Group {
    weight: f64,
    /// The sum of weights times wanted places.
    moment: f64,
    size: usize,
}

/// Moves the cells of a rank to the places with the least sum of squared distances to where they want to be.
fn settle(net: &Net, rank: &[usize], pulls: &[Vec<Pull>], xs: &mut [f64]) {
    let mut groups: Vec<Group> = Vec::new();
    // Without the widths of the cells to the left, the order says that no cell is left of the one before.
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(rank.len());
    for (place, cell) in rank.iter().enumerate() {
        if let Some(before) = place.checked_sub(1) {
            offset += net.cells[rank[before]].right + net.cells[*cell].left;
        }
        offsets.push(offset);
        let (weight, moment) = wanted(&pulls[*cell], xs, xs[*cell]);
        groups.push(Group {
            weight,
            moment: moment - weight * offset,
            size: 1,
        });
        while let [.., left, right] = &groups[..]
            && left.moment * right.weight > right.moment * left.weight
        {
            let merged = Group {
                weight: left.weight + right.weight,
                moment: left.moment + right.moment,
                size: left.size + right.size,
            };
            groups.truncate(groups.len() - 2);
            groups.push(merged);
        }
    }
    let mut place = 0;
    for group in groups {
        let at = group.moment / group.weight;
        for _ in 0..group.size {
            xs[rank[place]] = at + offsets[place];
            place += 1;
        }
    }
}

/// Returns the sum of the weights of pulls, and the sum of weights times wanted places. A cell that nothing pulls wants to
/// stay.
fn wanted(pulls: &[Pull], xs: &[f64], here: f64) -> (f64, f64) {
    if pulls.is_empty() {
        return (0.001, 0.001 * here);
    }
    pulls.iter().fold((0.0, 0.0), |(weight, moment), pull| {
        let wants = xs[pull.neighbour] + pull.distance;
        (weight + pull.weight, moment + pull.weight * wants)
    })
}
