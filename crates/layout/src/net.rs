//! The cells of a layout: one for each node, and one on every rank that an edge passes. Each link between two cells
//! connects neighbouring ranks.

use crate::acyclic::Link;
use crate::{Graph, Size};

/// The room on each side of a line.
const LINE: f64 = 7.0;
/// The room between a label and what is beside it, on each side.
const LABEL: f64 = 7.0;
/// The room between a node and what is beside it, on each side.
const NODE: f64 = 13.0;
/// The least distance between two ports of a node.
const PORT: f64 = 12.0;
/// The usual distance between two ports of a node.
const WIDE_PORT: f64 = 30.0;
/// How far an edge from a node to itself leaves the node.
pub(crate) const LOOP: f64 = 26.0;
/// The least height of the room of an edge from a node to itself.
const LOOP_HEIGHT: f64 = 22.0;

/// What a cell stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A node of the graph.
    Node,
    /// The label of an edge, which the edge passes.
    Label,
    /// An edge that passes.
    Line,
}

/// A place on a rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) kind: Kind,
    pub(crate) rank: usize,
    /// How far it reaches to the left of its middle.
    pub(crate) left: f64,
    /// How far it reaches to the right of its middle.
    pub(crate) right: f64,
    pub(crate) height: f64,
}

/// An edge as a chain of cells, from its upper node to its lower one.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    pub(crate) edge: usize,
    pub(crate) turned: bool,
    pub(crate) cells: Vec<usize>,
    /// How far its end at the upper node is from the middle of the node.
    pub(crate) upper_port: f64,
    /// The same at the lower node.
    pub(crate) lower_port: f64,
}

/// Two neighbouring cells of a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) upper: usize,
    pub(crate) lower: usize,
    /// How far right the lower cell is of the upper one if the segment is straight.
    pub(crate) distance: f64,
    /// Whether neither of the two is the node at an end of the chain.
    pub(crate) is_inner: bool,
    /// How many cells the chain has.
    pub(crate) length: usize,
}

impl Chain {
    /// Returns the segments of the chain, from its upper node on.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment> {
        let last = self.cells.len() - 1;
        let port = |is_end: bool, port: f64| if is_end { port } else { 0.0 };
        self.cells.windows(2).enumerate().map(move |(nth, pair)| {
            let from = port(nth == 0, self.upper_port);
            let to = port(nth + 1 == last, self.lower_port);
            Segment {
                upper: pair[0],
                lower: pair[1],
                distance: from - to,
                is_inner: nth > 0 && nth + 1 < last,
                length: self.cells.len(),
            }
        })
    }
}

/// All cells of a layout. The first cells are the nodes of the graph.
#[derive(Debug)]
pub(crate) struct Net {
    pub(crate) cells: Vec<Cell>,
    /// The sizes of the boxes of the nodes.
    pub(crate) boxes: Vec<Size>,
    /// The cells of each rank, from left to right.
    pub(crate) ranks: Vec<Vec<usize>>,
    pub(crate) chains: Vec<Chain>,
    /// The cells above each cell that are linked to it.
    pub(crate) above: Vec<Vec<usize>>,
    /// The cells below each cell that are linked to it.
    pub(crate) below: Vec<Vec<usize>>,
}

/// Returns how many cells the layout needs.
pub(crate) fn cells_needed(links: &[Link], ranks: &[usize]) -> usize {
    let lines = links
        .iter()
        .map(|link| ranks[link.lower] - ranks[link.upper] - 1);
    lines.fold(ranks.len(), usize::saturating_add)
}

impl Net {
    /// Makes the cells. The cells of a rank are in the order in which a walk from the start finds them.
    pub(crate) fn new(graph: &Graph, links: &[Link], ranks: &[usize]) -> Self {
        let boxes = boxes(graph, links);
        let mut cells: Vec<Cell> = boxes
            .iter()
            .zip(ranks)
            .map(|(size, rank)| Cell {
                kind: Kind::Node,
                rank: *rank,
                left: size.width / 2.0 + NODE,
                right: size.width / 2.0 + NODE,
                height: size.height,
            })
            .collect();
        for edge in graph.edges.iter().filter(|edge| edge.from == edge.to) {
            let label = edge.label.map_or(0.0, |label| label.width + LABEL);
            let right = boxes[edge.from].width / 2.0 + LOOP + label + NODE;
            cells[edge.from].right = cells[edge.from].right.max(right);
        }
        let chains = links
            .iter()
            .map(|link| chain(graph, link, &mut cells))
            .collect();
        let mut net = Self {
            ranks: Vec::new(),
            above: vec![Vec::new(); cells.len()],
            below: vec![Vec::new(); cells.len()],
            cells,
            boxes,
            chains,
        };
        for chain in &net.chains {
            for pair in chain.cells.windows(2) {
                net.below[pair[0]].push(pair[1]);
                net.above[pair[1]].push(pair[0]);
            }
        }
        net.ranks = net.walked(graph.start);
        net
    }

