//! Sorts the cells of each rank so that few edges cross.
//!
//! Each sweep goes through the ranks, down or up, and sorts the cells of a rank by the mean place of their neighbours on
//! the rank before. Then neighbours change places where this removes crossings. The order with the fewest crossings wins.

use crate::net::Net;

/// The most sweeps. Large graphs get fewer, see [`sweeps`].
const MOST_SWEEPS: usize = 24;
/// How many cells all sweeps from one end may look at.
const WORK: usize = 200_000;
/// How often neighbours change places within one sweep.
const MOST_ROUNDS: usize = 8;

/// Sorts the ranks of a net.
pub(crate) fn sort(net: &mut Net) {
    let mut best = (usize::MAX, net.ranks.clone());
    // Which end the first sweep begins at decides which of many good orders is found.
    for first in [Way::Down, Way::Up] {
        let mut order = Order {
            places: net.places(),
            ranks: net.ranks.clone(),
            net,
        };
        let mut way = first;
        for _ in 0..sweeps(net.cells.len()) {
            let crossings = order.crossings();
            if crossings < best.0 {
                best = (crossings, order.ranks.clone());
            }
            if best.0 == 0 {
                break;
            }
            order.sweep(way);
            order.exchange();
            way = way.other();
        }
    }
    net.ranks = best.1;
}

/// Returns how many sweeps a net of this size gets.
fn sweeps(cells: usize) -> usize {
    (WORK / cells.max(1)).clamp(3, MOST_SWEEPS)
}

/// The direction of a sweep.
#[derive(Clone, Copy)]
enum Way {
    Down,
    Up,
}

impl Way {
    fn other(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// An order that is being improved.
struct Order<'n> {
    net: &'n Net,
    ranks: Vec<Vec<usize>>,
    /// The place of each cell in its rank.
    places: Vec<usize>,
}

impl Order<'_> {
    fn sweep(&mut self, way: Way) {
        let count = self.ranks.len();
        for step in 1..count {
            match way {
                Way::Down => self.sort_rank(step, &self.net.above),
                Way::Up => self.sort_rank(count - 1 - step, &self.net.below),
            }
        }
    }

    /// Sorts a rank by the mean places of neighbours. A cell without neighbours keeps its place.
    fn sort_rank(&mut self, rank: usize, neighbours: &[Vec<usize>]) {
        let mut cells = std::mem::take(&mut self.ranks[rank]);
        let mean = |cell: usize| match &neighbours[cell][..] {
            [] => number(self.places[cell]),
            near => {
                let sum: usize = near.iter().map(|near| self.places[*near]).sum();
                number(sum) / number(near.len())
            }
        };
        let mut keyed: Vec<(f64, usize)> = cells.iter().map(|cell| (mean(*cell), *cell)).collect();
        keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
        cells.clear();
        cells.extend(keyed.into_iter().map(|(_, cell)| cell));
        self.set(rank, cells);
    }

    fn set(&mut self, rank: usize, cells: Vec<usize>) {
        for (place, cell) in cells.iter().enumerate() {
            self.places[*cell] = place;
        }
        self.ranks[rank] = cells;
    }

    /// Exchanges neighbours as long as this removes crossings.
    fn exchange(&mut self) {
        for _ in 0..MOST_ROUNDS {
            let mut is_better = false;
            for rank in 0..self.ranks.len() {
                is_better |= self.exchange_in(rank);
            }
            if !is_better {
                break;
            }
        }
    }

    fn exchange_in(&mut self, rank: usize) -> bool {
        let mut cells = std::mem::take(&mut self.ranks[rank]);
        let mut is_better = false;
        for place in 1..cells.len() {
            let (left, right) = (cells[place - 1], cells[place]);
            if self.crossings_of(right, left) < self.crossings_of(left, right) {
                cells.swap(place - 1, place);
                is_better = true;
            }
        }
        self.set(rank, cells);
        is_better
    }

    /// Counts the crossings between the links of two cells if the first stands left of the second.
    fn crossings_of(&self, left: usize, right: usize) -> usize {
        let crossings = |neighbours: &[Vec<usize>]| -> usize {
            let places = |cell: usize| neighbours[cell].iter().map(|near| self.places[*near]);
            let crossed = |place: usize| places(right).filter(|other| *other < place).count();
            places(left).map(crossed).sum()
        };
        crossings(&self.net.above) + crossings(&self.net.below)
    }

    /// Counts all crossings.
    fn crossings(&self) -> usize {
        let mut crossings = 0;
        for rank in &self.ranks {
            let mut ends = Vec::new();
            for cell in rank {
                let from = ends.len();
                ends.extend(
                    self.net.below[*cell]
                        .iter()
                        .map(|below| self.places[*below]),
                );
                ends[from..].sort_unstable();
            }
            crossings += inversions(&mut ends);
        }
        crossings
    }
}

/// Counts the pairs that are in the wrong order, and sorts the numbers.
fn inversions(numbers: &mut [usize]) -> usize {
    if numbers.len() < 2 {
        return 0;
    }
    let (left, right) = numbers.split_at_mut(numbers.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut passed = 0;
    for number in right.iter() {
        while passed < left.len() && left[passed] <= *number {
            merged.push(left[passed]);
            passed += 1;
        }
        count += left.len() - passed;
        merged.push(*number);
    }
    merged.extend_from_slice(&left[passed..]);
    numbers.copy_from_slice(&merged);
    count
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(&mut [1, 2, 3]), 0);
        assert_eq!(inversions(&mut [3, 2, 1]), 3);
        assert_eq!(inversions(&mut [1, 1, 0, 2]), 2);
        assert_eq!(inversions(&mut []), 0);
    }

    #[test]
    fn large_nets_get_fewer_sweeps() {
        assert_eq!(sweeps(0), MOST_SWEEPS);
        assert_eq!(sweeps(1_000), MOST_SWEEPS);
        assert_eq!(sweeps(20_000), 10);
        assert_eq!(sweeps(1_000_000), 3);
    }
}
