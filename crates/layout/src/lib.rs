//! Layered drawings of directed graphs. Nodes stand in ranks, edges run from top to bottom, and the edge that closes a loop
//! runs back up to the head of the loop.
//!
//! [`layout`] takes the sizes of nodes and labels and returns places, routes and label boxes. It knows neither texts nor
//! colours; [`svg`] draws both. Everything here is pure, and the same graph always has the same layout.
//!
//! The steps, each in a module of its own:
//! 1. `acyclic` turns the edges that close loops, so that every edge runs down.
//! 2. `rank` gives every node an even rank, as high as its edges allow.
//! 3. `net` puts a cell on every rank that an edge passes. One of them holds the label, so a label needs no place that
//!    something else could have.
//! 4. `order` sorts the cells of each rank so that few edges cross.
//! 5. `place` gives the cells their x, as near to their neighbours as the order allows, and `straighten` removes bends.
//! 6. `route` gives the ranks their y, and draws the edges through their cells.
//!
//! Within a rank an edge runs straight down through its own cell. It bends only between two ranks, where nothing else is.
//! Therefore no edge runs through a node or through a foreign label.

mod acyclic;
mod geometry;
mod net;
mod order;
mod place;
mod rank;
mod route;
mod straighten;
pub mod svg;

pub use geometry::{Point, Rect, Size};
pub use route::{Piece, Route};

use crate::net::Net;

/// The most cells that a layout may have. Its time and its memory grow with them.
const MOST_CELLS: usize = 60_000;

/// A directed graph. Edges name their nodes by their positions in the list of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// The sizes of the nodes.
    pub nodes: Vec<Size>,
    /// The edges. Loops, parallel edges and edges from a node to itself are allowed.
    pub edges: Vec<Edge>,
    /// The node that stands on top, if the graph has any nodes.
    pub start: usize,
}

/// One edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The node that it leaves.
    pub from: usize,
    /// The node that it leads to.
    pub to: usize,
    /// The size of its label, if it has one.
    pub label: Option<Size>,
}

/// The places of everything, in the order of the graph. The upper left corner is (0, 0).
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The size of the whole drawing.
    pub size: Size,
    /// The boxes of the nodes. A node with many edges gets a box that is larger than it asked for.
    pub nodes: Vec<Rect>,
    /// The routes of the edges.
    pub edges: Vec<Route>,
}

/// Why a graph has no layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutError {
    /// An edge or the start names a node that the graph does not have.
    NoNode(usize),
    /// The layout would need too much time: the graph has too many long edges.
    TooLarge,
}

impl std::fmt::Display for LayoutError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoNode(node) => write!(f, "the graph has no node {node}"),
            Self::TooLarge => f.write_str("the graph has too many long edges"),
        }
    }
}

impl std::error::Error for LayoutError {}

/// Returns the layout of a graph.
///
/// # Errors
/// When an edge names a node that does not exist, or the graph is too large.
pub fn layout(graph: &Graph) -> Result<Layout, LayoutError> {
    let count = graph.nodes.len();
    let ends = graph.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let start = (count > 0).then_some(graph.start);
    if let Some(unknown) = ends.chain(start).find(|node| *node >= count) {
        return Err(LayoutError::NoNode(unknown));
    }
    let links = acyclic::links(graph);
    let ranks = rank::ranks(count, graph.start, &links);
    if net::cells_needed(&links, &ranks) > MOST_CELLS {
        return Err(LayoutError::TooLarge);
    }
    let mut net = Net::new(graph, &links, &ranks);
    order::sort(&mut net);
    net.spread_ports();
    let places = place::places(&net);
    Ok(route::routes(graph, &net, &places))
}
