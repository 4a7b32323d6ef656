//! Tests of drawings.

use super::*;

fn node(text: &str, look: Look) -> PictureNode {
    PictureNode {
        text: text.to_owned(),
        tooltip: String::new(),
        shape: Shape::Box,
        look,
        badge: None,
        link: None,
        panels: Vec::new(),
    }
}

fn edge(from: usize, to: usize, text: &str, stroke: Stroke) -> PictureEdge {
    PictureEdge {
        from,
        to,
        text: text.to_owned(),
        tooltip: String::new(),
        stroke,
    }
}

fn picture() -> Picture {
    Picture {
        title: "A <b>".to_owned(),
        description: "a & b".to_owned(),
        caption: vec!["\"]]>".to_owned()],
        nodes: vec![node("<i>", Look::Visited), node("b", Look::Current)],
        edges: vec![
            edge(0, 1, "on</text>", Stroke::Taken),
            edge(1, 1, "again", Stroke::Plain),
        ],
        start: 0,
    }
}

#[test]
fn no_text_becomes_an_element() {
    let svg = draw(&picture(), Sheet::Inside).unwrap();
    for safe in [
        "A &lt;b&gt;",
        "a &amp; b",
        "&quot;]]&gt;",
        "&lt;i&gt;",
        "on&lt;/text&gt;",
    ] {
        assert!(svg.contains(safe), "{safe}: {svg}");
    }
    for evil in ["<b>", "<i>", "on</text></text>"] {
        assert!(!svg.contains(evil), "{evil}: {svg}");
    }
}

#[test]
fn a_drawing_needs_nothing_else() {
    let svg = draw(&picture(), Sheet::Inside).unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
    assert!(svg.contains("prefers-color-scheme: dark"));
    for outside in ["<script", "href", "url(", "@import", " id=", " on"] {
        assert!(!svg.contains(outside), "{outside}");
    }
}

#[test]
fn a_drawing_in_a_page_brings_no_style_and_no_background() {
    let svg = draw(&picture(), Sheet::OfPage).unwrap();
    assert!(!svg.contains("<style"));
    assert!(!svg.contains("paper"));
}

#[test]
fn looks_differ_by_more_than_their_class() {
    let marks: Vec<_> = [Look::Current, Look::Waiting, Look::Failed]
        .map(mark)
        .to_vec();
    assert!(marks.iter().all(Option::is_some));
    assert!(marks[0] != marks[1] && marks[1] != marks[2] && marks[0] != marks[2]);
    let svg = draw(&picture(), Sheet::OfPage).unwrap();
    assert_eq!(svg.matches("class=\"mark\"").count(), 1);
}

#[test]
fn a_wide_caption_widens_the_drawing() {
    let mut picture = picture();
    picture.caption = vec!["x".repeat(200)];
    let svg = draw(&picture, Sheet::OfPage).unwrap();
    let width = svg
        .split_once("width=\"")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0;
    assert!(width.parse::<f64>().unwrap() > 1_000.0, "{width}");
}

#[test]
fn the_line_of_an_edge_ends_where_its_arrow_begins() {
    let route = Route {
        start: Point { x: 5.0, y: 0.0 },
        pieces: vec![Piece::Line(Point { x: 5.0, y: 40.0 })],
        label: None,
    };
    assert_eq!(path(&route), "M5 0L5 32");
    assert_eq!(arrow(&route), "M5 40L1.2 32L8.8 32Z");
}

/// A node with a panel for each of these graphs of one node.
fn outer(panels: Vec<PictureNode>) -> PictureNode {
    let panel = |node| Panel {
        text: "inside".to_owned(),
        nodes: vec![node],
        edges: Vec::new(),
        start: 0,
    };
    PictureNode {
        panels: panels.into_iter().map(panel).collect(),
        ..node("outer", Look::Current)
    }
}

#[test]
fn a_node_is_as_large_as_the_graphs_in_it_and_they_stand_side_by_side() {
    let deep = outer(vec![
        outer(vec![node("a", Look::Plain)]),
        node("b", Look::Plain),
    ]);
    let nodes = [node("top", Look::Plain), deep];
    let edges = [edge(0, 1, "", Stroke::Plain)];
    let placed = place(&nodes, &edges, 0).unwrap();
    let (outside, panels) = (placed.layout.nodes[1], &placed.panels[1]);
    let [left, right] = [panels[0].place, panels[1].place];
    assert!(left.right() < right.x && left.y == right.y);
    for panel in panels {
        let place = panel.place;
        assert!(outside.x < place.x && place.right() < outside.right());
        assert!(outside.y + NODE_HEIGHT <= place.y && place.bottom() < outside.bottom());
        assert!(panel.inside.layout.size.width <= place.width);
    }
    assert_eq!(panels[0].inside.panels[0].len(), 1);
    let picture = Picture {
        nodes: nodes.to_vec(),
        edges: edges.to_vec(),
        ..picture()
    };
    let svg = draw(&picture, Sheet::OfPage).unwrap();
    assert_eq!(svg.matches("class=\"panel\"").count(), 3);
    assert_eq!(svg.matches("<g").count(), svg.matches("</g>").count());
}

#[test]
fn a_panel_without_nodes_has_its_text() {
    let mut empty = outer(vec![node("a", Look::Plain)]);
    empty.panels[0].nodes.clear();
    let picture = Picture {
        nodes: vec![empty],
        edges: Vec::new(),
        ..picture()
    };
    let svg = draw(&picture, Sheet::OfPage).unwrap();
    assert!(svg.contains(">inside</text>"), "{svg}");
}

#[test]
fn a_link_is_around_its_node_and_not_around_the_badge() {
    let mut picture = picture();
    assert!(
        draw(&picture, Sheet::OfPage)
            .unwrap()
            .contains("role=\"img\"")
    );
    picture.nodes[1].badge = Some("4".to_owned());
    picture.nodes[1].link = Some(Link {
        target: "#x\"><script>".to_owned(),
        name: "b, 4 visits".to_owned(),
    });
    let svg = draw(&picture, Sheet::OfPage).unwrap();
    // What is in an image cannot be followed.
    assert!(svg.contains("role=\"group\""), "{svg}");
    let (_, link) = svg
        .split_once("<a href=\"#x&quot;&gt;&lt;script&gt;\" aria-label=\"b, 4 visits\">")
        .unwrap();
    let (inside, after) = link.split_once("</a>").unwrap();
    assert!(inside.contains(">b</text>"), "{inside}");
    assert!(after.contains("class=\"badge\""), "{after}");
}
