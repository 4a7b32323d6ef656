//! Which edges a thread took.

use serde_json::{Value, json};
use uwf_moderator::graph::passages;
use uwf_protocol::ids::RoleName;
use uwf_protocol::workflow::{Destination, Workflow};

use crate::common::{role, status_maps, workflow};

/// Returns the keys of the edges that a thread with these steps took; `?` where it is unknown.
fn keys(workflow: &Workflow<Value>, steps: &[(&str, Value)], next: Option<Destination>) -> String {
    let steps: Vec<(RoleName, &Value)> = steps
        .iter()
        .map(|(name, output)| (role(name), output))
        .collect();
    let steps: Vec<(&RoleName, &Value)> =
        steps.iter().map(|(role, output)| (role, *output)).collect();
    let mut keys = Vec::new();
    for passage in passages(workflow, &steps, next.as_ref()) {
        keys.push(
            passage
                .edge
                .map_or_else(|| "?".to_owned(), |edge| edge.to_key()),
        );
        keys.extend(passage.reentry.map(|edge| edge.to_key()));
    }
    keys.join(" ")
}

fn to(name: &str) -> Option<Destination> {
    Some(Destination::Role(role(name)))
}

fn status(status: &str) -> Value {
    json!({ "$status": status })
}

fn maps() -> Workflow<Value> {
    status_maps(&json!({
        "$START": { "new": { "role": "a" }, "resume": { "role": "b" } },
        "a": { "left": { "role": "b" }, "right": { "role": "b" }, "ask": { "role": "$SUSPEND" } },
        "b": { "_": { "role": "$END" } },
    }))
}

/// A workflow whose role `a` has these edges in a list.
fn list(edges: Value) -> Workflow<Value> {
    workflow(
        &json!({ "a": {}, "b": {} }),
        &json!({ "one": "1", "two": "2" }),
        &json!({
            "$START": [{ "role": "a" }],
            "a": edges,
            "b": [{ "role": "$END" }],
        }),
    )
}

#[test]
fn in_a_status_map_the_answer_tells_the_edge() {
    let flow = maps();
    assert_eq!(keys(&flow, &[], None), "$START/new");
    let steps = [("a", status("left")), ("b", json!({}))];
    assert_eq!(keys(&flow, &steps, None), "$START/new a/left b/_");
    let steps = [("a", status("right"))];
    assert_eq!(keys(&flow, &steps, to("b")), "$START/new a/right");
}

#[test]
fn a_role_that_asked_runs_again() {
    let steps = [("a", status("ask")), ("a", status("left"))];
    assert_eq!(keys(&maps(), &steps, None), "$START/new a/ask a/left");
    let steps = [("b", status("$SUSPEND")), ("b", json!({}))];
    assert_eq!(keys(&maps(), &steps, None), "? b/$SUSPEND b/_");
    let flow = list(json!([{ "role": "b", "condition": "one" }]));
    let steps = [("a", status("$SUSPEND"))];
    assert_eq!(
        keys(&flow, &steps, Some(Destination::Suspend)),
        "$START/1 a/$SUSPEND"
    );
}

#[test]
fn an_ended_thread_enters_again_by_resume() {
    let steps = [("a", status("left")), ("b", json!({})), ("b", json!({}))];
    let expected = "$START/new a/left b/_ $START/resume b/_";
    assert_eq!(keys(&maps(), &steps, Some(Destination::End)), expected);
}

#[test]
fn an_edge_that_does_not_lead_to_the_next_step_was_not_taken() {
    let steps = [("b", json!({})), ("a", status("left"))];
    assert_eq!(keys(&maps(), &steps, None), "? ? a/left");
    assert_eq!(keys(&maps(), &[("gone", json!({}))], None), "? ?");
}

#[test]
fn in_a_list_the_next_step_tells_the_edge() {
    let flow = list(json!([
        { "role": "b", "condition": "one" },
        { "role": "$SUSPEND", "condition": "two" },
        { "role": "$END" },
        { "role": "b" },
    ]));
    let steps = [("a", json!({})), ("b", json!({}))];
    assert_eq!(keys(&flow, &steps, None), "$START/1 a/1 b/1");
    let steps = [("a", json!({})), ("a", json!({}))];
    assert_eq!(
        keys(&flow, &steps, Some(Destination::End)),
        "$START/1 a/2 a/3"
    );
}

#[test]
fn if_several_edges_of_a_list_lead_there_it_is_unknown_which_one_was_taken() {
    let flow = list(json!([
        { "role": "b", "condition": "one" },
        { "role": "b", "condition": "two" },
        { "role": "$END" },
    ]));
    let steps = [("a", json!({}))];
    assert_eq!(keys(&flow, &steps, to("b")), "$START/1 ?");
    assert_eq!(keys(&flow, &steps, None), "$START/1 ?");
    assert_eq!(keys(&flow, &steps, Some(Destination::End)), "$START/1 a/3");
}

#[test]
fn the_key_of_an_edge_is_its_own_whatever_its_node_is_called() {
    let flow = status_maps(&json!({
        "$START": { "_": { "role": "a/b~" } },
        "a/b~": { "c/d": { "role": "$END" } },
    }));
    let steps = [("a/b~", status("c/d"))];
    assert_eq!(keys(&flow, &steps, None), "$START/_ a~1b~0/c/d");
}
