//! `workflow graph`: workflows and the ways of threads as text, drawings and data.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use regex::Regex;
use serde_json::{Value, json};

use crate::pty::on_terminal;
use crate::world::{REVIEW, World, fixture};

/// Texts of a workflow that every language of drawings could take for more than text.
const HOSTILE_WORKFLOW: &str = r##"
name: hostile
description: "</desc><script>alert(1)</script>"
roles:
  "a\"]; x --> y[\"":
    goal: g
    description: "</title>&lt;\\"
    frontmatter: { type: object, properties: { $status: { enum: ["x|y\"-->", "</text>&amp;", "%%{init: {}}%%", "日本\\n"] } }, required: [$status] }
  "b\\":
    goal: g
    frontmatter: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
conditions:
  "is `good`; #quot; <b>": { description: d, expression: "steps[-1].output.ok < 1" }
graph:
  $START: { _: { role: "a\"]; x --> y[\"", prompt: go } }
  "a\"]; x --> y[\"":
    "x|y\"-->": { role: "b\\", prompt: go }
    "</text>&amp;": { role: "b\\", prompt: go }
    "%%{init: {}}%%": { role: $SUSPEND, prompt: go }
    "日本\\n": { role: "a\"]; x --> y[\"", prompt: go }
  "b\\":
    - { role: $END, condition: "is `good`; #quot; <b>" }
    - { role: "a\"]; x --> y[\"" , prompt: go }
"##;

const SCRIPT: &str = r#"
roles:
  writer:
    - output: { plan: p }
  reviewer:
    - output: { $status: rejected, reason: too short }
    - output: { $status: ask, question: "blue or green?" }
"#;

fn graph(world: &World, args: &[&str]) -> String {
    let all = [&["workflow", "graph"], args].concat();
    world.uwf(&all).exits(0).stdout
}

fn view(world: &World, args: &[&str]) -> Value {
    serde_json::from_str(&graph(world, args)).unwrap()
}

/// Returns each edge that a thread took, with how often.
fn taken(view: &Value) -> Vec<(String, u64)> {
    let edges = view["edges"].as_array().unwrap().iter();
    let edges = edges.map(|edge| (edge["key"].as_str().unwrap().to_owned(), &edge["taken"]));
    edges
        .filter_map(|(key, taken)| Some((key, taken.as_u64().filter(|count| *count > 0)?)))
        .collect()
}

/// A thread of the review that was rejected once and waits now.
fn asking(world: &World) -> String {
    world.put(REVIEW);
    world.mock(SCRIPT);
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "4"]).exits(0);
    thread
}

/// Asserts that a drawing is well-formed XML of elements that we write, without anything that acts.
#[track_caller]
pub(crate) fn is_harmless(svg: &str) {
    let tag = Regex::new(r#"<(/?)([a-z]+)((?: [a-zA-Z]+="[^"<>]*")*)(/?)>"#).unwrap();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        let found = tag
            .captures_at(rest, at)
            .filter(|found| found.get(0).unwrap().start() == at);
        let found = found.unwrap_or_else(|| panic!("no tag: {}", &rest[at..]));
        let [closes, name, attributes, single] =
            [1, 2, 3, 4].map(|n| found.get(n).unwrap().as_str());
        let known = ["svg", "title", "desc", "style", "rect", "g", "path", "text"];
        assert!(known.contains(&name), "{name}");
        assert!(
            !attributes.contains("href") && !attributes.contains(" on"),
            "{attributes}"
        );
        match (closes, single) {
            ("/", _) => assert_eq!(open.pop(), Some(name)),
            (_, "/") => {}
            _ => open.push(name),
        }
        rest = &rest[found.get(0).unwrap().end()..];
    }
    assert!(open.is_empty(), "{open:?}");
    let entity = Regex::new("&(lt|gt|amp|quot|#39);").unwrap();
    assert!(!entity.replace_all(svg, "").contains('&'));
}

#[test]
fn a_graph_is_drawn_of_a_name_a_hash_and_a_file() {
    let world = World::new();
    let hash = world.put(REVIEW);
    let drawn = graph(&world, &["review", "--format", "svg"]);
    is_harmless(&drawn);
    for name in [&*hash, "./review.yaml"] {
        assert_eq!(graph(&world, &[name, "--format", "svg"]), drawn);
    }
    world
        .uwf(&["workflow", "graph", "reviw"])
        .exits(1)
        .says("did you mean `review`");
}

#[test]
fn a_graph_is_text_on_a_terminal_and_json_in_a_pipe() {
    let world = World::new();
    world.put(REVIEW);
    let screen = on_terminal(&world, 80, &["workflow", "graph", "review"]);
    assert!(screen.contains("  → writer    rejected"), "{screen}");
    let view = view(&world, &["review"]);
    assert_eq!(view["name"], json!("review"));
    let edge = json!({
        "key": "reviewer/rejected", "from": "reviewer", "to": "writer", "status": "rejected",
        "condition": null, "expression": null, "prompt": "Fix {{reason}}", "declared": true,
    });
    assert!(view["edges"].as_array().unwrap().contains(&edge), "{view}");
}

