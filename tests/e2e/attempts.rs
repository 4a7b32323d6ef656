//! What an agent inherits from its engine, and what it does not.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::processes::{kill, signal};
use crate::world::{ONE_STEP, REVIEW, World, binary};

#[test]
fn output_that_nobody_reads_does_not_end_in_the_agents_answer() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer:\n    - { output: { plan: p }, sleepMs: 100 }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n",
    );
    let thread = world.start("review");
    let mut engine = world.spawn(&["thread", "step", &thread, "-c", "2"]);
    drop(engine.stdout.take());
    assert_eq!(engine.wait().unwrap().code(), Some(0));
    let head = world.show(&thread)["head"].clone();
    let said = fs::read_to_string(world.root().join("runs").join(&thread).join("stdout"));
    assert_eq!(json!(said.unwrap().trim_end()), head);
}

#[test]
fn who_is_started_with_nohup_outlives_the_terminal_and_so_does_the_agent() {
    let world = World::new();
    world.put(ONE_STEP);
    let gate = world.project().join("gate");
    let body = format!(
        "while [ ! -e {} ]; do sleep 0.02; done; printf -- '---\\nnote: n\\n---\\n'",
        gate.display()
    );
    let tool = world.script("tool.sh", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("one");
    let engine = Command::new("nohup")
        .arg(binary())
        .args(["thread", "step", &thread])
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let agent = world.agent_at_work(&thread);
    signal("HUP", engine.id());
    signal("HUP", agent);
    world.write("gate", "");
    let ended = engine.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

#[test]
fn a_variable_that_no_program_can_have_is_told_before_the_agent_starts() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    fs::write(world.root().join(".env"), "KEY=a\0b\n").unwrap();
    world
        .step(&thread)
        .exits(3)
        .says("`uwf-mock` could not be started")
        .says("nul byte found")
        .says("hint: no variable and no argument can hold a zero byte");
}

#[test]
fn a_machine_without_proc_is_named_before_anything_is_paid_for() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    let ran = Command::new("unshare")
        .args(["-m", "sh", "-c", "umount -l /proc || exit 77; \"$@\"", "sh"])
        .arg(binary())
        .args(["thread", "step", &thread])
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
        .output();
    let Some(ran) = ran.ok().filter(|ran| ran.status.code() == Some(1)) else {
        eprintln!("skipped: this user may not unmount /proc for a process");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stderr);
    if said.starts_with("unshare") {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(said.contains("error: `/proc` is not mounted"), "{said}");
    assert!(said.contains("hint: mount it"), "{said}");
    assert_eq!(world.show(&thread)["attempts"], json!([]));
}

#[test]
fn a_clock_that_was_set_back_does_not_keep_a_lost_run_from_being_recorded() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    let agent = world.agent_at_work(&thread);
    kill(engine);
    signal("KILL", agent);
    world.wait_until_free(&thread);
    // The clock of the engine that died was a year ahead.
    let file = world.root().join(format!("runs/{thread}/holder.json"));
    let record = fs::read_to_string(&file).unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    let ahead = record["startedAtMs"].as_i64().unwrap() + 365 * 86_400_000;
    record["startedAtMs"] = json!(ahead);
    fs::write(&file, record.to_string()).unwrap();
    open_gate(&world);
    world.step(&thread).exits(0);
}

#[test]
fn the_command_that_tries_a_failed_step_again_keeps_its_agent() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    let fails = world.script("fails", "exit 9");
    let fails = fails.to_str().unwrap();
    world
        .uwf(&["thread", "step", &thread, "--agent", fails])
        .exits(3);
    let shown = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let next = format!("uwf thread step {thread} --agent {fails}\n");
    assert!(shown.stdout.contains(&next), "{}", shown.stdout);
    world.step(&thread).exits(0);
}
