//! Removes bends. Cells that a straight piece of an edge connects are one block, and a block moves as a whole until one more
//! of its edges is straight, if nothing is in its way. So no bend is removed at the price of another.

use std::cmp::Reverse;

use crate::net::Net;

/// How far a block may be moved to remove a bend in the middle of an edge.
const FAR: f64 = 150.0;
/// How far a block may be moved to remove a bend at a node.
const NEAR: f64 = 40.0;
/// How many cells may be looked at. It limits the time for large graphs.
const WORK: usize = 2_000_000;
/// Two places that are nearer than this are one.
const SAME: f64 = 0.01;

/// A link between two cells of neighbouring ranks.
#[derive(Clone, Copy)]
struct Link {
    upper: usize,
    lower: usize,
    /// How far the lower cell is from the upper one if the link is straight.
    distance: f64,
    is_inner: bool,
    /// How many cells the edge has.
    length: usize,
}

/// Straightens as many links as there is room for.
pub(crate) fn straighten(net: &Net, xs: &mut [f64]) {
    let links = links(net);
    let mut blocks = Blocks {
        net,
        places: net.places(),
        block_of: (0..net.cells.len()).collect(),
        members: (0..net.cells.len()).map(|cell| vec![cell]).collect(),
        work: WORK,
    };
    for link in &links {
        if bend(link, xs).abs() < SAME {
            blocks.join(link);
        }
    }
    let mut bent: Vec<Link> = links;
    // The middles of long edges come first, because they are seen most, and then small moves, because they leave the most
    // room. A second round uses the room that the first one made.
    for _ in 0..2 {
        bent.retain(|link| bend(link, xs).abs() >= SAME);
        bent.sort_by(|one, other| {
            let longest = |link: &Link| Reverse(if link.is_inner { link.length } else { 0 });
            let size = |link: &Link| bend(link, xs).abs();
            let by_length = longest(one).cmp(&longest(other));
            by_length.then(size(one).total_cmp(&size(other)))
        });
        for link in &bent {
            blocks.straighten(link, xs);
        }
    }
}

fn links(net: &Net) -> Vec<Link> {
    let mut links = Vec::new();
    for chain in &net.chains {
        let last = chain.cells.len() - 1;
        for (nth, pair) in chain.cells.windows(2).enumerate() {
            let from = if nth == 0 { chain.upper_port } else { 0.0 };
            let to = if nth + 1 == last {
                chain.lower_port
            } else {
                0.0
            };
            links.push(Link {
                upper: pair[0],
                lower: pair[1],
                distance: from - to,
                is_inner: nth > 0 && nth + 1 < last,
                length: chain.cells.len(),
            });
        }
    }
    links
}

/// Returns how far the lower cell of a link is right of where the link would be straight.
fn bend(link: &Link, xs: &[f64]) -> f64 {
    xs[link.lower] - xs[link.upper] - link.distance
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
    /// Moves the smaller block of a link, or else the larger one, so that the link is straight.
    fn straighten(&mut self, link: &Link, xs: &mut [f64]) {
        let by = bend(link, xs);
        let (upper, lower) = (self.block_of[link.upper], self.block_of[link.lower]);
        let most = if link.is_inner { FAR } else { NEAR };
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
                self.join(link);
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

    /// Makes one block of the two blocks of a link.
    fn join(&mut self, link: &Link) {
        let (mut from, mut to) = (self.block_of[link.upper], self.block_of[link.lower]);
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