#[test]
fn the_format_stands_before_or_after_the_command_and_only_graphs_are_drawn() {
    let world = World::new();
    world.put(REVIEW);
    let before = world.uwf(&["--format", "yaml", "workflow", "graph", "review"]);
    let after = graph(&world, &["review", "--format", "yaml"]);
    assert_eq!(before.exits(0).stdout, after);
    for args in [
        &["workflow", "show", "review", "--format", "svg"][..],
        &["workflow", "graph", "review", "--format", "png"],
        &["workflow", "graph"],
    ] {
        world.uwf(args).exits(2);
    }
}

#[test]
fn whoever_points_at_a_role_sees_its_goal_and_its_visits() {
    let world = World::new();
    world.put(&REVIEW.replacen("goal: ", "goal: NOW & ", 1));
    world.mock("roles:\n  writer:\n    - output: { plan: p }\n");
    let thread = world.start("review");
    let title = |visits: &str| {
        let drawn = graph(&world, &["--thread", &thread, "--format", "svg"]);
        let title = drawn.split("<title>writer\n").nth(1).unwrap();
        let title = title.split("</title>").next().unwrap().to_owned();
        assert!(title.contains("NOW &amp; "), "{title}");
        assert_eq!(title.contains("1 visit"), !visits.is_empty(), "{title}");
    };
    title("");
    world.step(&thread).exits(0);
    title("1 visit");
    let view = graph(&world, &["review", "--format", "json"]);
    assert!(view.contains("\"goal\":\"NOW & "), "{view}");
}

#[test]
fn the_ending_of_a_file_tells_the_format() {
    let world = World::new();
    world.put(REVIEW);
    for (file, begins) in [
        ("a.svg", "<svg "),
        ("a.dot", "digraph \"review\" {"),
        ("a.mmd", "flowchart TD"),
        ("a.json", "{\"workflow\":"),
        ("a.yaml", "workflow: "),
        ("a.txt", "review  "),
    ] {
        assert_eq!(graph(&world, &["review", "-o", file]), "");
        let written = fs::read_to_string(world.project().join(file)).unwrap();
        assert!(
            written.starts_with(begins) && written.ends_with('\n'),
            "{file}: {written}"
        );
    }
    graph(&world, &["review", "--format", "dot", "-o", "picture"]);
    assert!(world.project().join("picture").exists());
    let printed = graph(&world, &["review", "--format", "dot", "-o", "-"]);
    assert!(printed.starts_with("digraph "), "{printed}");
    let unclear = world.uwf(&["workflow", "graph", "review", "-o", "a.png"]);
    unclear.exits(2).says("`a.png` does not tell a format");
    let nowhere = world.uwf(&["workflow", "graph", "review", "-o", "no/where.svg"]);
    nowhere.exits(1).says("cannot write `no/where.svg`");
}

#[test]
fn the_way_of_a_thread_is_marked_in_every_format() {
    let world = World::new();
    let thread = asking(&world);
    let data = view(&world, &["--thread", &thread]);
    let expected = [
        ("$START/_", 1),
        ("writer/_", 2),
        ("reviewer/ask", 1),
        ("reviewer/rejected", 1),
    ];
    let mut found = taken(&data);
    found.sort_by_key(|(key, _)| expected.iter().position(|(known, _)| known == key));
    assert_eq!(found, expected.map(|(key, count)| (key.to_owned(), count)));
    assert_eq!(
        data["thread"]["suspendMessage"],
        json!("Need: blue or green?")
    );
    let reviewer = json!(["reviewer", 2, "waiting"]);
    let nodes = data["nodes"].as_array().unwrap().iter();
    let mut nodes = nodes.map(|node| json!([node["name"], node["visits"], node["standing"]]));
    assert!(nodes.any(|node| node == reviewer));
    let drawn = |format| graph(&world, &["review", "--thread", &thread, "--format", format]);
    let text = drawn("text");
    assert!(text.contains("reviewer  ×2  ‖ waiting\n"), "{text}");
    assert!(
        text.contains("suspended after 4 steps\nNeed: blue or green?\n"),
        "{text}"
    );
    assert!(drawn("mermaid").contains("[\"‖ reviewer ×2\"]"));
    assert!(drawn("dot").contains("label=\"‖ reviewer ×2\", penwidth=4"));
    let svg = drawn("svg");
    is_harmless(&svg);
    assert!(svg.contains("class=\"node waiting\"") && svg.contains("class=\"mark\""));
    assert_eq!(svg.matches("class=\"edge taken\"").count(), 4);
}

#[test]
fn the_steps_of_a_thread_name_their_edges() {
    let world = World::new();
    let thread = asking(&world);
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap().iter();
    let edges: Vec<&Value> = steps.map(|step| &step["edge"]).collect();
    let expected = [
        "$START/_",
        "writer/_",
        "reviewer/rejected",
        "writer/_",
        "reviewer/ask",
    ];
    assert_eq!(edges, expected);
}

