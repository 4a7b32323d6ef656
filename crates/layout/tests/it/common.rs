//! Graphs for tests, and what must hold for every layout.

use uwf_layout::{Edge, Graph, Layout, Piece, Point, Rect, Size};

/// Returns a graph of equal nodes and edges with labels of this width; a label of width 0 is none.
pub(crate) fn graph(nodes: usize, edges: &[(usize, usize, u16)]) -> Graph {
    let edge = |(from, to, width): &(usize, usize, u16)| Edge {
        from: *from,
        to: *to,
        label: (*width > 0).then_some(Size {
            width: f64::from(*width),
            height: 16.0,
        }),
    };
    Graph {
        nodes: vec![
            Size {
                width: 80.0,
                height: 32.0
            };
            nodes
        ],
        edges: edges.iter().map(edge).collect(),
        start: 0,
    }
}

/// Returns a line of text for each mistake in a layout.
pub(crate) fn mistakes(graph: &Graph, layout: &Layout) -> Vec<String> {
    let mut mistakes = Vec::new();
    let nodes = layout.nodes.iter().enumerate();
    let mut boxes: Vec<(String, Rect)> = nodes
        .map(|(node, place)| (format!("node {node}"), *place))
        .collect();
    for (index, route) in layout.edges.iter().enumerate() {
        if route.label.is_some() != graph.edges[index].label.is_some() {
            mistakes.push(format!("edge {index} has lost its label"));
        }
        boxes.extend(route.label.map(|label| (format!("label {index}"), label)));
        mistakes.extend(loose_ends(graph, layout, index));
    }
    for (at, (name, one)) in boxes.iter().enumerate() {
        let inside = one.x >= 0.0
            && one.y >= 0.0
            && one.right() <= layout.size.width
            && one.bottom() <= layout.size.height;
        if !inside {
            mistakes.push(format!("{name} leaves the drawing"));
        }
        for (other_name, other) in &boxes[at + 1..] {
            if overlap(one, other) {
                mistakes.push(format!("{name} overlaps {other_name}"));
            }
        }
    }
    for (index, route) in layout.edges.iter().enumerate() {
        let own = format!("label {index}");
        for point in points(route.start, &route.pieces) {
            let hit = boxes
                .iter()
                .find(|(name, one)| *name != own && inside(one, point));
            if let Some((name, _)) = hit {
                mistakes.push(format!("edge {index} runs through {name}"));
                break;
            }
        }
    }
    mistakes
}

/// Returns what is wrong with the ends of an edge: it leaves one node and arrives at the other.
fn loose_ends(graph: &Graph, layout: &Layout, index: usize) -> Vec<String> {
    let (edge, route) = (&graph.edges[index], &layout.edges[index]);
    let end = route.pieces.last().map_or(route.start, Piece::end);
    let mut mistakes = Vec::new();
    if !touches(&layout.nodes[edge.from], route.start) {
        mistakes.push(format!("edge {index} does not leave its node"));
    }
    if !touches(&layout.nodes[edge.to], end) {
        mistakes.push(format!("edge {index} does not reach its node"));
    }
    mistakes
}

fn touches(node: &Rect, point: Point) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() < 0.01;
    let in_x = point.x >= node.x - 0.01 && point.x <= node.right() + 0.01;
    let in_y = point.y >= node.y - 0.01 && point.y <= node.bottom() + 0.01;
    let on_x = near(point.x, node.x) || near(point.x, node.right());
    let on_y = near(point.y, node.y) || near(point.y, node.bottom());
    in_x && in_y && (on_x || on_y)
}

fn overlap(one: &Rect, other: &Rect) -> bool {
    one.x < other.right()
        && other.x < one.right()
        && one.y < other.bottom()
        && other.y < one.bottom()
}

fn inside(one: &Rect, point: Point) -> bool {
    point.x > one.x + 0.01
        && point.x < one.right() - 0.01
        && point.y > one.y + 0.01
        && point.y < one.bottom() - 0.01
}

/// Returns points along a route.
fn points(start: Point, pieces: &[Piece]) -> Vec<Point> {
    let mut points = vec![start];
    let mut at = start;
    for piece in pieces {
        if !matches!(piece, Piece::Gap(_)) {
            points.extend((1..=16).map(|nth| on(at, piece, f64::from(nth) / 16.0)));
        }
        at = piece.end();
    }
    points
}

fn on(from: Point, piece: &Piece, at: f64) -> Point {
    let rest = 1.0 - at;
    match *piece {
        Piece::Line(to) | Piece::Gap(to) => Point {
            x: from.x * rest + to.x * at,
            y: from.y * rest + to.y * at,
        },
        Piece::Curve(one, two, to) => {
            let mix = |a: f64, b: f64, c: f64, d: f64| {
                a * rest.powi(3)
                    + 3.0 * b * rest.powi(2) * at
                    + 3.0 * c * rest * at.powi(2)
                    + d * at.powi(3)
            };
            Point {
                x: mix(from.x, one.x, two.x, to.x),
                y: mix(from.y, one.y, two.y, to.y),
            }
        }
    }
}
