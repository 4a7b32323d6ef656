//! The sizes of nodes, and the places of the graphs inside of them. The innermost graphs are laid out first: a node is as
//! large as what is in it.

use super::{
    LABEL_FONT, LABEL_HEIGHT, MARK, NODE_FONT, NODE_HEIGHT, NODE_PADDING, NODE_WIDTH, Panel,
    PictureEdge, PictureNode, mark, text_width,
};
use crate::{Edge, Graph, Layout, LayoutError, Rect, Size, layout};

/// The room between panels, and between them and their node.
const ROOM: f64 = 10.0;
/// The height of the line with the text of a panel.
pub(super) const HEADING: f64 = 22.0;

/// The places of a graph, and of the panels in its nodes.
pub(super) struct Placed {
    pub(super) layout: Layout,
    /// The panels of each node.
    pub(super) panels: Vec<Vec<PlacedPanel>>,
}

/// A panel at its place.
pub(super) struct PlacedPanel {
    pub(super) place: Rect,
    pub(super) inside: Placed,
}

/// Lays out a graph with everything inside of its nodes.
pub(super) fn place(
    nodes: &[PictureNode],
    edges: &[PictureEdge],
    start: usize,
) -> Result<Placed, LayoutError> {
    let mut inside = Vec::new();
    for node in nodes {
        let panels = node.panels.iter().map(placed_panel);
        inside.push(panels.collect::<Result<Vec<_>, _>>()?);
    }
    let sizes = nodes.iter().zip(&inside);
    let graph = Graph {
        nodes: sizes.map(|(node, panels)| size_of(node, panels)).collect(),
        edges: edges.iter().map(edge_of).collect(),
        start,
    };
    let layout = layout(&graph)?;
    for (panels, node) in inside.iter_mut().zip(&layout.nodes) {
        put_into(panels, *node);
    }
    Ok(Placed {
        layout,
        panels: inside,
    })
}

/// Lays out a panel. Its place in the node is not known yet.
fn placed_panel(panel: &Panel) -> Result<PlacedPanel, LayoutError> {
    let inside = place(&panel.nodes, &panel.edges, panel.start)?;
    let heading = text_width(&panel.text, LABEL_FONT) + 2.0 * ROOM;
    let size = inside.layout.size;
    Ok(PlacedPanel {
        place: Rect {
            width: size.width.max(heading).ceil(),
            height: size.height + HEADING,
            ..Rect::default()
        },
        inside,
    })
}

/// Puts panels side by side below the text of their node.
fn put_into(panels: &mut [PlacedPanel], node: Rect) {
    let mut x = node.x + (node.width - width_of(panels)) / 2.0;
    for panel in panels {
        panel.place.x = x;
        panel.place.y = node.y + NODE_HEIGHT;
        x = panel.place.right() + ROOM;
    }
}

fn width_of(panels: &[PlacedPanel]) -> f64 {
    let widths: f64 = panels.iter().map(|panel| panel.place.width + ROOM).sum();
    (widths - ROOM).max(0.0)
}

fn size_of(node: &PictureNode, panels: &[PlacedPanel]) -> Size {
    let mark = if mark(node.look).is_some() { MARK } else { 0.0 };
    let own = (text_width(&node.text, NODE_FONT) + 2.0 * NODE_PADDING + mark)
        .max(NODE_WIDTH)
        .ceil();
    if panels.is_empty() {
        return Size {
            width: own,
            height: NODE_HEIGHT,
        };
    }
    let heights = panels.iter().map(|panel| panel.place.height);
    Size {
        width: own.max(width_of(panels) + 2.0 * ROOM),
        height: NODE_HEIGHT + heights.fold(0.0, f64::max) + ROOM,
    }
}

fn edge_of(edge: &PictureEdge) -> Edge {
    let width = text_width(&edge.text, LABEL_FONT).ceil() + 6.0;
    let height = LABEL_HEIGHT;
    Edge {
        from: edge.from,
        to: edge.to,
        label: (!edge.text.is_empty()).then_some(Size { width, height }),
    }
}