#[test]
fn the_edges_of_a_list_are_known_by_where_the_thread_went() {
    let world = World::new();
    let yaml = fs::read_to_string(fixture("workflows/solve-issue.yaml")).unwrap();
    world.write("solve-issue.yaml", &yaml);
    world.uwf(&["workflow", "put", "solve-issue.yaml"]).exits(0);
    world.mock(
        r#"
roles:
  planner: [{ output: { plan: p, steps: [one] } }]
  developer: [{ output: { filesChanged: [a.rs], summary: s } }]
  reviewer:
    - output: { approved: false, comments: no tests }
    - output: { approved: true, comments: good }
"#,
    );
    let thread = world.start("solve-issue");
    let edges = || {
        let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
        let steps = steps["steps"].as_array().unwrap().iter();
        steps.map(|step| step["edge"].clone()).collect::<Value>()
    };
    world.uwf(&["thread", "step", &thread, "-c", "3"]).exits(0);
    // The condition has not been evaluated for the steps alone. The graph asks where the thread stands.
    assert_eq!(
        edges(),
        json!(["$START/1", "planner/1", "developer/1", null])
    );
    let data = view(&world, &["--thread", &thread]);
    assert_eq!(data["thread"]["path"][3]["edge"], json!("reviewer/1"));
    world.uwf(&["thread", "step", &thread, "-c", "9"]).exits(0);
    let [first, second] = ["reviewer/1", "reviewer/2"];
    let expected = [
        "$START/1",
        "planner/1",
        "developer/1",
        first,
        "developer/1",
        second,
    ];
    assert_eq!(edges(), json!(expected));
    let text = graph(&world, &["--thread", &thread, "--format", "text"]);
    assert!(text.contains("  → developer  notApproved  ×1\n"), "{text}");
    assert!(text.contains("\n$END  ×1  ✓ done"), "{text}");
}

#[test]
fn a_thread_is_not_drawn_on_a_workflow_that_it_does_not_run() {
    let world = World::new();
    let thread = asking(&world);
    world.put(&REVIEW.replace("Begin writing", "Begin"));
    let refused = world
        .uwf(&["workflow", "graph", "review", "--thread", &thread])
        .exits(1);
    refused
        .says("not `")
        .says("hint: `uwf workflow graph --thread");
    graph(&world, &["--thread", &thread]);
}

#[test]
fn the_way_of_a_thread_is_written_to_a_private_file() {
    let world = World::new();
    let thread = asking(&world);
    graph(&world, &["--thread", &thread, "-o", "way.svg"]);
    graph(&world, &["review", "-o", "plain.svg"]);
    let mode = |file: &str| {
        let found = fs::metadata(world.project().join(file)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode("way.svg"), 0o600);
    assert_ne!(mode("plain.svg"), 0o600);
}

#[test]
fn a_graph_that_is_too_large_for_a_picture_is_left_to_others() {
    let world = World::new();
    let count = 300;
    let schema =
        "{ type: object, properties: { $status: { enum: [on, off] } }, required: [$status] }";
    let mut yaml = "name: large\nroles:\n".to_owned();
    for n in 0..count {
        yaml += &format!("  r{n}: {{ goal: g, frontmatter: {schema} }}\n");
    }
    yaml += "graph:\n  $START: { _: { role: r0, prompt: go } }\n";
    for n in 0..count {
        let next = (n + 1) % count;
        yaml +=
            &format!("  r{n}: {{ on: {{ role: r{next}, prompt: go }}, off: {{ role: $END }} }}\n");
    }
    world.put(&yaml);
    let refused = world
        .uwf(&["workflow", "graph", "large", "--format", "svg"])
        .exits(1);
    refused
        .says("cannot be drawn as a picture")
        .says("--format dot");
    assert_eq!(
        graph(&world, &["large", "--format", "dot"])
            .matches(" -> ")
            .count(),
        601
    );
}

#[test]
fn a_hostile_workflow_is_only_text_in_every_language() {
    let world = World::new();
    world.put(HOSTILE_WORKFLOW);
    let drawn = |format| graph(&world, &["hostile", "--format", format]);
    is_harmless(&drawn("svg"));
    let quoted = r#""(?:[^"\\]|\\["\\])*""#;
    let dot = Regex::new(&format!(
        r"^(?:  (?:node|edge) \[.*\];|\}}|digraph {quoted} \{{|  {quoted}(?: -> {quoted})?(?: \[label={quoted}(?:, shape=oval)?\])?;)$"
    ));
    let dot = dot.unwrap();
    for line in drawn("dot").lines() {
        assert!(dot.is_match(line), "{line}");
    }
    let safe = r##""(?:[^"#&<>`|;%\\]|#[0-9]+;)*""##;
    let mermaid = Regex::new(&format!(
        r"^(?:flowchart TD|  n\d+(?:\[{safe}\]|\(\[{safe}\]\))|  n\d+ -->(?:\|{safe}\|)? n\d+)$"
    ));
    let mermaid = mermaid.unwrap();
    for line in drawn("mermaid").lines() {
        assert!(mermaid.is_match(line), "{line}");
    }
    let keys = view(&world, &["hostile"])["edges"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(keys, 7);
}
