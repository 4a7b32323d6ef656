//! What a program is told of its visit and how long it has to end, what a wait begins with, and what a run has cost.

use std::fs;

use serde_json::Value;

use super::threads::{run, thread_of};
use crate::processes::signal;
use crate::world::{World, wait_until};

fn lines(world: &World, file: &str) -> Vec<String> {
    let text = fs::read_to_string(world.project().join(file)).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_entry_of_a_step_is_the_same_for_all_its_attempts_and_another_one_for_each_visit() {
    let world = World::new();
    let says = |file: &str| format!("echo \"$ORCHESTRATE_ENTRY\" >> {file}");
    let pipeline = format!(
        "steps:
- {{name: Retried, command: [sh, -c, '{}; test -e once || {{ touch once; exit 1; }}'], retries: {{max: 1, delay_ms: 0}}}}
- {{name: Back, command: [sh, -c, 'test -e back || {{ touch back; exit 1; }}'], on: {{failure: {{goto: Retried}}}}}}
- {{name: L, for_each: {{items: [1, 2], steps: [{{name: Each, command: [sh, -c, '{}']}}]}}}}
- {{name: Killed, command: [sh, -c, '{}; test -e killed || {{ touch killed; kill -9 $PPID; exit 1; }}']}}
- {{name: Failed, command: [sh, -c, '{}; test -e failed || {{ touch failed; exit 1; }}']}}
",
        says("retried"),
        says("each"),
        says("kills"),
        says("fails"),
    );
    assert_eq!(run(&world, &pipeline, "r").code, -1);
    world.wait_until_free(&thread_of(&world, "r"));
    world.uwf(&["orchestrate", "resume", "r"]).exits(1);
    world.uwf(&["orchestrate", "resume", "r"]).exits(0);
    let retried = lines(&world, "retried");
    assert_eq!(retried.len(), 3);
    assert!(!retried[0].is_empty());
    assert_eq!(retried[0], retried[1], "a retry");
    assert_ne!(retried[1], retried[2], "a jump back");
    let each = lines(&world, "each");
    assert_ne!(each[0], each[1], "another item");
    for (file, what) in [("kills", "after a kill"), ("fails", "after a failure")] {
        let entries = lines(&world, file);
        assert_eq!(entries.len(), 2, "{what}");
        assert_eq!(entries[0], entries[1], "{what}");
    }
}

#[test]
fn a_wait_that_was_interrupted_has_its_full_time_again() {
    let world = World::new();
    let pipeline = "steps: [{name: W, wait_for: {glob: never, timeout_sec: 2, poll_ms: 20}}]";
    world.write("p.yaml", pipeline);
    let engine = world.spawn(&["orchestrate", "run", "p.yaml", "--run-id", "r"]);
    let status = || {
        let status = world.uwf(&["orchestrate", "status", "r", "--json"]);
        serde_json::from_str::<Value>(&status.stdout).unwrap_or_default()
    };
    wait_until("it waits", || status()["current_step"]["key"] == "W");
    std::thread::sleep(std::time::Duration::from_millis(700));
    signal("TERM", engine.id());
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(143));
    let began = std::time::Instant::now();
    world.uwf(&["orchestrate", "resume", "r"]).exits(124);
    let took = began.elapsed();
    assert!(took.as_millis() >= 2000, "{took:?}");
}

#[test]
fn only_a_provider_whose_program_ran_has_cost_what_is_unknown() {
    let world = World::new();
    world.write("there", "");
    let pipeline = "
strict_flow: false
providers:
  p: {command: [echo, '${PROMPT}']}
  gone: {command: [no-such-program-anywhere]}
steps:
- {name: C, command: ['true']}
- {name: W, wait_for: {glob: there}}
- {name: L, for_each: {items: [1], steps: [{name: I, command: ['true']}]}}
- {name: P, provider: p, input_file: there}
- {name: Gone, provider: gone}
- {name: Unread, provider: p, input_file: nowhere}
- {name: Secret, provider: p, input_file: there, secrets: [NO_SUCH_SECRET]}
";
    run(&world, pipeline, "r").exits(0);
    let thread = thread_of(&world, "r");
    let cost = || world.uwf(&["thread", "cost", &thread]).exits(0).json();
    let unknown = |cost: &Value| {
        let rows = cost["rows"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["costUnknown"] != 0);
        let rows = rows.map(|row| format!("{} {}", row["key"], row["tokensUnknown"]));
        rows.collect::<Vec<_>>()
    };
    let kept = cost();
    assert_eq!(unknown(&kept), ["\"P\" 1"], "{kept}");
    assert_eq!(kept["total"]["costUnknown"], 1);
    assert_eq!(kept["total"]["tokensUnknown"], 1);
    // The sums can be made again from the chain.
    fs::remove_file(world.root().join("runs").join(&thread).join("used.json")).unwrap();
    assert_eq!(cost(), kept);
}

#[test]
fn a_program_has_several_seconds_to_end_after_a_signal() {
    let world = World::new();
    let program =
        "trap \"sleep 7; touch done; exit 0\" TERM; touch at-work; while :; do sleep 0.1; done";
    let pipeline = format!("steps: [{{name: A, command: [sh, -c, '{program}']}}]");
    world.write("p.yaml", &pipeline);
    let engine = world.spawn(&["orchestrate", "run", "p.yaml"]);
    wait_until("it works", || world.project().join("at-work").exists());
    signal("TERM", engine.id());
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(143));
    assert!(world.project().join("done").exists());
}
