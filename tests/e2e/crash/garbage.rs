//! A collector of garbage that is killed anywhere, or comes at any moment of a fork.

use std::fs;
use std::path::PathBuf;

use nix::libc;
use serde_json::{Value, json};

use super::reader;
use super::sweep::{kill_at_many, kill_before, restore, save};
use super::tracer::{Verdict, trace};
use crate::gates::{NOTE, gated_agent};
use crate::gc::{DAY, age, age_all, all_views, full_world, gc, has, put_text, text};
use crate::world::{ONE_STEP, World, wait_until};

const META: &str = "CTS5P6RD8HMCS";
const STEP: &str = "108DB063KRQWW";

fn put(world: &World, kind: &str, data: &Value) -> String {
    let put = world.uwf(&["cas", "put", kind, &data.to_string()]).exits(0);
    text(&put.json()["hash"])
}

#[test]
fn a_collection_that_is_killed_anywhere_leaves_a_sound_store() {
    let (world, _) = full_world();
    let schema = json!({ "type": "object",
        "additionalProperties": { "type": "string", "format": "ocas_ref" } });
    let kind = put(&world, META, &schema);
    let mut last = put_text(&world, "the last");
    for _ in 0..4 {
        last = put(&world, &kind, &json!({ "to": last }));
    }
    age_all(&world, 30 * DAY);
    let views = all_views(&world);
    let calls = kill_at_many(&world, &["cas", "gc"], " cas gc", |_| {
        // What refers to garbage goes before it, so that no node ever lacks another.
        reader::read_every_node(&world.root());
        world.uwf(&["cas", "verify"]).exits(0);
        gc(&world, &[]).exits(0);
        assert!(!has(&world, &last) && !has(&world, &kind));
        let listed = world.uwf(&["cas", "list", "--type", META]).exits(0).json();
        for hash in listed["hashes"].as_array().unwrap() {
            assert!(has(&world, &text(hash)), "{hash}");
        }
    });
    let removed = calls
        .iter()
        .filter(|call| call.starts_with("remove root/cas/") && call.ends_with(".bin"));
    assert!(removed.count() >= 1, "{calls:#?}");
    gc(&world, &[]).exits(0);
    assert_eq!(all_views(&world), views);
}

/// Returns the temporary files at the root and in the folder of the locks.
fn drafts(world: &World) -> Vec<PathBuf> {
    let folders = [world.root(), world.root().join("locks")].into_iter();
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|file| file.unwrap().path());
    let is_draft = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(".uwf-temp-")
    };
    files.filter(is_draft).collect()
}

#[test]
fn what_a_kill_left_is_removed_when_it_is_old_and_not_while_it_may_be_in_use() {
    let (world, _) = full_world();
    let file = world.write("one.yaml", ONE_STEP);
    let put = ["workflow", "put", file.to_str().unwrap()];
    for file in ["registry.yaml", "locks/registry.yaml"] {
        kill_before(&world, &put, " workflow ", |call| {
            let is_it = call.starts_with("rename ") && call.ends_with(&format!(" root/{file}"));
            if is_it {
                // What is being written is no garbage. A collector that removes something would wait for the command.
                let told = gc(&world, &["--dry-run", "--older-than", "1h"]).exits(0);
                assert_eq!(told.json()["temporaryFiles"], json!(0));
            }
            is_it
        });
    }
    let left = drafts(&world);
    assert_eq!(left.len(), 2, "{left:?}");
    let doctor = || {
        let told = world.uwf(&["doctor", "--offline"]).json();
        let mut checks = told["checks"].as_array().unwrap().clone().into_iter();
        checks
            .find(|one| one["check"] == json!("leftovers"))
            .unwrap()
    };
    assert_eq!(doctor()["status"], json!("ok"));
    gc(&world, &[]).exits(0);
    assert_eq!(drafts(&world), left);
    left.iter().for_each(|path| age(path, 15 * DAY));
    let told = doctor();
    assert_eq!(told["status"], json!("warning"));
    assert!(
        text(&told["hint"]).starts_with("`uwf cas gc` removes"),
        "{told}"
    );
    gc(&world, &[]).exits(0);
    assert_eq!(drafts(&world), [] as [PathBuf; 0]);
    assert_eq!(doctor()["status"], json!("ok"));
}

#[test]
fn a_fork_of_an_old_step_is_whole_or_refused_whenever_a_collector_comes() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let head = text(&world.show(&thread)["head"]);
    // A step that is in no thread, and old.
    let mut step = world.uwf(&["cas", "get", &head]).exits(0).json()["payload"].clone();
    step["edgePrompt"] = json!("Another instruction");
    let step = put(&world, STEP, &step);
    age_all(&world, 30 * DAY);
    save(&world);

    let (mut whole, mut refused) = (0, 0);
    loop {
        let number = whole + refused;
        let mut passed = 0;
        let mut collector = None;
        let forked = trace(&world, &["thread", "fork", &step], |point| {
            passed += usize::from(point.command.contains(" thread fork "));
            if passed > number && collector.is_none() {
                let started = world.spawn(&["cas", "gc"]);
                collector = Some(ended_or_waits(started));
            }
            Verdict::GoOn
        });
        let Some(collector) = collector else { break };
        assert!(collector.wait_with_output().unwrap().status.success());
        if forked.code == Some(0) {
            whole += 1;
            let fork: Value = serde_json::from_str(&forked.stdout).unwrap();
            let fork = text(&fork["thread"]);
            world.uwf(&["thread", "read", &fork]).exits(0);
            assert!(has(&world, &step));
        } else {
            refused += 1;
            assert_eq!(forked.code, Some(1));
            assert!(
                forked.stderr.contains("is not in the store"),
                "{}",
                forked.stderr
            );
            assert!(!has(&world, &step));
        }
        reader::Ledger::read(&world.root());
        restore(&world);
    }
    assert!(whole > 0 && refused > 0, "{whole} whole, {refused} refused");
}

/// Waits until a process has ended or waits for a lock.
fn ended_or_waits(mut process: std::process::Child) -> std::process::Child {
    let waits = format!("{} ", libc::SYS_flock);
    wait_until("the collector has ended or waits", || {
        let call = fs::read_to_string(format!("/proc/{}/syscall", process.id()));
        process.try_wait().unwrap().is_some() || call.is_ok_and(|call| call.starts_with(&waits))
    });
    process
}
