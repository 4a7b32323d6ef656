//! Tests of graphs as text and as drawings.

use serde_json::json;
use uwf_engine::{NodeKind, Standing};
use uwf_words::graph::svg;

use super::*;

const WIDE: Page = Page {
    width: None,
    colour: false,
};

fn node(name: &str, kind: NodeKind) -> GraphNode {
    GraphNode {
        name: name.to_owned(),
        kind,
        description: String::new(),
        goal: String::new(),
        visits: None,
        last_step: None,
        standing: None,
        played_by: Vec::new(),
    }
}

fn edge(from: &str, to: &str, status: Option<&str>, condition: Option<&str>) -> GraphEdge {
    GraphEdge {
        key: format!("{from}/{}", status.or(condition).unwrap_or("2")),
        from: from.to_owned(),
        to: to.to_owned(),
        status: status.map(str::to_owned),
        condition: condition.map(str::to_owned),
        expression: condition.map(|_| "steps[-1].ok".to_owned()),
        prompt: None,
        declared: true,
        taken: None,
    }
}

/// A writer whose status picks an edge, and a checker whose conditions do.
fn view() -> GraphView {
    GraphView {
        workflow: "0123456789ABC".parse().unwrap(),
        name: "demo".to_owned(),
        description: String::new(),
        nodes: vec![
            node("$START", NodeKind::Start),
            node("writer", NodeKind::Role),
            node("checker", NodeKind::Role),
            node("$SUSPEND", NodeKind::Suspend),
            node("$END", NodeKind::End),
        ],
        edges: vec![
            edge("$START", "writer", Some("_"), None),
            edge("writer", "checker", Some("done"), None),
            edge("writer", "$SUSPEND", Some("ask"), None),
            edge("checker", "$END", None, Some("isGood")),
            edge("checker", "writer", None, None),
        ],
        thread: None,
        hidden: None,
    }
}

/// The same after some steps.
fn marked_view() -> GraphView {
    let mut view = view();
    for (edge, taken) in view.edges.iter_mut().zip([1, 2, 0, 0, 1]) {
        edge.taken = Some(taken);
    }
    for (node, visits) in view.nodes.iter_mut().zip([1, 2, 2, 0, 0]) {
        node.visits = Some(visits);
    }
    view.nodes[2].standing = Some(Standing::Failed);
    view
}

#[test]
fn the_text_lists_the_edges_below_their_node() {
    let expected = "\
demo  0123456789ABC

$START
  → writer
writer
  → checker   done
  → $SUSPEND  ask
checker
  → $END      isGood
  → writer    otherwise
$SUSPEND
$END

CONDITION  EXPRESSION
isGood     steps[-1].ok";
    assert_eq!(view().text(WIDE), expected);
}

#[test]
fn the_text_tells_what_was_taken_and_where_the_thread_stands() {
    let text = marked_view().text(WIDE);
    for line in [
        "$START  ×1",
        "  → checker   done       ×2",
        "  → $SUSPEND  ask",
        "checker  ×2  ! failed",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
}

#[test]
fn mermaid_has_every_node_and_edge() {
    let expected = r#"flowchart TD
  n0(["$START"])
  n1["writer"]
  n2["checker"]
  n3(["$SUSPEND"])
  n4(["$END"])
  n0 --> n1
  n1 -->|"done"| n2
  n1 -->|"ask"| n3
  n2 -->|"isGood"| n4
  n2 -->|"otherwise"| n1"#;
    assert_eq!(mermaid(&view()), expected);
    let marked = mermaid(&marked_view());
    assert!(marked.contains("n2[\"! checker ×2\"]"), "{marked}");
    assert!(marked.contains("-->|\"done ×2\"|"), "{marked}");
    assert!(marked.contains("  linkStyle 0,1,4 "), "{marked}");
}

#[test]
fn dot_has_every_node_and_edge() {
    let text = dot(&view());
    for line in [
        r#"digraph "demo" {"#,
        r#"  "$START" [label="$START", shape=oval];"#,
        r#"  "writer" [label="writer"];"#,
        r#"  "$START" -> "writer";"#,
        r#"  "checker" -> "$END" [label="isGood"];"#,
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    let marked = dot(&marked_view());
    let line = r#"  "writer" -> "checker" [label="done ×2", penwidth=2.5];"#;
    assert!(marked.lines().any(|one| one == line), "{marked}");
}

#[test]
fn a_picture_says_in_words_what_it_shows() {
    let picture = svg(&marked_view()).unwrap();
    assert!(picture.contains("From writer: done: to checker (×2); ask: to $SUSPEND"));
    assert!(picture.contains("checker is failed"));
    assert_eq!(picture.matches("edge taken").count(), 3);
}

#[test]
fn a_role_that_suspends_has_a_suspension_of_its_own() {
    let mut view = view();
    view.edges
        .push(edge("checker", "$SUSPEND", Some("ask"), None));
    let picture = svg(&view).unwrap();
    assert_eq!(picture.matches(">$SUSPEND</text>").count(), 2);
}

#[test]
fn a_hostile_text_is_one_line_everywhere() {
    let mut view = view();
    let evil = "a\n\"]\u{1b}[2J<script>\u{202e}";
    view.edges[1].status = Some(evil.to_owned());
    view.nodes[1].description = evil.to_owned();
    for text in [
        view.text(WIDE),
        mermaid(&view),
        dot(&view),
        svg(&view).unwrap(),
    ] {
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(!text.contains('\u{202e}'), "{text}");
        assert!(!text.contains("a\n"), "{text}");
    }
    assert!(!svg(&view).unwrap().contains("<script>"));
    assert_eq!(json!(view)["edges"][1]["status"], json!(evil));
}
