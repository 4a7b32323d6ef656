//! A paused thread starts no step, by whatever command, until a person lets it go on; what runs already goes on.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate, runs};
use crate::resumes::again;
use crate::world::{ONE_STEP, REVIEW, World, wait_until};

const ENDLESS: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n";

/// A world with a thread whose agent counts its runs.
fn world(workflow: &str, script: &str) -> (World, String) {
    let world = World::new();
    world.put(workflow);
    gated_agent(&world, script);
    let name = workflow.trim_start().lines().next().unwrap();
    let thread = world.start(name.strip_prefix("name: ").unwrap());
    (world, thread)
}

fn pause(world: &World, thread: &str) -> Value {
    let args = ["thread", "pause", thread, "-m", "wait for the release"];
    world.uwf(&args).exits(0).json()
}

fn unpause(world: &World, thread: &str) -> Value {
    world.uwf(&["thread", "unpause", thread]).exits(0).json()
}

/// Returns the threads that are listed with a status.
fn listed(world: &World, status: &str) -> Vec<Value> {
    let args = ["thread", "list", "--status", status];
    let listed = world.uwf(&args).exits(0).json();
    let threads = listed.as_array().unwrap().iter();
    threads.map(|item| item["thread"].clone()).collect()
}

#[test]
fn a_message_is_read_from_standard_input() {
    let (world, thread) = world(REVIEW, ENDLESS);
    let file = world.write("why", "two\nlines\n");
    let mut command = world.command(&["thread", "pause", &thread, "-m", "-"]);
    command.stdin(std::fs::File::open(file).unwrap());
    assert!(command.output().unwrap().status.success());
    assert_eq!(world.show(&thread)["paused"]["reason"], "two\nlines");
}

#[test]
fn a_paused_thread_does_no_step_until_it_is_unpaused() {
    let (world, thread) = world(REVIEW, ENDLESS);
    world.step(&thread).exits(0);
    let before = world.show(&thread);
    let paused = pause(&world, &thread);
    assert_eq!(paused["changed"], json!(true));
    for command in ["step", "resume", "poke"] {
        world
            .uwf(&["thread", command, &thread])
            .exits(6)
            .says("is paused")
            .says("wait for the release")
            .says(&format!("`uwf thread unpause {thread}` lets it go on"));
    }
    assert_eq!(runs(&world), 1);
    assert_eq!(world.show(&thread)["head"], before["head"]);
    world.uwf(&["doctor"]).exits(0);
    world.uwf(&["cas", "verify"]).exits(0);
    assert_eq!(unpause(&world, &thread)["changed"], json!(true));
    assert_eq!(world.show(&thread), before);
    world.step(&thread).exits(0);
}

#[test]
fn a_pause_is_a_status_of_its_own_and_tells_who_when_and_why() {
    let (world, thread) = world(REVIEW, ENDLESS);
    let other = world.start("review");
    let mut pause = world.command(&["thread", "pause", &thread, "-m", "wait for the release"]);
    let paused = pause.env("USER", "operator").output().unwrap();
    let paused: Value = serde_json::from_slice(&paused.stdout).unwrap();
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("paused"));
    assert_eq!(shown["currentRole"], json!("writer"));
    assert_eq!(shown["paused"], paused["paused"]);
    assert_eq!(shown["paused"]["by"], json!("operator"));
    assert_eq!(shown["paused"]["reason"], json!("wait for the release"));
    assert!(shown["paused"]["at"].as_i64() > Some(1_600_000_000_000));
    assert!(
        shown["hint"]
            .as_str()
            .unwrap()
            .contains("uwf thread unpause")
    );
    assert_eq!(listed(&world, "paused"), [json!(thread)]);
    assert_eq!(listed(&world, "active"), [json!(other)]);
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    for part in [
        "paused, next is writer",
        "by operator: wait for the release",
    ] {
        assert!(text.stdout.contains(part), "{}", text.stdout);
    }
    assert_eq!(world.show(&other)["paused"], json!(null));
}

