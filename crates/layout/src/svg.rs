//! Draws a graph as SVG: texts, looks and marks on the places of a [`Layout`](crate::Layout).
//!
//! The drawing is self-contained. It has no scripts and no ids, and no references but the links of its nodes, so several of
//! them may stand in one page. Every text is escaped. No look differs by its colour alone.

mod measure;
mod nest;
mod xml;

use std::fmt::Write;

use crate::svg::measure::text_width;
use crate::svg::nest::{HEADING, Placed, PlacedPanel, place};
use crate::svg::xml::{escaped, number};
use crate::{LayoutError, Piece, Point, Rect, Route, Size};

/// The rules for the classes of a drawing, for light and for dark pages.
pub const STYLE_SHEET: &str = include_str!("svg/style.css");

/// The size of the texts in nodes.
const NODE_FONT: f64 = 13.0;
/// The size of the texts on edges.
const LABEL_FONT: f64 = 11.5;
/// The size of the caption.
const CAPTION_FONT: f64 = 12.0;
/// The height of a line of the caption.
const CAPTION_LINE: f64 = 18.0;
/// The room around the caption.
const CAPTION_MARGIN: f64 = 12.0;
/// The height of a node.
const NODE_HEIGHT: f64 = 32.0;
/// The room beside the text of a node.
const NODE_PADDING: f64 = 14.0;
/// The least width of a node.
const NODE_WIDTH: f64 = 64.0;
/// The height of a label.
const LABEL_HEIGHT: f64 = 16.0;
/// The width of a mark in a node.
const MARK: f64 = 16.0;
/// The length of an arrow.
const ARROW: f64 = 8.0;
/// Half the width of an arrow.
const ARROW_SIDE: f64 = 3.8;
/// Half the height of a badge.
const BADGE: f64 = 8.5;

/// A graph in a page that is wider than this has the class `broad`: its texts would be tiny if it were made to fit.
const BROAD: f64 = 720.0;

/// A graph with its texts and looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// What the picture shows, for people who do not see it.
    pub title: String,
    /// The same in more words.
    pub description: String,
    /// Lines above the graph.
    pub caption: Vec<String>,
    /// The nodes.
    pub nodes: Vec<PictureNode>,
    /// The edges.
    pub edges: Vec<PictureEdge>,
    /// The node that stands on top.
    pub start: usize,
}

/// A node of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureNode {
    /// The text in it.
    pub text: String,
    /// What the text is short for, or says more about it; shown when somebody points at it.
    pub tooltip: String,
    /// Its shape.
    pub shape: Shape,
    /// Its look.
    pub look: Look,
    /// A short text at its corner.
    pub badge: Option<String>,
    /// Where it leads, if it is a link.
    pub link: Option<Link>,
    /// Graphs that are drawn inside of it, side by side.
    pub panels: Vec<Panel>,
}

/// A link around a node. The badge of the node is outside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The address.
    pub target: String,
    /// What it is called, for people who do not see it. It begins with the text of the node.
    pub name: String,
}

/// A graph inside of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The text above it.
    pub text: String,
    /// The nodes.
    pub nodes: Vec<PictureNode>,
    /// The edges.
    pub edges: Vec<PictureEdge>,
    /// The node that stands on top.
    pub start: usize,
}

/// An edge of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureEdge {
    /// The node that it leaves.
    pub from: usize,
    /// The node that it leads to.
    pub to: usize,
    /// Its label; may be empty.
    pub text: String,
    /// What the label is short for, or says more about it.
    pub tooltip: String,
    /// How the line is drawn.
    pub stroke: Stroke,
}

/// The shape of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A box with round corners.
    Box,
    /// A box with half circles as sides.
    Pill,
}

/// The look of a node. All but the first two have a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing happened there.
    Plain,
    /// It was visited: a bold outline.
    Visited,
    /// It is next: an arrow.
    Current,
    /// It waits: two bars.
    Waiting,
    /// It failed: an exclamation mark.
    Failed,
}

/// How the line of an edge is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Thin.
    Plain,
    /// Bold.
    Taken,
}

/// Where the rules for the classes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sheet {
    /// In the drawing, which also has a background.
    Inside,
    /// In the page around it.
    OfPage,
}

/// Draws a picture as one SVG element.
///
/// # Errors
/// When an edge names a node that does not exist, or the graph is too large.
pub fn draw(picture: &Picture, sheet: Sheet) -> Result<String, LayoutError> {
    let placed = place(&picture.nodes, &picture.edges, picture.start)?;
    Ok(Writer::write(picture, &placed, sheet))
}

/// Writes the elements of a drawing.
struct Writer {
    out: String,
    /// The height of the caption.
    top: f64,
}

