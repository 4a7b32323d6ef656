//! The session of a program behind `uwf-command` that works while its adapter and the engine die: nothing is asked twice.

use std::fs;

use serde_json::json;

use crate::checks::{asked, world};
use crate::processes::{is_running, kill_all_of, signal};
use crate::world::{World, wait_until};

/// What an agent does that says in which process it works, and waits.
const WAITS: &str = "echo $$ > worker; while [ ! -e go ]; do sleep 0.02; done";

/// Starts a step whose agent waits, and returns the call and the process of the agent's program.
fn at_work(world: &World, thread: &str) -> (std::process::Child, String) {
    let call = world.spawn(&["thread", "step", thread]);
    let worker = world.project().join("worker");
    let read = || fs::read_to_string(&worker).unwrap_or_default();
    wait_until("the agent works", || read().ends_with('\n'));
    (call, read().trim().to_owned())
}

/// Kills everything while the agent works at a step. The next attempt does not wait.
fn die_at_work(world: &World, thread: &str) {
    world.write("do-0", WAITS);
    let (mut call, _) = at_work(world, thread);
    kill_all_of(world);
    call.wait().unwrap();
    world.write("go", "");
}

#[test]
fn a_program_that_dies_with_its_adapter_and_the_engine_goes_on_in_its_session() {
    let (world, thread) = world(r#"["true"]"#, "");
    die_at_work(&world, &thread);
    world.step(&thread).exits(0);
    let asked = asked(&world);
    assert_eq!(asked.len(), 2, "{asked:?}");
    let told = "Your last attempt at this step failed: you were interrupted before you answered";
    assert!(asked[1].starts_with(told), "{}", asked[1]);
}

#[test]
fn an_answer_that_outlives_its_adapter_and_the_engine_keeps_its_session() {
    let (world, thread) = world(r#"["test -e fixed"]"#, "");
    world.write("do-0", WAITS);
    world.write("do-1", "touch fixed");
    let (mut engine, worker) = at_work(&world, &thread);
    let agent = world.agent_at_work(&thread);
    engine.kill().unwrap();
    engine.wait().unwrap();
    signal("KILL", agent);
    world.write("go", "");
    wait_until("the program has ended", || !is_running(&worker));
    world.step(&thread).exits(0);
    let asked = asked(&world);
    assert_eq!(asked.len(), 2, "the answer is not asked for again");
    let told = "Your work did not pass the checks.";
    assert!(asked[1].starts_with(told), "in the session: {}", asked[1]);
}

#[test]
fn a_new_session_is_begun_for_a_person_who_wants_one() {
    let (world, thread) = world(r#"["true"]"#, "");
    die_at_work(&world, &thread);
    let step = world.uwf(&["thread", "step", &thread, "--new-session"]);
    assert_eq!(step.exits(0).json()["checks"][0]["exitCode"], json!(0));
    assert!(asked(&world)[1].contains("You write."), "the whole prompt");
}
