//! What needs a node.

use serde_json::{Value, json};

use crate::world::{REVIEW, World};

const REVIEWED: &str = "roles:\n  writer:\n    - output: { plan: p }\n    - output: { plan: q }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n    - output: { $status: ask, question: q }\n";

/// Returns a world with a thread of four steps, the thread, and the nodes of its steps.
fn world() -> (World, String, Vec<Value>) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(REVIEWED);
    let args = ["thread", "start", "review", "-p", "x", "--name", "fix-42"];
    let started = world.uwf(&args).exits(0).json();
    let thread = started["thread"].as_str().unwrap().to_owned();
    let step = |_| world.step(&thread).exits(0).json()["head"].clone();
    let steps = (0..4).map(step).collect();
    (world, thread, steps)
}

#[track_caller]
fn which(world: &World, node: &Value) -> Value {
    let args = ["cas", "which", node.as_str().unwrap()];
    world.uwf(&args).exits(0).json()
}

fn part(world: &World, step: &Value, key: &str) -> Value {
    let node = world
        .uwf(&["cas", "get", step.as_str().unwrap()])
        .exits(0)
        .json();
    node["payload"][key].clone()
}

fn file(world: &World, node: &Value) -> std::path::PathBuf {
    world
        .root()
        .join(format!("cas/{}.bin", node.as_str().unwrap()))
}

#[test]
fn a_node_is_needed_by_the_steps_that_have_it() {
    let (world, thread, steps) = world();
    let fork = world.uwf(&["thread", "fork", "fix-42@2"]).exits(0).json();
    let detail = part(&world, &steps[1], "detail");
    let raw = part(&world, &detail, "raw");
    let second = json!({ "number": 2, "step": steps[1], "role": "reviewer" });
    for (node, what) in [
        (&steps[1], "step of reviewer"),
        (&detail, "detail of a step"),
        (&raw, "text"),
    ] {
        let uses = which(&world, node);
        assert_eq!(
            (&uses["what"], &uses["state"]),
            (&json!(what), &json!("sound"))
        );
        let named = |one: &Value| json!([one["thread"], one["name"], one["start"], one["steps"]]);
        let threads: Vec<Value> = uses["threads"]
            .as_array()
            .unwrap()
            .iter()
            .map(named)
            .collect();
        let expected = json!([
            [thread, "fix-42", false, [second]],
            [fork["thread"], null, false, [second]],
        ]);
        assert_eq!(json!(threads), expected, "{what}");
        assert_eq!(
            (&uses["reachable"], &uses["workflows"]),
            (&json!(true), &json!([]))
        );
    }
    let uses = which(&world, &raw);
    assert_eq!(
        uses["referrers"],
        json!([{ "hash": detail, "what": "detail of a step" }])
    );
    let text = world
        .uwf(&["cas", "which", "fix-42@2", "--format", "text"])
        .exits(0)
        .stdout;
    let hash = steps[1].as_str().unwrap();
    assert!(
        text.contains(&format!(
            "{thread} fix-42, active: step 2 of reviewer ({hash})\n"
        )),
        "{text}"
    );
}

#[test]
fn starts_and_workflows_are_needed_by_threads_also_by_ended_ones() {
    let (world, thread, _) = world();
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let start = world.uwf(&["cas", "walk", "fix-42@0"]).exits(0).json()["hashes"][0].clone();
    let workflow = part(&world, &start, "workflow");
    for (node, registered) in [
        (&start, json!([])),
        (&workflow, json!([{ "name": "review", "hash": workflow }])),
    ] {
        let uses = which(&world, node);
        let expected = json!([{ "thread": thread, "name": "fix-42", "ended": "cancelled", "start": true, "steps": [] }]);
        assert_eq!(uses["threads"], expected);
        assert_eq!(uses["workflows"], registered);
    }
}

#[test]
fn a_replaced_step_and_what_nothing_needs_are_told_apart() {
    let (world, thread, steps) = world();
    world.uwf(&["thread", "poke", &thread]).exits(0);
    let uses = which(&world, &steps[3]);
    assert_eq!(uses["threads"], json!([]));
    assert_eq!(
        uses["replaced"],
        json!([{ "step": steps[3], "thread": thread }])
    );
    assert_eq!(uses["reachable"], json!(true));
    let text = world
        .uwf(&["cas", "put-text", "nobody needs me"])
        .exits(0)
        .json();
    let uses = which(&world, &text["hash"]);
    assert_eq!(
        (&uses["what"], &uses["reachable"]),
        (&json!("text"), &json!(false))
    );
    assert_eq!(uses["referrers"], json!([]));
    let args = [
        "cas",
        "which",
        text["hash"].as_str().unwrap(),
        "--format",
        "text",
    ];
    let shown = world.uwf(&args).exits(0).stdout;
    assert!(shown.contains("uwf cas gc"), "{shown}");
    world
        .uwf(&["cas", "which", "0000000000000"])
        .exits(1)
        .says("is not in the store");
}

#[test]
fn what_only_the_record_of_a_run_needs_is_reachable() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer:\n    - output: { other: p }\n");
    let thread = world.start("review");
    world.step(&thread).exits(3);
    let raw = world.show(&thread)["attempts"][0]["raw"].clone();
    let uses = which(&world, &raw);
    assert_eq!(
        (&uses["threads"], &uses["runs"], &uses["reachable"]),
        (&json!([]), &json!([raw]), &json!(true))
    );
}

#[test]
fn corrupt_and_missing_nodes_say_so_and_who_needs_them() {
    let (world, thread, steps) = world();
    let output = part(&world, &steps[2], "output");
    std::fs::write(file(&world, &output), "x").unwrap();
    std::fs::remove_file(file(&world, &steps[1])).unwrap();
    let second = json!({ "number": 2, "step": steps[1], "role": null });
    let third = json!({ "number": 3, "step": steps[2], "role": "writer" });
    for (node, state, step) in [(&output, "corrupt", third), (&steps[1], "missing", second)] {
        let run = world
            .uwf(&["cas", "which", node.as_str().unwrap()])
            .exits(4);
        let uses = run.json();
        assert_eq!(uses["state"], json!(state));
        assert!(uses["problem"].is_string());
        assert_eq!(uses["threads"][0]["thread"], json!(thread));
        assert_eq!(uses["threads"][0]["steps"], json!([step]), "{state}");
    }
    // What lies before the missing step cannot be known any more, and the corrupt node is named.
    let uses = which(&world, &steps[0]);
    assert_eq!(
        (&uses["threads"], &uses["unreadable"]),
        (&json!([]), &json!([output]))
    );
}
