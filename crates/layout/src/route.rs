//! Gives the ranks their y, and draws the edges through their cells.

use crate::geometry::{Point, Rect, Size};
use crate::net::{Chain, Kind, LOOP, Net, loop_height};
use crate::{Graph, Layout};

/// The room around the drawing.
const MARGIN: f64 = 12.0;
/// The straight end of an edge at the node that it leads to, so that its arrow stands upright.
const STUB: f64 = 9.0;
/// The least height between two ranks, beside the straight ends.
const GAP: f64 = 13.0;
/// The most that edges that run far to the side add to that height.
const MORE_GAP: f64 = 34.0;
/// How far an edge runs to the side for each unit that it adds.
const SLOPE: f64 = 9.0;

/// How an edge runs, and where its label is.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Where it leaves its node.
    pub start: Point,
    /// Its pieces. The last one ends at the node that it leads to.
    pub pieces: Vec<Piece>,
    /// The box of the label, if the edge has one. A label in the line is in a [`Piece::Gap`].
    pub label: Option<Rect>,
}

/// A piece of a route, from the end of the piece before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Piece {
    /// A straight line to a point.
    Line(Point),
    /// A cubic curve: two control points and the end.
    Curve(Point, Point, Point),
    /// Nothing is drawn up to this point: the label is here.
    Gap(Point),
}

impl Piece {
    /// Returns the point where it ends.
    #[must_use]
    pub fn end(&self) -> Point {
        match self {
            Self::Line(end) | Self::Curve(_, _, end) | Self::Gap(end) => *end,
        }
    }

    /// Returns the same piece from its end to its start.
    fn turned(self, start: Point) -> Self {
        match self {
            Self::Line(_) => Self::Line(start),
            Self::Curve(one, two, _) => Self::Curve(two, one, start),
            Self::Gap(_) => Self::Gap(start),
        }
    }

    fn shifted(self, by: Point) -> Self {
        match self {
            Self::Line(end) => Self::Line(plus(end, by)),
            Self::Curve(one, two, end) => Self::Curve(plus(one, by), plus(two, by), plus(end, by)),
            Self::Gap(end) => Self::Gap(plus(end, by)),
        }
    }
}

/// The upper and the lower edge of a rank.
#[derive(Clone, Copy)]
struct Band {
    top: f64,
    bottom: f64,
}

/// Returns the layout of a net whose cells have these x.
pub(crate) fn routes(graph: &Graph, net: &Net, xs: &[f64]) -> Layout {
    let bands = bands(net, xs);
    let nodes: Vec<Rect> = net
        .boxes
        .iter()
        .enumerate()
        .map(|(node, size)| {
            let band = bands[net.cells[node].rank];
            let center = Point {
                x: xs[node],
                y: (band.top + band.bottom) / 2.0,
            };
            Rect::around(center, *size)
        })
        .collect();
    let nowhere = Route {
        start: Point::default(),
        pieces: Vec::new(),
        label: None,
    };
    let mut edges = vec![nowhere; graph.edges.len()];
    for chain in &net.chains {
        edges[chain.edge] = Pen::draw(graph, net, chain, xs, &bands, &nodes);
    }
    draw_loops(graph, &nodes, &mut edges);
    let mut layout = Layout {
        size: Size::default(),
        nodes,
        edges,
    };
    frame(&mut layout);
    layout
}

/// Returns the ranks from top to bottom. Two ranks are further apart if an edge between them runs far to the side.
fn bands(net: &Net, xs: &[f64]) -> Vec<Band> {
    let mut widest = vec![0.0_f64; net.ranks.len()];
    for chain in &net.chains {
        let last = chain.cells.len() - 1;
        for (nth, pair) in chain.cells.windows(2).enumerate() {
            let from = xs[pair[0]] + if nth == 0 { chain.upper_port } else { 0.0 };
            let to = xs[pair[1]]
                + if nth + 1 == last {
                    chain.lower_port
                } else {
                    0.0
                };
            let gap = &mut widest[net.cells[pair[0]].rank];
            *gap = gap.max((from - to).abs());
        }
    }
    let mut top = 0.0;
    let mut bands = Vec::with_capacity(net.ranks.len());
    for (rank, widest) in net.ranks.iter().zip(widest) {
        let heights = rank.iter().map(|cell| net.cells[*cell].height);
        let bottom = top + heights.fold(0.0, f64::max);
        bands.push(Band { top, bottom });
        top = (bottom + STUB + GAP + (widest / SLOPE).min(MORE_GAP)).round();
    }
    bands
}

/// Draws one edge from its upper node to its lower one.
struct Pen {
    start: Point,
    at: Point,
    pieces: Vec<Piece>,
    label: Option<Rect>,
}

impl Pen {
    fn draw(
        graph: &Graph,
        net: &Net,
        chain: &Chain,
        xs: &[f64],
        bands: &[Band],
        nodes: &[Rect],
    ) -> Route {
        let (first, last) = (chain.cells[0], chain.cells[chain.cells.len() - 1]);
        let start = Point {
            x: xs[first] + chain.upper_port,
            y: nodes[first].bottom(),
        };
        let mut pen = Self {
            start,
            at: start,
            pieces: Vec::new(),
            label: None,
        };
        let (at_start, at_end) = if chain.turned {
            (STUB, 0.0)
        } else {
            (0.0, STUB)
        };
        pen.down(bands[net.cells[first].rank].bottom + at_start);
        for cell in &chain.cells[1..chain.cells.len() - 1] {
            let band = bands[net.cells[*cell].rank];
            pen.over(xs[*cell], band.top);
            match (net.cells[*cell].kind, graph.edges[chain.edge].label) {
                (Kind::Label, Some(size)) => pen.past_label(size, band),
                (Kind::Label | Kind::Line | Kind::Node, _) => {}
            }
            pen.down(band.bottom);
        }
        let band = bands[net.cells[last].rank];
        pen.over(xs[last] + chain.lower_port, band.top - at_end);
        pen.down(nodes[last].y);
        let route = Route {
            start: pen.start,
            pieces: pen.pieces,
            label: pen.label,
        };
        if chain.turned { turned(&route) } else { route }
    }

