//! Tests of drawings.

use super::*;

fn node(text: &str, look: Look) -> PictureNode {
    PictureNode {
        text: text.to_owned(),
        tooltip: String::new(),
        shape: Shape::Box,
        look,
        badge: None,
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