    /// Sorts the cells by rank. Within a rank, they are in the order of a walk that starts at the start.
    fn walked(&self, start: usize) -> Vec<Vec<usize>> {
        let last = self.cells.iter().map(|cell| cell.rank).max();
        let mut ranks = vec![Vec::new(); last.map_or(0, |last| last + 1)];
        let mut seen = vec![false; self.cells.len()];
        let is_root = |cell: &usize| self.above[*cell].is_empty();
        let roots = (0..self.cells.len()).filter(is_root);
        let first = Some(start).filter(|start| *start < self.cells.len());
        for root in first.into_iter().chain(roots) {
            let mut open = vec![root];
            while let Some(cell) = open.pop() {
                if std::mem::replace(&mut seen[cell], true) {
                    continue;
                }
                ranks[self.cells[cell].rank].push(cell);
                open.extend(self.below[cell].iter().rev());
            }
        }
        ranks
    }

    /// Gives every end of an edge a place of its own at its node, in the order in which the edges come.
    pub(crate) fn spread_ports(&mut self) {
        let places = self.places();
        let mut upper: Vec<Vec<usize>> = vec![Vec::new(); self.boxes.len()];
        let mut lower = upper.clone();
        for (index, chain) in self.chains.iter().enumerate() {
            if let [first, .., last] = chain.cells[..] {
                upper[first].push(index);
                lower[last].push(index);
            }
        }
        for (node, size) in self.boxes.iter().enumerate() {
            let at_bottom = &mut upper[node];
            at_bottom.sort_by_key(|chain| places[self.chains[*chain].cells[1]]);
            for (nth, chain) in at_bottom.iter().enumerate() {
                self.chains[*chain].upper_port = port(nth, at_bottom.len(), size.width);
            }
            let next_to_last = |chain: &Chain| chain.cells[chain.cells.len() - 2];
            let at_top = &mut lower[node];
            at_top.sort_by_key(|chain| places[next_to_last(&self.chains[*chain])]);
            for (nth, chain) in at_top.iter().enumerate() {
                self.chains[*chain].lower_port = port(nth, at_top.len(), size.width);
            }
        }
    }

    /// Returns the place of each cell in its rank.
    pub(crate) fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.cells.len()];
        for rank in &self.ranks {
            for (place, cell) in rank.iter().enumerate() {
                places[*cell] = place;
            }
        }
        places
    }
}

/// Returns the sizes of the nodes: large enough for the ports and for edges to themselves.
fn boxes(graph: &Graph, links: &[Link]) -> Vec<Size> {
    let mut at_bottom = vec![0_u32; graph.nodes.len()];
    let mut at_top = at_bottom.clone();
    for link in links {
        at_bottom[link.upper] += 1;
        at_top[link.lower] += 1;
    }
    let mut heights = vec![0.0; graph.nodes.len()];
    for edge in graph.edges.iter().filter(|edge| edge.from == edge.to) {
        heights[edge.from] += loop_height(edge.label);
    }
    let size = |(node, size): (usize, &Size)| Size {
        width: size
            .width
            .max(f64::from(at_bottom[node].max(at_top[node]) + 1) * PORT),
        height: size.height.max(heights[node]),
    };
    graph.nodes.iter().enumerate().map(size).collect()
}

/// Returns how much of the height of its node an edge from the node to itself needs.
pub(crate) fn loop_height(label: Option<Size>) -> f64 {
    label.map_or(LOOP_HEIGHT, |label| LOOP_HEIGHT.max(label.height + 4.0))
}

/// Adds the cells of an edge. Its label stands beside the node that the edge leaves, because the label says when it is left.
fn chain(graph: &Graph, link: &Link, cells: &mut Vec<Cell>) -> Chain {
    let (top, bottom) = (cells[link.upper].rank, cells[link.lower].rank);
    let label_rank = match link.turned {
        true => bottom - 1,
        false => top + 1,
    };
    let mut chain = vec![link.upper];
    for rank in top + 1..bottom {
        let label = graph.edges[link.edge].label;
        let cell = match label.filter(|_| rank == label_rank) {
            Some(label) => Cell {
                kind: Kind::Label,
                rank,
                left: label.width / 2.0 + LABEL,
                right: label.width / 2.0 + LABEL,
                height: label.height,
            },
            None => Cell {
                kind: Kind::Line,
                rank,
                left: LINE,
                right: LINE,
                height: 0.0,
            },
        };
        chain.push(cells.len());
        cells.push(cell);
    }
    chain.push(link.lower);
    Chain {
        edge: link.edge,
        turned: link.turned,
        cells: chain,
        upper_port: 0.0,
        lower_port: 0.0,
    }
}

/// Returns how far a port is from the middle of a side with so many ports.
fn port(nth: usize, count: usize, width: f64) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let distance = (width / (number(count) + 0.5)).min(WIDE_PORT);
    (number(nth) - (number(count) - 1.0) / 2.0) * distance
}