    /// Draws straight down, if there is anything to draw. A line that goes on is one piece.
    fn down(&mut self, y: f64) {
        if y <= self.at.y {
            return;
        }
        self.at.y = y;
        match self.pieces.last_mut() {
            Some(Piece::Line(end)) => *end = self.at,
            Some(Piece::Curve(..) | Piece::Gap(_)) | None => self.pieces.push(Piece::Line(self.at)),
        }
    }

    /// Draws down to another x. The curve leaves and arrives upright.
    fn over(&mut self, x: f64, y: f64) {
        if (x - self.at.x).abs() < 0.5 {
            return self.down(y);
        }
        let middle = (self.at.y + y) / 2.0;
        let control = |x| Point { x, y: middle };
        let end = Point { x, y };
        self.pieces
            .push(Piece::Curve(control(self.at.x), control(x), end));
        self.at = end;
    }

    /// Leaves room for the label in the middle of its rank.
    fn past_label(&mut self, size: Size, band: Band) {
        let center = Point {
            x: self.at.x,
            y: (band.top + band.bottom) / 2.0,
        };
        let label = Rect::around(center, size);
        self.down(label.y);
        self.at.y = label.bottom();
        self.pieces.push(Piece::Gap(self.at));
        self.label = Some(label);
    }
}

/// Returns the same route from its end to its start.
fn turned(route: &Route) -> Route {
    let mut points = vec![route.start];
    points.extend(route.pieces.iter().map(Piece::end));
    let pieces = route.pieces.iter().zip(&points).rev();
    Route {
        start: points[points.len() - 1],
        pieces: pieces.map(|(piece, from)| piece.turned(*from)).collect(),
        label: route.label,
    }
}

/// Draws the edges from a node to itself on its right side, one below the other, with their labels beside them.
fn draw_loops(graph: &Graph, nodes: &[Rect], edges: &mut [Route]) {
    let is_loop = |index: &usize| graph.edges[*index].from == graph.edges[*index].to;
    let mut needed = vec![0.0; nodes.len()];
    let loops: Vec<usize> = (0..graph.edges.len()).filter(is_loop).collect();
    for index in &loops {
        needed[graph.edges[*index].from] += loop_height(graph.edges[*index].label);
    }
    let mut used = vec![0.0; nodes.len()];
    for index in loops {
        let edge = graph.edges[index];
        let (node, height) = (nodes[edge.from], loop_height(edge.label));
        let from_top = (node.height - needed[edge.from]) / 2.0 + used[edge.from] + height / 2.0;
        used[edge.from] += height;
        let point = |x: f64, y: f64| Point {
            x: node.right() + x,
            y: node.y + from_top + y,
        };
        let out = LOOP * 1.2;
        edges[index] = Route {
            start: point(0.0, -6.0),
            pieces: vec![
                Piece::Curve(point(out, -13.0), point(out, 13.0), point(STUB, 6.0)),
                Piece::Line(point(0.0, 6.0)),
            ],
            label: edge.label.map(|size| {
                let left = point(LOOP, -size.height / 2.0);
                Rect {
                    x: left.x,
                    y: left.y,
                    width: size.width,
                    height: size.height,
                }
            }),
        };
    }
}

/// Moves the drawing so that it begins at (0, 0) with a margin around it, and sets its size.
fn frame(layout: &mut Layout) {
    let boxes = layout.nodes.iter().copied();
    let labels = layout.edges.iter().filter_map(|edge| edge.label);
    // A curve stays between its ends and its control points.
    let points = layout.edges.iter().flat_map(|edge| {
        let of_piece = |piece: &Piece| match piece {
            Piece::Line(end) | Piece::Gap(end) => vec![*end],
            Piece::Curve(one, two, end) => vec![*one, *two, *end],
        };
        edge.pieces.iter().flat_map(of_piece).chain([edge.start])
    });
    let corners = boxes.chain(labels).flat_map(|one| {
        let end = Point {
            x: one.right(),
            y: one.bottom(),
        };
        [Point { x: one.x, y: one.y }, end]
    });
    let everything: Vec<Point> = corners.chain(points).collect();
    if everything.is_empty() {
        return;
    }
    let least = |of: fn(&Point) -> f64| everything.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Point) -> f64| everything.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let by = Point {
        x: (MARGIN - least(|point| point.x)).ceil(),
        y: (MARGIN - least(|point| point.y)).ceil(),
    };
    layout.size = Size {
        width: (most(|point| point.x) + by.x + MARGIN).ceil(),
        height: (most(|point| point.y) + by.y + MARGIN).ceil(),
    };
    for node in &mut layout.nodes {
        *node = moved(*node, by);
    }
    for edge in &mut layout.edges {
        edge.start = plus(edge.start, by);
        edge.label = edge.label.map(|label| moved(label, by));
        for piece in &mut edge.pieces {
            *piece = piece.shifted(by);
        }
    }
}

fn moved(rect: Rect, by: Point) -> Rect {
    Rect {
        x: rect.x + by.x,
        y: rect.y + by.y,
        ..rect
    }
}

fn plus(point: Point, by: Point) -> Point {
    Point {
        x: point.x + by.x,
        y: point.y + by.y,
    }
}