impl Writer {
    fn write(picture: &Picture, placed: &Placed, sheet: Sheet) -> String {
        let layout = &placed.layout;
        let lines = picture.caption.iter();
        let widths = lines.map(|line| text_width(line, CAPTION_FONT) + 2.0 * CAPTION_MARGIN);
        let width = widths.fold(layout.size.width, f64::max).ceil();
        let count = f64::from(u32::try_from(picture.caption.len()).unwrap_or(u32::MAX));
        let top = match picture.caption.is_empty() {
            true => 0.0,
            false => count * CAPTION_LINE + CAPTION_MARGIN,
        };
        let mut writer = Self {
            out: String::new(),
            top,
        };
        let left = ((width - layout.size.width) / 2.0).floor();
        writer.open(picture, width, layout.size.height + top, sheet);
        for (nth, line) in (0_u32..).zip(&picture.caption) {
            let y = CAPTION_MARGIN + (f64::from(nth) + 0.7) * CAPTION_LINE;
            let class = if nth == 0 { "caption first" } else { "caption" };
            writer.text(class, CAPTION_MARGIN, y, line);
        }
        let offset = writer.top;
        writer.line(format_args!(
            r#"<g transform="translate({} {})">"#,
            number(left),
            number(offset)
        ));
        writer.graph(&picture.nodes, &picture.edges, placed);
        writer.out.push_str("</g>\n</svg>\n");
        writer.out
    }

