//! How runs go on within a loop under a workflow file that has changed: what was paid for is not done again without a word, and
//! no item is left out.

use std::fs;

use crate::world::{Run, World};

/// `Y` fails for the second item until there is a file `ok`. Each step notes that it ran.
pub(super) const FLOW: &str = "
steps:
- name: L
  for_each:
    items: [1, 2]
    steps:
    - {name: X, command: [sh, -c, 'echo X${item} >> log']}
    - {name: Y, command: [sh, -c, 'echo Y${item} >> log; test ${item} = 1 || test -e ok']}
- {name: Z, command: [sh, -c, 'echo Z >> log']}
";

/// Returns a world with a run `r` that stopped at the second item, and whose file is another one now.
fn stopped(changed: &str) -> World {
    let world = World::new();
    world.write("p.yaml", FLOW);
    world
        .uwf(&["orchestrate", "run", "p.yaml", "--run-id", "r"])
        .exits(1);
    assert_eq!(log(&world), "X1 Y1 X2 Y2");
    world.write("p.yaml", changed);
    world.write("ok", "");
    world
}

fn accept(world: &World, more: &[&str]) -> Run {
    let args = ["orchestrate", "resume", "r", "--accept-changed-workflow"];
    world.uwf(&[&args[..], more].concat())
}

/// Returns what ran, in order.
pub(super) fn log(world: &World) -> String {
    let log = fs::read_to_string(world.project().join("log")).unwrap();
    log.lines().collect::<Vec<_>>().join(" ")
}

/// Asserts that the run does not go on under this file, that this is said, and that nothing was done. What the hint says works.
#[track_caller]
fn refused(changed: &str, why: &str) {
    let world = stopped(changed);
    let threads = world.state("threads.yaml");
    let said = accept(&world, &[]).exits(2).says(why);
    let said = said.says("`uwf orchestrate resume r --force-restart`");
    drop(said.says("`uwf orchestrate resume r --accept-changed-workflow --from STEP`"));
    assert_eq!(log(&world), "X1 Y1 X2 Y2");
    assert_eq!(world.state("threads.yaml"), threads);
    accept(&world, &["--from", "Z"]).exits(0);
    assert_eq!(log(&world), "X1 Y1 X2 Y2 Z");
}

#[test]
fn a_loop_that_is_under_way_may_not_be_gone() {
    let gone = "steps: [{name: Z, command: [sh, -c, 'echo Z >> log']}]";
    refused(
        gone,
        "the workflow no longer has loop `L`, whose items are under way",
    );
    refused(&FLOW.replace("name: L", "name: M"), "loop `L`");
    let command =
        "steps: [{name: L, command: ['true']}, {name: Z, command: [sh, -c, 'echo Z >> log']}]";
    refused(command, "step `L` is no longer a loop");
}

#[test]
fn a_step_that_is_completed_for_an_item_may_not_be_gone() {
    let gone = "the workflow no longer has `L.X`, which the run has completed";
    refused(&FLOW.replace("name: X", "name: W"), gone);
    // `Y` is completed for the first item only.
    let gone = "the workflow no longer has `L.Y`, which the run has completed";
    refused(&FLOW.replace("name: Y", "name: W"), gone);
}

#[test]
fn a_completed_step_of_the_open_item_that_is_another_one_now_is_done_again_and_named() {
    let world = stopped(&FLOW.replace("echo X", "echo W"));
    let said = accept(&world, &[]).exits(0);
    said.says("step `L[1].X` is completed, and the file does it differently now")
        .says("the run goes on at step `L[1].X`")
        .says("what comes after it is done again: `L[1].Y`")
        .says("the finished items of loop `L` stay as they are")
        .says("`--from L` begins it anew");
    assert_eq!(log(&world), "X1 Y1 X2 Y2 W2 Y2 Z");
    let state = fs::read_to_string(world.project().join(".orchestrate/runs/r/state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["status"], "completed");
    assert_eq!(state["steps"]["L"][1]["X"]["visit_count"], 2);
    let report = world.uwf(&["orchestrate", "report", "r"]).exits(0);
    assert!(report.stdout.contains(" at L[1].X"), "{}", report.stdout);
}

#[test]
fn the_step_that_stopped_the_run_may_be_another_one_and_items_that_are_done_are_not_done_again() {
    let world = stopped(&FLOW.replace("echo Y", "echo V"));
    accept(&world, &[])
        .exits(0)
        .says("the finished items of loop `L` stay as they are");
    assert_eq!(log(&world), "X1 Y1 X2 Y2 V2 Z");
    let world = stopped(&FLOW.replace("echo Y", "echo V"));
    let said = accept(&world, &["--from", "L"]).exits(0);
    assert!(!said.stderr.contains("stay as they are"), "{}", said.stderr);
    assert_eq!(log(&world), "X1 Y1 X2 Y2 X1 V1 X2 V2 Z");
}

#[test]
fn a_new_step_of_the_body_before_the_place_is_named_and_not_done() {
    let new = "    - {name: New, command: [sh, -c, 'echo N >> log']}\n    - {name: X,";
    let world = stopped(&FLOW.replace("    - {name: X,", new));
    accept(&world, &[])
        .exits(0)
        .says("step `L[1].New` is new and comes before the place where the run goes on")
        .says("`--from L` goes back to it, and begins the loop anew: its finished items are done again");
    assert_eq!(log(&world), "X1 Y1 X2 Y2 Y2 Z");
}

#[test]
fn a_completed_step_is_not_done_again_because_the_one_after_it_is_gone() {
    let world = World::new();
    let two =
        "steps: [{name: A, command: [sh, -c, 'echo A >> log']}, {name: B, command: ['false']}]";
    world.write("p.yaml", two);
    world
        .uwf(&["orchestrate", "run", "p.yaml", "--run-id", "r"])
        .exits(1);
    world.write(
        "p.yaml",
        "steps: [{name: A, command: [sh, -c, 'echo A >> log']}]",
    );
    accept(&world, &[])
        .exits(2)
        .says("the workflow no longer has `B`, where the run stopped")
        .says("put the step back");
    assert_eq!(log(&world), "A");
    accept(&world, &["--from", "A"]).exits(0);
    assert_eq!(log(&world), "A A");
}

#[test]
fn a_completed_step_that_the_file_has_behind_the_place_now_is_done_again_and_named() {
    let lines: Vec<&str> = FLOW.lines().collect();
    let at = |name: &str| lines.iter().position(|line| line.contains(name)).unwrap();
    let mut moved = lines.clone();
    moved.swap(at("name: X"), at("name: Y"));
    let world = stopped(&moved.join("\n"));
    accept(&world, &[])
        .exits(0)
        .says("what comes after it is done again: `L[1].X`");
    assert_eq!(log(&world), "X1 Y1 X2 Y2 Y2 X2 Z");
}

#[test]
fn a_step_that_is_left_and_that_the_file_has_before_the_place_now_is_not_done_and_named() {
    let lines: Vec<&str> = FLOW.lines().collect();
    let mut moved = lines.clone();
    let last = moved.remove(
        lines
            .iter()
            .position(|line| line.contains("name: Z"))
            .unwrap(),
    );
    moved.insert(2, last);
    let world = stopped(&moved.join("\n"));
    accept(&world, &[])
        .exits(0)
        .says("step `Z` comes before the place where the run goes on now, so it is not done")
        .says("`--from Z` goes back to it");
    assert_eq!(log(&world), "X1 Y1 X2 Y2 Y2");
}
