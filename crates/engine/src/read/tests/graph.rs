//! Workflows as graphs, and the ways of threads.

use serde_json::{Value, json};
use uwf_protocol::ids::ThreadId;
use uwf_storage::Reason;

use super::World;
use crate::{GraphView, thread_graph, workflow_graph};

fn drawn(world: &World, thread: ThreadId) -> GraphView {
    thread_graph(&world.site, thread).unwrap()
}

/// Returns the edges that were taken, with how often.
fn taken(view: &GraphView) -> Vec<(&str, u64)> {
    let edges = view
        .edges
        .iter()
        .map(|edge| (edge.key.as_str(), edge.taken));
    edges
        .filter_map(|(key, taken)| Some((key, taken.filter(|count| *count > 0)?)))
        .collect()
}

/// Returns where the thread stands.
fn standing(view: &GraphView) -> Value {
    let nodes = view.nodes.iter();
    let stands = nodes.filter_map(|node| Some(json!([node.name, node.standing?])));
    stands.collect()
}

#[test]
fn a_graph_has_the_keys_of_the_format_in_its_order() {
    let world = World::new();
    let view = workflow_graph(&world.site, world.workflow.as_str()).unwrap();
    let view = serde_json::to_value(view).unwrap();
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        keys(&view),
        ["workflow", "name", "description", "nodes", "edges"]
    );
    assert_eq!(keys(&view["nodes"][0]), ["name", "kind", "description"]);
    assert_eq!(
        keys(&view["edges"][0]),
        [
            "key",
            "from",
            "to",
            "status",
            "condition",
            "expression",
            "prompt",
            "declared"
        ]
    );
    let nodes = view["nodes"].as_array().unwrap().iter();
    let nodes: Vec<_> = nodes.map(|node| [&node["name"], &node["kind"]]).collect();
    let expected = [
        ["$START", "start"],
        ["writer", "role"],
        ["reviewer", "role"],
        ["$SUSPEND", "suspend"],
        ["$END", "end"],
    ];
    assert_eq!(nodes, expected);
}

#[test]
fn the_way_of_a_thread_counts_edges_and_visits() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.step(thread, "writer", &json!({}), "");
    world.step(thread, "reviewer", &json!({ "$status": "again" }), "");
    let last = world.step(thread, "writer", &json!({}), "");
    let view = drawn(&world, thread);
    let expected = [("$START/_", 1), ("writer/_", 2), ("reviewer/again", 1)];
    assert_eq!(taken(&view), expected);
    let writer = &view.nodes[1];
    assert_eq!((writer.visits, writer.last_step), (Some(2), Some(last)));
    assert_eq!(standing(&view), json!([["reviewer", "next"]]));
}

#[test]
fn a_thread_stands_where_it_waits_failed_is_blocked_or_ended() {
    let stands = |answers: &[Value], then: fn(&World, ThreadId)| {
        let world = World::new();
        let thread = world.start(10, "Hello");
        for (answer, role) in answers.iter().zip(["writer", "reviewer"].iter().cycle()) {
            world.step(thread, role, answer, "");
        }
        then(&world, thread);
        standing(&drawn(&world, thread))
    };
    let nothing = |_: &World, _: ThreadId| {};
    let ask = json!({ "$status": "ask", "question": "which?" });
    let maybe = json!({ "$status": "maybe" });
    assert_eq!(
        stands(&[json!({}), ask], nothing),
        json!([["reviewer", "waiting"]])
    );
    assert_eq!(
        stands(&[json!({}), maybe], nothing),
        json!([["reviewer", "blocked"]])
    );
    let fail = |world: &World, thread: ThreadId| world.fail(thread, "no");
    assert_eq!(stands(&[], fail), json!([["writer", "failed"]]));
    let complete = |world: &World, thread| world.end(thread, Reason::Completed);
    let done = json!({ "$status": "done" });
    assert_eq!(
        stands(&[json!({}), done], complete),
        json!([["$END", "done"]])
    );
    let cancel = |world: &World, thread| world.end(thread, Reason::Cancelled);
    assert_eq!(stands(&[json!({})], cancel), json!([]));
}

#[test]
fn a_thread_that_runs_stands_at_the_role_at_work() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.step(thread, "writer", &json!({}), "");
    world.write_lease(thread, "reviewer");
    let lease = world.site.root.run(thread).lease;
    let _lock = lease.try_acquire().unwrap().unwrap();
    let view = drawn(&world, thread);
    assert_eq!(standing(&view), json!([["reviewer", "running"]]));
    assert_eq!(taken(&view), [("$START/_", 1), ("writer/_", 1)]);
}

#[test]
fn a_suspension_without_an_edge_is_an_edge_that_the_workflow_does_not_have() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.step(
        thread,
        "writer",
        &json!({ "$status": "$SUSPEND", "reason": "?" }),
        "",
    );
    let view = drawn(&world, thread);
    let added = view.edges.last().unwrap();
    assert_eq!(
        (added.key.as_str(), added.declared),
        ("writer/$SUSPEND", false)
    );
    assert_eq!(taken(&view), [("$START/_", 1), ("writer/$SUSPEND", 1)]);
    assert_eq!(standing(&view), json!([["writer", "waiting"]]));
}

#[test]
fn the_path_names_each_step_with_its_edge() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let start = world.head(thread);
    let step = world.step(thread, "writer", &json!({}), "");
    let path = serde_json::to_value(drawn(&world, thread).thread.unwrap().path).unwrap();
    let expected = json!([
        { "hash": start, "role": "$START", "edge": "$START/_" },
        { "hash": step, "role": "writer", "edge": "writer/_" },
    ]);
    assert_eq!(path, expected);
}