    fn open(&mut self, picture: &Picture, width: f64, height: f64, sheet: Sheet) {
        let is_broad = width > BROAD;
        let (width, height) = (number(width), number(height));
        // Readers skip what is in an image, also its links.
        let role = match picture.nodes.iter().any(|node| node.link.is_some()) {
            true => "group",
            false => "img",
        };
        let class = match sheet {
            Sheet::OfPage if is_broad => "graph broad",
            Sheet::OfPage | Sheet::Inside => "graph",
        };
        self.line(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="{class}" role="{role}" width="{width}" height="{height}" viewBox="0 0 {width} {height}">"#
        ));
        self.line(format_args!("<title>{}</title>", escaped(&picture.title)));
        let description = escaped(&picture.description);
        self.line(format_args!("<desc>{description}</desc>"));
        match sheet {
            Sheet::Inside => {
                self.line(format_args!("<style>\n{STYLE_SHEET}</style>"));
                self.line(format_args!(
                    r#"<rect class="paper" width="{width}" height="{height}"/>"#
                ));
            }
            Sheet::OfPage => {}
        }
    }

    /// Draws a graph. Lines come first, so that nothing is drawn over a text. Bold lines come last among them.
    fn graph(&mut self, nodes: &[PictureNode], edges: &[PictureEdge], placed: &Placed) {
        for stroke in [Stroke::Plain, Stroke::Taken] {
            for (edge, route) in edges.iter().zip(&placed.layout.edges) {
                if edge.stroke == stroke {
                    self.edge(edge, route);
                }
            }
        }
        let places = placed.layout.nodes.iter().zip(&placed.panels);
        for (node, (place, panels)) in nodes.iter().zip(places) {
            self.node(node, *place);
            for (panel, placed) in node.panels.iter().zip(panels) {
                self.panel(panel, placed);
            }
        }
    }

    /// Draws a graph inside of a node. It is no part of the element of the node, and so has not the look of the node.
    fn panel(&mut self, panel: &Panel, placed: &PlacedPanel) {
        let PlacedPanel { place, inside } = placed;
        self.out.push_str("<g class=\"panel\">\n");
        self.rect("frame", *place, 5.0);
        let baseline = place.y + HEADING / 2.0 + 0.35 * LABEL_FONT;
        self.text("heading", place.center().x, baseline, &panel.text);
        let left = place.center().x - inside.layout.size.width / 2.0;
        self.line(format_args!(
            r#"<g transform="translate({} {})">"#,
            number(left),
            number(place.y + HEADING)
        ));
        self.graph(&panel.nodes, &panel.edges, inside);
        self.out.push_str("</g>\n</g>\n");
    }

    fn edge(&mut self, edge: &PictureEdge, route: &Route) {
        let class = match edge.stroke {
            Stroke::Plain => "edge",
            Stroke::Taken => "edge taken",
        };
        self.line(format_args!(r#"<g class="{class}">"#));
        self.tooltip(&edge.tooltip);
        self.line(format_args!(r#"<path class="line" d="{}"/>"#, path(route)));
        self.line(format_args!(r#"<path class="tip" d="{}"/>"#, arrow(route)));
        if let Some(label) = route.label {
            let center = label.center();
            self.text("label", center.x, center.y + 0.35 * LABEL_FONT, &edge.text);
        }
        self.out.push_str("</g>\n");
    }

    fn node(&mut self, node: &PictureNode, place: Rect) {
        let class = match node.look {
            Look::Plain => "node",
            Look::Visited => "node visited",
            Look::Current => "node current",
            Look::Waiting => "node waiting",
            Look::Failed => "node failed",
        };
        let radius = match node.shape {
            Shape::Box => 5.0,
            Shape::Pill => place.height / 2.0,
        };
        self.line(format_args!(r#"<g class="{class}">"#));
        if let Some(Link { target, name }) = &node.link {
            let (target, name) = (escaped(target), escaped(name));
            self.line(format_args!(r#"<a href="{target}" aria-label="{name}">"#));
        }
        self.tooltip(&node.tooltip);
        self.rect("shape", place, radius);
        let mut center = place.center();
        if !node.panels.is_empty() {
            center.y = place.y + NODE_HEIGHT / 2.0;
        }
        let mark = mark(node.look);
        let shift = mark.map_or(0.0, |_| MARK / 2.0);
        if let Some(mark) = mark {
            let left = center.x - text_width(&node.text, NODE_FONT) / 2.0 - shift;
            let (x, y) = (number(left), number(center.y));
            self.line(format_args!(
                r#"<path class="mark" transform="translate({x} {y})" d="{mark}"/>"#
            ));
        }
        let baseline = center.y + 0.35 * NODE_FONT;
        self.text("name", center.x + shift, baseline, &node.text);
        if node.link.is_some() {
            self.out.push_str("</a>\n");
        }
        if let Some(badge) = &node.badge {
            self.badge(badge, place);
        }
        self.out.push_str("</g>\n");
    }

    /// Draws a badge on the upper left corner: edges to the node itself are on its right side.
    fn badge(&mut self, badge: &str, place: Rect) {
        let width = (text_width(badge, LABEL_FONT) + 8.0).max(2.0 * BADGE);
        let height = 2.0 * BADGE;
        let center = Point {
            x: place.x + 2.0,
            y: place.y,
        };
        self.rect("badge", Rect::around(center, Size { width, height }), BADGE);
        self.text("count", center.x, center.y + 0.35 * LABEL_FONT, badge);
    }

    fn rect(&mut self, class: &str, place: Rect, radius: f64) {
        self.line(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}" rx="{}"/>"#,
            number(place.x),
            number(place.y),
            number(place.width),
            number(place.height),
            number(radius)
        ));
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let (x, y, text) = (number(x), number(y), escaped(text));
        self.line(format_args!(
            r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#
        ));
    }

    fn tooltip(&mut self, text: &str) {
        if !text.is_empty() {
            self.line(format_args!("<title>{}</title>", escaped(text)));
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.out, "{line}").expect("a string takes all that is written to it");
    }
}

/// Returns the mark of a look as a path around (0, 0).
fn mark(look: Look) -> Option<&'static str> {
    match look {
        Look::Plain | Look::Visited => None,
        Look::Current => Some("M-4 -5.5L6 0L-4 5.5Z"),
        Look::Waiting => Some("M-4 -5.5h3.4v11h-3.4ZM2 -5.5h3.4v11h-3.4Z"),
        Look::Failed => Some("M-1.8 -6.5h3.6l-.8 8.4h-2ZM-1.6 3.6h3.2v3.2h-3.2Z"),
    }
}

/// Returns the line of a route. It ends where the arrow begins.
fn path(route: &Route) -> String {
    let point = |point: Point| format!("{} {}", number(point.x), number(point.y));
    let mut path = format!("M{}", point(route.start));
    let last = route.pieces.len().saturating_sub(1);
    for (nth, piece) in route.pieces.iter().enumerate() {
        path += &match *piece {
            Piece::Line(_) if nth == last => format!("L{}", point(arrow_base(route))),
            Piece::Line(end) => format!("L{}", point(end)),
            Piece::Curve(one, two, end) => format!("C{} {} {}", point(one), point(two), point(end)),
            Piece::Gap(end) => format!("M{}", point(end)),
        };
    }
    path
}

/// Returns the arrow at the end of a route as a path.
fn arrow(route: &Route) -> String {
    let (tip, base) = (end_of(route), arrow_base(route));
    let (dx, dy) = ((tip.x - base.x) / ARROW, (tip.y - base.y) / ARROW);
    let side = |by: f64| {
        let (x, y) = (base.x - dy * by, base.y + dx * by);
        format!("L{} {}", number(x), number(y))
    };
    let (one, other) = (side(ARROW_SIDE), side(-ARROW_SIDE));
    format!("M{} {}{one}{other}Z", number(tip.x), number(tip.y))
}

fn end_of(route: &Route) -> Point {
    route.pieces.last().map_or(route.start, Piece::end)
}

/// Returns the point behind the tip where the arrow begins, on the last piece of the route.
fn arrow_base(route: &Route) -> Point {
    let tip = end_of(route);
    let before = match &route.pieces[..] {
        [.., Piece::Curve(_, control, _)] => *control,
        [.., before, _] => before.end(),
        [_] | [] => route.start,
    };
    let (dx, dy) = (tip.x - before.x, tip.y - before.y);
    let length = dx.hypot(dy);
    if length == 0.0 {
        return tip;
    }
    Point {
        x: tip.x - dx / length * ARROW,
        y: tip.y - dy / length * ARROW,
    }
}

#[cfg(test)]
mod tests;
