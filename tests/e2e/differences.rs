//! `thread diff`: two threads from their last common step, and two steps.

use serde_json::{Value, json};

use crate::world::{REVIEW, World};

/// A thread of two steps, and a fork of it whose second step was done with another script.
fn forked() -> (World, String, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: rejected, reason: short }, body: \"One.\\nTwo.\\n\" }]\n",
    );
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let first = format!("{thread}@1");
    let fork = world.uwf(&["thread", "fork", &first]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap().to_owned();
    world.step(&thread).exits(0);
    world.step(&thread).exits(0);
    world.mock(
        "roles:\n  reviewer: [{ output: { $status: approved, summary: good }, body: \"One.\\nThree.\\n\" }]\n",
    );
    world.step(&fork).exits(0);
    (world, thread, fork)
}

fn diff(world: &World, a: &str, b: &str) -> Value {
    world.uwf(&["thread", "diff", a, b]).exits(0).json()
}

fn diff_text(world: &World, a: &str, b: &str) -> String {
    let args = ["thread", "diff", a, b, "--format", "text"];
    world.uwf(&args).exits(0).stdout
}

#[test]
fn threads_differ_after_their_last_common_step() {
    let (world, thread, fork) = forked();
    let found = diff(&world, &thread, &fork);
    assert_eq!(found["commonSteps"], json!(1));
    assert_eq!(found["task"], json!([]));
    let steps = found["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0]["same"], json!(false));
    assert_eq!(steps[0]["a"]["number"], json!(2));
    let data = steps[0]["data"].as_array().unwrap();
    assert_eq!(data.len(), 3);
    for field in [
        json!({ "path": "$status", "a": "rejected", "b": "approved" }),
        json!({ "path": "reason", "a": "short" }),
        json!({ "path": "summary", "b": "good" }),
    ] {
        assert!(data.contains(&field), "{field}: {data:?}");
    }
    assert_eq!(steps[0]["instruction"], json!([]));
    assert_eq!(steps[1]["a"]["role"], json!("writer"));
    assert_eq!(steps[1]["b"], json!(null));

    let text = diff_text(&world, &thread, &fork);
    for line in [
        &format!("--- thread {thread}\n+++ thread {fork}\n1 step in common, "),
        "data.$status: \"rejected\" → \"approved\"\n",
        "data.reason: \"short\" → (none)\n",
        "\n One.\n-Two.\n+Three.\n",
        "--- step 3: writer ",
        "\n+++ no step",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_thread_does_not_differ_from_itself_and_threads_may_have_nothing_in_common() {
    let (world, thread, fork) = forked();
    let found = diff(&world, &thread, &thread);
    assert_eq!(
        (&found["commonSteps"], &found["steps"]),
        (&json!(3), &json!([]))
    );
    assert!(diff_text(&world, &thread, &thread).ends_with("no step differs\n"));
    let args = ["thread", "start", "review", "-p", "another task"];
    let other = world.uwf(&args).exits(0).json();
    let other = other["thread"].as_str().unwrap();
    let found = diff(&world, &fork, other);
    assert_eq!(found["lastCommon"], json!(null));
    assert_eq!(
        found["task"][0]["lines"],
        json!(["-the task", "+another task"])
    );
    assert_eq!(found["steps"].as_array().unwrap().len(), 2);
}

#[test]
fn steps_are_compared_and_a_thread_stands_for_its_head_beside_a_step() {
    let (world, thread, fork) = forked();
    let found = diff(&world, &format!("{thread}@2"), &fork);
    assert_eq!(found["b"]["role"], json!("reviewer"));
    let text = found["text"][0]["lines"].as_array().unwrap();
    assert!(text.contains(&json!("+Three.")), "{text:?}");
    let same = diff_text(&world, &format!("{thread}@1"), &format!("{fork}@1"));
    assert!(
        same.ends_with("the same role, instruction, data and answer\n"),
        "{same}"
    );
    let start = format!("{thread}@0");
    world
        .uwf(&["thread", "diff", &start, &format!("{thread}@1")])
        .exits(1);
    world.uwf(&["thread", "diff", "NOSUCH", &thread]).exits(1);
}

#[test]
fn steps_that_were_copied_onto_another_workflow_are_in_common() {
    let (world, thread, fork) = forked();
    let before = diff(&world, &thread, &fork);
    world.put(&REVIEW.replace("Begin writing", "Begin to write"));
    world.uwf(&["thread", "migrate", &thread]).exits(0);
    let after = diff(&world, &thread, &fork);
    assert_eq!(after["commonSteps"], json!(1));
    assert_ne!(after["aWorkflow"], after["bWorkflow"]);
    let paths = |found: &Value| found["steps"][0]["data"].clone();
    assert_eq!(paths(&after), paths(&before));
}
