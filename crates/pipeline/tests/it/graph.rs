//! The flow as a picture.

use serde_json::json;
use uwf_pipeline::{ErrorKind, Failure, StepKey, StepResult, StepStatus, dot, graph, mermaid};

use crate::common::{EXAMPLE, pipeline};

const FLOW: &str = "name: f
steps:
- {name: A, command: [make, x], on: {failure: {goto: _end}}}
- name: L
  for_each:
    items: [1]
    steps:
    - {name: B, provider: claude, input_file: p, when: {exists: x}}
    - {name: C, wait_for: {glob: 'q/*'}, on: {always: {goto: B}}}
- {name: D, command: ['a\"b', '|'], on: {success: {goto: A}}}
";

#[test]
fn a_flowchart_has_every_step_and_way() {
    let text = mermaid(&graph(&pipeline(FLOW)));
    let expected = "flowchart TD
  n0([\"start\"])
  n1[\"A (make)\"]
  n2[[\"L (for each)\"]]
  subgraph s2[\"L\"]
    n3[\"B (claude)\"]
    n4[\"C (waits for q/*)\"]
  end
  n5[\"D (a#34;b)\"]
  n6([\"end\"])
  n0 --> n1
  n1 -->|\"success\"| n2
  n1 -->|\"failure\"| n6
  n2 -->|\"each item\"| n3
  n3 --> n4
  n4 --> n3
  n2 -->|\"success\"| n5
  n5 --> n1";
    assert_eq!(text, expected);
}

#[test]
fn graphviz_gets_the_keys_of_steps() {
    let text = dot(&graph(&pipeline(FLOW)));
    for line in [
        "digraph \"f\" {",
        "  \"A\" [label=\"A (make)\"];",
        "  subgraph \"cluster L\" {",
        "    \"L[].B\" [label=\"B (claude)\"];",
        "  \"A\" -> \"_end\" [label=\"failure\"];",
        "  \"L\" -> \"L[].B\" [label=\"each item\"];",
        "  \"D\" [label=\"D (a\\\"b)\"];",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn data_says_after_what_each_way_is_taken() {
    let found = json!(graph(&pipeline(FLOW)));
    assert_eq!(
        found["nodes"][3],
        json!({"key": "L[].B", "kind": "provider", "name": "B", "by": "claude", "within": "L"})
    );
    assert!(
        found["edges"]
            .as_array()
            .unwrap()
            .contains(&json!({"from": "L[].B", "to": "L[].C", "on": ["success", "skipped"]}))
    );
}

#[test]
fn a_lax_flow_goes_on_after_failures() {
    let lax = format!("strict_flow: false\n{FLOW}");
    let found = json!(graph(&pipeline(&lax)));
    let edges = found["edges"].as_array().unwrap();
    assert!(edges.contains(&json!({"from": "L[].B", "to": "L", "on": ["failure"]})));
    assert!(edges.contains(&json!({"from": "D", "to": "_end", "on": ["failure"]})));
}

#[test]
fn a_step_with_a_workflow_names_it() {
    let text = "steps: [{name: A, workflow: {name: flows/x.yaml, task: t}}]";
    let found = graph(&pipeline(text));
    assert!(mermaid(&found).contains("n1[\"A (workflow flows/x.yaml)\"]"));
    assert!(dot(&found).contains("[label=\"A (workflow flows/x.yaml)\"];"));
    let expected = json!({"key": "A", "kind": "workflow", "name": "A", "by": "flows/x.yaml"});
    assert_eq!(json!(found)["nodes"][1], expected);
}

#[test]
fn the_example_of_the_specification_can_be_drawn() {
    let graph = graph(&pipeline(EXAMPLE));
    assert_eq!(graph.nodes.len(), 2 + 3 + 4);
    assert!(mermaid(&graph).contains("(find)"));
}

const WAYS: &str = "name: w
strict_flow: false
steps:
- {name: A, command: [a], on: {failure: {goto: C}}}
- {name: B, command: [b]}
- {name: C, command: [c], when: {exists: x}}
- name: L
  for_each:
    items: [1, 2]
    steps:
    - {name: I, command: [i]}
    - {name: J, command: [j], on: {failure: {goto: _end}}}
- {name: D, command: [d], on: {success: {goto: A}}}
";

/// Returns the edges that a run took, one after the other. Each visit is a key, perhaps after `-` if it failed, `~` if it was
/// skipped, or `!` if a guard stopped it.
fn way(visits: &str) -> Vec<String> {
    let graph = graph(&pipeline(WAYS));
    let visits = visits.split_whitespace().map(|word| {
        let text = word.trim_start_matches(['-', '~', '!']);
        let failed = |kind| StepResult::failed(1, Failure::new(kind, "why"));
        let result = match &word[..1] {
            "-" => failed(ErrorKind::FailedDeps),
            "~" => StepResult::skipped(),
            "!" => failed(ErrorKind::CycleGuardExceeded),
            _ => StepResult::of(StepStatus::Completed, 0),
        };
        let key: StepKey = text.parse().unwrap();
        (text != "_resume").then_some((key, result))
    });
    let visits: Vec<_> = visits.collect();
    let passages = graph.way(&visits);
    assert_eq!(passages.len(), visits.len());
    let passed = passages
        .iter()
        .flat_map(|one| one.into.iter().copied().chain(one.out));
    let edges = graph.first_edge().into_iter().chain(passed);
    let edges = edges.map(|at| format!("{} {}", graph.edges[at].from, graph.edges[at].to));
    edges.collect()
}

#[test]
fn the_visits_of_a_run_tell_which_ways_it_took() {
    assert_eq!(way(""), ["_start A"]);
    assert_eq!(way("A"), ["_start A", "A B"]);
    assert_eq!(way("-A ~C"), ["_start A", "A C", "C L"]);
    assert_eq!(
        way("L[0].I L[0].J L[1].I -L[1].J L"),
        [
            "_start A",
            "L L[].I",
            "L[].I L[].J",
            "L[].J L",
            "L L[].I",
            "L[].I L[].J",
            "L[].J _end",
        ]
    );
    // A loop that is done again begins its items again, and the end of an item is on no way of its own.
    assert_eq!(
        way("L[0].I L[0].J L[0] L L[0].I"),
        [
            "_start A",
            "L L[].I",
            "L[].I L[].J",
            "L[].J L",
            "L D",
            "L L[].I",
            "L[].I L[].J"
        ]
    );
    // What a guard stopped leads nowhere. A person resumes it in the same item.
    assert_eq!(
        way("L[0].I !L[0].J _resume L[0].J"),
        ["_start A", "L L[].I", "L[].I L[].J", "L[].J L"]
    );
}
