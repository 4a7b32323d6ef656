//! The flow as a picture.

use serde_json::json;
use uwf_pipeline::{dot, graph, mermaid};

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
