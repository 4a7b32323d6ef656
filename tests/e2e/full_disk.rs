//! A disk that takes no more: nothing half written gets a name, and the thread goes on when there is room.
//!
//! A limit on the size of files stands in for the full disk: a write beyond it fails as one to a full disk does.

use std::process::Command;

use serde_json::json;

use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, REVIEW, Run, World, binary};

const SCRIPT: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n";

/// Runs a step while no file can become larger than so many blocks of 512 bytes.
fn step_with_room_for(world: &World, thread: &str, blocks: u32) -> Run {
    let step = world.command(&["thread", "step", thread]);
    // The shell ignores the signal that comes with the failed write, and so does what it becomes.
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &limited])
        .arg(binary())
        .args(step.get_args())
        .current_dir(world.project())
        .env_clear()
        .envs(
            step.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .output()
        .unwrap()
        .into()
}

#[test]
fn a_step_without_room_changes_nothing_and_runs_when_there_is_some() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(SCRIPT);
    let thread = world.start("review");
    let mut failed = 0;
    let mut done = 0;
    for blocks in 0..24 {
        let before = world.show(&thread)["head"].clone();
        let run = step_with_room_for(&world, &thread, blocks);
        let after = world.show(&thread)["head"].clone();
        if run.code == 0 {
            done += 1;
            assert_ne!(
                after, before,
                "with {blocks} blocks a step was done, and the head stayed"
            );
        } else {
            failed += 1;
            assert!(
                [1, 3].contains(&run.code),
                "{blocks} blocks: {} {}",
                run.code,
                run.stderr
            );
            assert!(
                run.stderr.contains("error: "),
                "{blocks} blocks: {}",
                run.stderr
            );
            assert_eq!(
                after, before,
                "with {blocks} blocks a step failed, and the head moved"
            );
        }
    }
    assert!(
        failed > 0 && done > 0,
        "the limits are all too small or too large: {failed}, {done}"
    );
    world.uwf(&["cas", "verify"]).exits(0);
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(false));
}

#[test]
fn nothing_is_registered_or_started_without_room() {
    let world = World::new();
    let hash = world.put(REVIEW);
    let heads = world.state("threads.yaml");
    let start = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} thread start review -p task",
        binary().display()
    );
    let command = world.command(&[]);
    let output = Command::new("sh")
        .args(["-c", &start])
        .current_dir(world.project())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .output()
        .unwrap();
    Run::from(output).exits(1).says("error: ");
    assert_eq!(world.state("threads.yaml"), heads);
    assert_eq!(world.put(REVIEW), hash);
    world.start("review");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_file_that_cannot_be_replaced_keeps_what_it_held() {
    let more = "y".repeat(8 * 1024);
    let patch = json!({ "path": "kept", "search": "MARK", "replace": more });
    let server = ModelServer::start(vec![
        Scripted::calls(&[("patch_file", patch)]),
        Scripted::calls(&[("finish", json!({ "note": "no room", "body": "" }))]),
    ]);
    let world = World::new();
    world.put(ONE_STEP);
    let url = server.base_url();
    for (key, value) in [
        ("providers.local.baseUrl", url.as_str()),
        ("models.m.provider", "local"),
        ("models.m.name", "m"),
        ("defaultModel", "m"),
    ] {
        world.uwf(&["config", "set", key, value]).exits(0);
    }
    world.agent("uwf-builtin", &[]);
    let held = "x".repeat(99 * 1024) + "MARK";
    world.write("kept", &held);
    let thread = world.start("one");
    step_with_room_for(&world, &thread, 200).exits(0);
    let told = server.requests()[1].json()["messages"].clone();
    let told = told.as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("could not write `kept`"), "{told}");
    let kept = std::fs::read_to_string(world.project().join("kept")).unwrap();
    assert!(kept == held, "{} bytes are left", kept.len());
}
