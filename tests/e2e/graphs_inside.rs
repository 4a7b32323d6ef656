//! `workflow graph` of workflows whose roles other workflows play, or that have branches: graphs inside of nodes.

use serde_json::{Value, json};

use crate::graphs::is_harmless;
use crate::world::World;

const TOP: &str = r#"
name: top
roles:
  develop: { goal: g, workflow: ./middle.yaml }
  reviewer: { goal: g, description: Reads, frontmatter: { type: object, required: [v], properties: { v: { type: string } } } }
  review: { goal: g, each: "[1..3]", role: reviewer }
  listed: { goal: g, each: [a, b], role: reviewer }
  council:
    goal: g
    branches:
      cost: { workflow: ./low.yaml }
      safe: { role: reviewer }
graph:
  $START: { _: { role: develop, prompt: Go. } }
  develop: [{ role: review, prompt: Go. }]
  review: [{ role: listed, prompt: Go. }]
  listed: [{ role: council, prompt: Go. }]
  council: { done: { role: $END }, failed: { role: develop, prompt: Again. } }
"#;

/// A world with workflows in one another: `top`, `middle`, `low` and `deep`.
fn world() -> World {
    let world = World::new();
    let played = |name: &str, by: &str| {
        let text = format!(
            "name: {name}\nroles:\n  {name}-work: {{ goal: g, workflow: ./{by}.yaml }}\ngraph:\n  $START: [{{ role: {name}-work }}]\n  {name}-work: [{{ role: $END }}]\n"
        );
        world.write(&format!("{name}.yaml"), &text);
    };
    played("middle", "low");
    played("low", "deep");
    world.write(
        "deep.yaml",
        "name: deep\nroles:\n  dig: { goal: g, frontmatter: { type: object, required: [v], properties: { v: { type: string } } } }\ngraph:\n  $START: [{ role: dig }]\n  dig: [{ role: $END }]\n",
    );
    world.put(TOP);
    world
}

fn graph(world: &World, format: &str) -> String {
    let args = ["workflow", "graph", "top", "--format", format];
    world.uwf(&args).exits(0).stdout
}

/// Returns a node of a graph.
fn node<'a>(graph: &'a Value, name: &str) -> &'a Value {
    let mut nodes = graph["nodes"].as_array().unwrap().iter();
    nodes.find(|node| node["name"] == json!(name)).unwrap()
}

#[test]
fn data_has_the_graphs_of_all_that_play_a_role() {
    let view: Value = serde_json::from_str(&graph(&world(), "json")).unwrap();
    let middle = &node(&view, "develop")["playedBy"][0];
    assert_eq!(middle["name"], json!("middle"));
    let low = &node(middle, "middle-work")["playedBy"][0];
    let deep = &node(low, "low-work")["playedBy"][0];
    assert_eq!(node(deep, "dig")["kind"], json!("role"));
    assert_eq!(deep["edges"].as_array().unwrap().len(), 2);
    let each = &node(&view, "listed")["playedBy"][0];
    assert_eq!((&each["each"], &each["count"]), (&json!(true), &json!(2)));
    assert_eq!(node(each, "reviewer")["description"], json!("Reads"));
    let council = node(&view, "council")["playedBy"].as_array().unwrap();
    let keys: Vec<&Value> = council.iter().map(|one| &one["key"]).collect();
    assert_eq!(keys, [&json!("cost"), &json!("safe")]);
    let names: Vec<&Value> = view["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert!(
        !names.contains(&&json!("reviewer")),
        "no edge leads there: {names:?}"
    );
}

#[test]
fn the_text_has_a_box_for_each_of_them() {
    let text = graph(&world(), "text");
    for expected in [
        "develop\n  → review\n  ┌ middle\n  │ $START\n  │   → middle-work\n  │ middle-work\n  │   → $END\n  │   ┌ low\n",
        "  │   │   ┌ deep\n  │   │   │ $START\n  │   │   │   → dig\n",
        "review\n  → listed\n  ┌ each\n  │ reviewer\n  └\n",
        "  ┌ each ×2\n  │ reviewer\n  └\n",
        "  ┌ safe\n  │ reviewer\n  └\n",
        "  ┌ cost: low\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn mermaid_has_subgraphs() {
    let text = graph(&world(), "mermaid");
    let expected = r#"  n0(["$START"])
  subgraph n1["develop"]
    subgraph n1p0["middle"]
      n1p0n0(["$START"])
      subgraph n1p0n1["middle-work"]
        subgraph n1p0n1p0["low"]
"#;
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("  n0 --> n1\n"), "{text}");
    assert!(
        text.contains("subgraph n3p0[\"each ×2\"]\n      n3p0n0[\"reviewer\"]\n    end\n"),
        "{text}"
    );
    assert_eq!(
        text.matches("subgraph ").count(),
        text.matches("end\n").count()
    );
    assert_eq!(text.matches("[\"dig\"]").count(), 2);
}

#[test]
fn dot_has_clusters_and_no_id_twice() {
    let text = graph(&world(), "dot");
    assert!(text.contains(r#""develop" -> "review";"#), "{text}");
    assert!(
        text.contains(r#"subgraph "cluster_develop\/0" {"#),
        "{text}"
    );
    assert!(
        text.contains(r#""develop\/0\/middle-work\/0\/low-work\/0\/dig" [label="dig"];"#),
        "{text}"
    );
    assert!(text.contains(r#"label="each ×2";"#), "{text}");
    let mut ids: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" [label=") && !line.contains(" -> "))
        .map(|line| line.split(" [").next().unwrap().trim())
        .collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{text}");
    assert_eq!(text.matches('{').count(), text.matches('}').count());
}

#[test]
fn a_picture_has_the_graphs_inside_of_the_nodes() {
    let world = world();
    let picture = graph(&world, "svg");
    is_harmless(&picture);
    // Of the role `develop` three, of `review` and `listed` one each, of `council` one and two.
    assert_eq!(picture.matches("class=\"panel\"").count(), 8, "{picture}");
    assert_eq!(picture.matches(">dig</text>").count(), 2);
    assert!(picture.contains(">each ×2</text>"));
    assert!(picture.contains("Within council, safe: reviewer"));
    assert_eq!(graph(&world, "svg"), picture);
}

#[test]
fn the_way_of_a_thread_is_marked_around_the_graphs_inside() {
    let world = world();
    world.mock("roles:\n  dig: [{ output: { v: v } }]\n");
    let thread = world.start("top");
    let drawn = |format| {
        let args = ["workflow", "graph", "--thread", &thread, "--format", format];
        world.uwf(&args).exits(0).stdout
    };
    world.step(&thread).exits(0);
    let text = drawn("mermaid");
    assert!(
        text.contains("linkStyle 10,11 "),
        "edges inside come first: {text}"
    );
    assert!(text.contains("subgraph n2[\"▶ review\"]"), "{text}");
    is_harmless(&drawn("svg"));
}
