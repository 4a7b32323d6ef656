//! Forks of runs: within a loop, of a run that is completed, of a run of one step, and under another workflow.

use std::fs;

use super::changed_loops::{FLOW, log};
use super::threads::{picture, thread_of};
use crate::world::{Run, World};

fn world(more: &[&str]) -> (World, String) {
    let world = World::new();
    world.write("p.yaml", FLOW);
    world.write("ok", "");
    let args = [&["orchestrate"], more, &["--run-id", "r"]].concat();
    world.uwf(&args).exits(0);
    let thread = thread_of(&world, "r");
    (world, thread)
}

/// Forks a run at a point, goes on with the fork, and returns what the fork did and its picture.
fn forked(world: &World, point: &str) -> (String, serde_json::Value) {
    fs::write(world.project().join("log"), "").unwrap();
    let fork = world.uwf(&["thread", "fork", point]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap();
    let done = world.uwf(&["orchestrate", "resume", fork, "--json"]);
    let id = done.exits(0).json()["run_id"].as_str().unwrap().to_owned();
    (log(world), picture(world, &id))
}

#[test]
fn a_fork_within_a_loop_goes_on_in_its_item() {
    let (world, thread) = world(&["run", "p.yaml"]);
    // Back from the end: `Z`, `L`, `L[1].Y`. Then comes the second step of the second item.
    let (log, picture) = forked(&world, &format!("{thread}~3"));
    assert_eq!(log, "Y2 Z");
    assert_eq!(picture["status"], "completed");
    assert_eq!(picture["steps"]["L"][0]["X"]["status"], "completed");
    let (log, _) = forked(&world, &format!("{thread}~4"));
    assert_eq!(log, "X2 Y2 Z");
}

#[test]
fn a_fork_of_a_completed_run_has_nothing_left_to_do() {
    let (world, thread) = world(&["run", "p.yaml"]);
    let (log, picture) = forked(&world, &thread);
    assert_eq!(log, "");
    assert_eq!(picture["status"], "completed");
}

#[test]
fn a_fork_of_a_run_of_one_step_does_that_step() {
    let (world, thread) = world(&["run-step", "L", "--workflow", "p.yaml"]);
    let (log, picture) = forked(&world, &format!("{thread}~2"));
    assert_eq!(log, "Y2");
    assert_eq!(picture["status"], "completed");
}

#[test]
fn a_run_is_not_forked_to_another_workflow() {
    let (world, thread) = world(&["run", "p.yaml"]);
    let threads = world.state("threads.yaml");
    let args = ["thread", "fork", &thread, "--workflow", "p.yaml"];
    let refused: Run = world.uwf(&args);
    assert_ne!(refused.code, 0);
    refused.says("hint: ");
    assert_eq!(world.state("threads.yaml"), threads);
}
