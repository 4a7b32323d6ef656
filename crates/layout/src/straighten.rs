//! Removes bends. Cells that a straight piece of an edge connects are one block, and a block moves as a whole until one more
//! of its edges is straight, if nothing is in its way. So no bend is removed at the price of another.

use std::cmp::Reverse;

use crate::net::{Chain, Net, Segment};

/// How far a block may be moved to remove a bend in the middle of an edge.
const FAR: f64 = 150.0;
/// How far a block may be moved to remove a bend at a node.
const NEAR: f64 = 40.0;
/// How many cells may be looked at. It limits the time for large graphs.
const WORK: usize = 2_000_000;
/// Two places that are nearer than this are one.
const SAME: f64 = 0.01;

/// Straightens as many segments as there is room for.
pub(crate) fn straighten(net: &Net, xs: &mut [f64]) {
    let segments: Vec<Segment> = net.chains.iter().flat_map(Chain::segments).collect();
    let mut blocks = Blocks {
        net,
        places: net.places(),
        block_of: (0..net.cells.len()).collect(),
        members: (0..net.cells.len()).map(|cell| vec![cell]).collect(),
        work: WORK,
    };
    for segment in &segments {
        if bend(segment, xs).abs() < SAME {
            blocks.join(segment);
        }
    }
    let mut bent = segments;
    // The middles of long edges come first, because they are seen most, and then small moves, because they leave the most
    // room. A second round uses the room that the first one made.
    for _ in 0..2 {
        bent.retain(|segment| bend(segment, xs).abs() >= SAME);
        bent.sort_by(|one, other| {
            let longest =
                |segment: &Segment| Reverse(if segment.is_inner { segment.length } else { 0 });
            let size = |segment: &Segment| bend(segment, xs).abs();
            let by_length = longest(one).cmp(&longest(other));
            by_length.then(size(one).total_cmp(&size(other)))
        });
        for segment in &bent {
            blocks.straighten(segment, xs);
        }
    }
}

/// Returns how far the lower cell of a segment is right of where the segment would be straight.
fn bend(segment: &Segment, xs: &[f64]) -> f64 {
    xs[segment.lower] - xs[segment.upper] - segment.distance
}

/// The blocks of cells.
struct Blocks<'n> {
    net: &'n Net,
    places: Vec<usize>,
    block_of: Vec<usize>,
    members: Vec<Vec<usize>>,
    /// How many more cells may be looked at.
    work: usize,
}

impl Blocks<'_> {
    /// Moves the smaller block of a segment, or else the larger one, so that the segment is straight.
    fn straighten(&mut self, segment: &Segment, xs: &mut [f64]) {
        let by = bend(segment, xs);
        let (upper, lower) = (self.block_of[segment.upper], self.block_of[segment.lower]);
        let most = if segment.is_inner { FAR } else { NEAR };
        if upper == lower || by.abs() > most {
            return;
        }
        let mut moves = [(lower, -by), (upper, by)];
        moves.sort_by_key(|(block, _)| self.members[*block].len());
        for (block, by) in moves {
            if self.has_room(block, by, xs) {
                for cell in &self.members[block] {
                    xs[*cell] += by;
                }
                self.join(segment);
                return;
            }
        }
    }

    /// Tells whether a block can be moved without touching a cell beside it.
    fn has_room(&mut self, block: usize, by: f64, xs: &[f64]) -> bool {
        let size = self.members[block].len();
        if self.work < size {
            return false;
        }
        self.work -= size;
        self.members[block].iter().all(|cell| {
            let own = self.net.cells[*cell];
            let rank = &self.net.ranks[own.rank];
            let place = self.places[*cell];
            let beside = match by < 0.0 {
                true => place.checked_sub(1).map(|place| rank[place]),
                false => rank.get(place + 1).copied(),
            };
            let Some(beside) = beside.filter(|beside| self.block_of[*beside] != block) else {
                return true;
            };
            let other = self.net.cells[beside];
            let least = match by < 0.0 {
                true => other.right + own.left,
                false => own.right + other.left,
            };
            (xs[*cell] + by - xs[beside]).abs() + SAME >= least
                && (xs[*cell] + by < xs[beside]) == (xs[*cell] < xs[beside])
        })
    }

    /// Makes one block of the two blocks of a segment.
    fn join(&mut self, segment: &Segment) {
        let (mut from, mut to) = (self.block_of[segment.upper], self.block_of[segment.lower]);
        if from == to {
            return;
        }
        if self.members[from].len() > self.members[to].len() {
            std::mem::swap(&mut from, &mut to);
        }
        let moved = std::mem::take(&mut self.members[from]);
        for cell in &moved {
            self.block_of[*cell] = to;
        }
        self.members[to].extend(moved);
    }
}
