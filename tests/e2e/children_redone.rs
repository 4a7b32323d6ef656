//! Steps that a child did and does again: the parent takes the new result, once, and counts what it cost.

use serde_json::json;

use crate::children_care::{child, played_twice, world};
use crate::gates::runs;
use crate::gc::age_all;
use crate::world::World;

const OLD: &str = "roles:\n  first: [{ output: { note: f } }]\n  one: [{ output: { note: a } }]\n  two: [{ output: { note: old }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 4 } }]\n";
const ASKS: &str = "roles:\n  two: [{ output: { $status: $SUSPEND, reason: Which? }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 4 } }]\n";
const NEW: &str = "roles:\n  two: [{ output: { note: new }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 4 } }]\n";

/// Returns an option that chooses an agent with these answers.
fn agent(world: &World, answers: &str) -> String {
    let name = format!("{}.yaml", answers.len());
    let path = world.write(&name, answers);
    format!("--agent=uwf-mock {}", path.display())
}

/// Returns the child that did the newest step.
fn child_of(world: &World, thread: &str) -> String {
    let list = world.uwf(&["thread", "list", "--all", "--children"]).json();
    let mut list = list.as_array().unwrap().iter();
    let child = list.find(|one| one["parent"]["thread"] == json!(thread));
    child.unwrap()["thread"].as_str().unwrap().to_owned()
}

fn notes(world: &World, thread: &str) -> Vec<String> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap().iter();
    let notes = steps.filter_map(|step| step["output"]["note"].as_str());
    notes.map(str::to_owned).collect()
}

#[test]
fn what_a_child_came_to_after_a_question_replaces_the_old_result() {
    let (world, thread) = played_twice(OLD);
    assert_eq!(notes(&world, &thread), ["old"]);
    let child = child_of(&world, &thread);
    let asks = agent(&world, ASKS);
    world
        .uwf(&["thread", "poke", &thread, "-p", "better", &asks])
        .exits(6)
        .says(&format!("uwf thread resume {child}"));
    world.step(&thread).exits(5);
    world.put("name: other\nroles:\n  it: { goal: g, workflow: ./inner.yaml }\n  last: { goal: h, workflow: ./inner.yaml }\ngraph:\n  $START: { _: { role: it, prompt: Go. } }\n  it: [{ role: last }]\n  last: [{ role: $END }]\n");
    world.uwf(&["thread", "migrate", &thread, "other"]).exits(5);
    let new = agent(&world, NEW);
    world
        .uwf(&["thread", "resume", &child, "-p", "this", &new])
        .exits(0);
    let before = runs(&world);
    let taken = world.step(&thread).exits(0).json();
    assert_eq!((runs(&world), &taken["role"]), (before, &json!("it")));
    assert_eq!(notes(&world, &thread), ["new"]);
    world.step(&thread).exits(0);
    assert_eq!(runs(&world), before + 1);
}

#[test]
fn what_a_child_used_up_after_its_step_counts_for_the_limits() {
    let (world, thread) = played_twice(OLD);
    world.configure("limits.maxCostUsd", "7");
    world.configure("limits.unknownUsage", "ignore");
    let asks = agent(&world, ASKS);
    world
        .uwf(&["thread", "poke", &thread, "-p", "better", &asks])
        .exits(6);
    // The old result is kept, and what was paid for a better one counts all the same.
    world
        .uwf(&["thread", "kill", &child_of(&world, &thread)])
        .exits(0);
    let before = runs(&world);
    world.step(&thread).exits(6).says("maxCostUsd");
    assert_eq!(runs(&world), before);
}

#[test]
fn a_child_that_was_killed_is_not_taken_up_again() {
    let (world, thread) = world("workflow: ./inner.yaml", OLD);
    world.step(&thread).exits(0);
    let first = child(&world, &thread);
    world.uwf(&["thread", "kill", &first]).exits(0);
    world.step(&thread).exits(0);
    assert_ne!(child(&world, &thread), first);
    world
        .uwf(&["thread", "resume", &first, "-p", "go"])
        .exits(7);
    world.uwf(&["thread", "rm", "--force", &thread]).exits(1);
}

#[test]
fn a_child_whose_step_is_made_may_be_removed_with_its_nodes() {
    let (world, thread) = played_twice(OLD);
    let child = child_of(&world, &thread);
    world.uwf(&["thread", "rm", &child]).exits(0);
    age_all(&world, 2 * 86_400);
    world.uwf(&["cas", "gc"]).exits(0);
    world.configure("limits.maxCostUsd", "100");
    world.configure("limits.unknownUsage", "ignore");
    world.step(&thread).exits(0);
}
