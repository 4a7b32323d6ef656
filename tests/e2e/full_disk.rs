//! A disk that takes no more: nothing half written gets a name, and the thread goes on when there is room.
//!
//! A limit on the size of files stands in for the full disk: a write beyond it fails as one to a full disk does.

use std::process::Command;

use serde_json::json;

use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, REVIEW, Run, World, binary};

const SCRIPT: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n";

/// Runs a command while no file can become larger than so many blocks of 512 bytes.
fn uwf_with_room_for(blocks: u32, world: &World, args: &[&str]) -> Run {
    // The shell ignores the signal that comes with the failed write, and so does what it becomes.
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &limited])
        .arg(binary())
        .args(args)
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
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
        let run = uwf_with_room_for(blocks, &world, &["thread", "step", &thread]);
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
    let start = ["thread", "start", "review", "-p", "task"];
    uwf_with_room_for(0, &world, &start)
        .exits(1)
        .says("error: ");
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
    world.model("m", &server.base_url());
    world.configure("defaultModel", "m");
    world.agent("uwf-builtin", &[]);
    let held = "x".repeat(99 * 1024) + "MARK";
    world.write("kept", &held);
    let thread = world.start("one");
    uwf_with_room_for(200, &world, &["thread", "step", &thread]).exits(0);
    let told = server.requests()[1].json()["messages"].clone();
    let told = told.as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("could not write `kept`"), "{told}");
    let kept = std::fs::read_to_string(world.project().join("kept")).unwrap();
    assert!(kept == held, "{} bytes are left", kept.len());
}