#[test]
fn a_question_of_a_paused_thread_can_still_be_read() {
    let ask = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: q }\n";
    let (world, thread) = world(REVIEW, ask);
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    pause(&world, &thread);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("paused"));
    assert_eq!(shown["suspendMessage"], json!("Need: q"));
    assert!(listed(&world, "suspended").is_empty());
    unpause(&world, &thread);
    assert_eq!(world.show(&thread)["status"], json!("suspended"));
}

#[test]
fn a_running_step_goes_on_to_its_end_and_then_nothing_starts() {
    let (world, thread) = world(REVIEW, ENDLESS);
    let mut engine = at_work(&world, &["thread", "step", &thread, "-c", "all"]);
    assert_eq!(pause(&world, &thread)["running"], json!(true));
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("running"));
    assert_eq!(shown["paused"]["reason"], json!("wait for the release"));
    open_gate(&world);
    let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines();
    let report: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(report["role"], json!("writer"));
    assert!(lines.next().is_none(), "one step only");
    assert_eq!(engine.wait().unwrap().code(), Some(6));
    assert_eq!(runs(&world), 1);
    assert_eq!(world.show(&thread)["steps"], json!(1));
    assert_eq!(world.show(&thread)["status"], json!("paused"));
}

#[test]
fn a_step_that_waits_for_a_slot_is_not_started_when_its_thread_is_paused() {
    let (world, thread) = world(ONE_STEP, NOTE);
    world.configure("concurrency.maxRunning", "1");
    let mut first = at_work(&world, &["thread", "step", &thread]);
    let second = world.start("one");
    let waits = world.spawn(&["thread", "step", &second]);
    wait_until("the second step waits for a slot", || {
        world.show(&second)["running"]["waiting"] == json!(true)
    });
    pause(&world, &second);
    open_gate(&world);
    assert!(first.wait().unwrap().success());
    let ended = waits.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(6));
    assert_eq!(runs(&world), 1);
    assert_eq!(world.show(&second)["status"], json!("paused"));
}

#[test]
fn pausing_twice_keeps_the_first_pause_unless_there_is_a_new_reason() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let first = pause(&world, &thread);
    for args in [&["-m", "wait for the release"][..], &[], &["-m", " "]] {
        let again = world.uwf(&[&["thread", "pause", &thread], args].concat());
        let again = again.exits(0).json();
        assert_eq!(again["changed"], json!(false));
        assert_eq!(again["paused"], first["paused"]);
    }
    let args = ["thread", "pause", &thread, "-m", "wait for Eve"];
    let other = world.uwf(&args).exits(0).json();
    assert_eq!(other["paused"]["reason"], json!("wait for Eve"));
    unpause(&world, &thread);
    assert_eq!(unpause(&world, &thread)["changed"], json!(false));
}

#[test]
fn an_ended_thread_cannot_be_paused_and_its_earlier_pause_is_over() {
    let (world, _) = world(ONE_STEP, NOTE);
    world.put(&again());
    let thread = world.start("again");
    let mut engine = at_work(&world, &["thread", "step", &thread]);
    pause(&world, &thread);
    open_gate(&world);
    assert!(engine.wait().unwrap().success());
    assert_eq!(world.show(&thread)["status"], json!("completed"));
    for command in ["pause", "unpause"] {
        let args = ["thread", command, &thread];
        world.uwf(&args).exits(7).says("has ended");
    }
    world.step(&thread).exits(7);
    world.uwf(&["thread", "resume", &thread]).exits(0);
    assert_eq!(runs(&world), 2);
}

#[test]
fn a_paused_thread_can_be_killed_and_forked() {
    let (world, thread) = world(REVIEW, ENDLESS);
    let head = world.step(&thread).exits(0).json()["head"].clone();
    pause(&world, &thread);
    let fork = world.uwf(&["thread", "fork", head.as_str().unwrap()]);
    let fork = fork.exits(0).json();
    world.step(fork["thread"].as_str().unwrap()).exits(0);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("cancelled"));
}

#[test]
fn a_record_of_a_pause_that_cannot_be_understood_still_stops_the_thread() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let record = world.root().join("runs").join(&thread).join("paused.json");
    std::fs::write(record, "{").unwrap();
    world.step(&thread).exits(4).says("paused.json");
    assert_eq!(runs(&world), 0);
    unpause(&world, &thread);
    world.step(&thread).exits(0);
}
