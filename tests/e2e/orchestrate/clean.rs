//! Removing old runs: only folders of runs that nobody works on, and their threads end with them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::looking::{orchestrate, running, status};
use super::workflow_steps;
use crate::gates::{at_work, open_gate};
use crate::processes::{self, signal};
use crate::world::{World, wait_until};

/// Every run is older than that.
const ALL: [&str; 3] = ["clean", "--older-than", "0d"];

const SLEEPS: &str = "steps:\n- name: Slow\n  command: [sleep, '300']\n";

fn runs(world: &World) -> PathBuf {
    world.project().join(".orchestrate/runs")
}

fn run(world: &World, id: &str, command: &str, code: i32) -> Value {
    let flow = format!("steps:\n- name: A\n  command: [{command}]\n");
    world.write("flow.yaml", &flow);
    orchestrate(world, &["run", "flow.yaml", "--run-id", id]).exits(code);
    status(world, id)
}

fn clean(world: &World, args: &[&str]) -> Value {
    let args = [&ALL, args, &["--json"]].concat();
    orchestrate(world, &args).exits(0).json()
}

fn thread_of(status: &Value) -> &str {
    status["thread"].as_str().unwrap()
}

fn is_alive(pid: u64) -> bool {
    // A process that has ended and that nobody waited for is none.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["thread", "state.json"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn old_runs_go_and_their_chains_stay() {
    let world = World::new();
    let first = run(&world, "one", "echo, '1'", 0);
    run(&world, "two", "echo, '2'", 0);
    let recent = orchestrate(&world, &["clean", "--older-than", "7d"]).exits(0);
    assert_eq!(recent.stdout, "nothing to remove\n");
    let planned = clean(&world, &["--dry-run"]);
    assert_eq!(planned["removed"].as_array().unwrap().len(), 2, "{planned}");
    assert!(
        runs(&world).join("one").is_dir(),
        "a dry run removes nothing"
    );
    let cleaned = clean(&world, &["--keep", "1"]);
    assert_eq!(
        cleaned["removed"],
        json!([{"run_id": "one", "ended": false}])
    );
    assert!(!runs(&world).join("one").exists());
    assert!(runs(&world).join("two").join("state.json").is_file());
    let kept = orchestrate(&world, &["status", thread_of(&first), "--json"]).exits(0);
    assert_eq!(kept.json()["status"], "completed");
    assert_eq!(
        clean(&world, &[])["removed"],
        json!([{"run_id": "two", "ended": false}])
    );
}

#[test]
fn a_run_that_could_go_on_is_ended() {
    let world = World::new();
    let failed = run(&world, "bad", "'false'", 1);
    let cleaned = clean(&world, &[]);
    assert_eq!(
        cleaned["removed"],
        json!([{"run_id": "bad", "ended": true}])
    );
    let thread = thread_of(&failed);
    let after = orchestrate(&world, &["status", thread, "--json"]).exits(0);
    assert_eq!(after.json()["status"], "cancelled");
    let resumed = orchestrate(&world, &["resume", thread]);
    assert_ne!(resumed.code, 0, "{}", resumed.stderr);
    assert!(!runs(&world).join("bad").exists());
}

#[test]
fn a_run_that_a_process_works_on_is_left_alone() {
    let world = World::new();
    let mut live = running(&world, SLEEPS, "Slow");
    let cleaned = clean(&world, &[]);
    assert_eq!(cleaned["removed"], json!([]));
    assert_eq!(
        cleaned["kept"],
        json!([{"run_id": "live", "why": "a process works on it"}])
    );
    assert_eq!(status(&world, "live")["status"], "running");
    signal("TERM", live.id());
    assert_eq!(live.wait().unwrap().code(), Some(143));
}

#[test]
fn the_processes_of_a_killed_run_are_ended_with_it() {
    let world = World::new();
    let mut live = running(&world, SLEEPS, "Slow");
    let pid = status(&world, "live")["current_step"]["pid"]
        .as_u64()
        .unwrap();
    signal("KILL", live.id());
    live.wait().unwrap();
    assert!(is_alive(pid));
    let cleaned = clean(&world, &[]);
    assert_eq!(
        cleaned["removed"],
        json!([{"run_id": "live", "ended": true}])
    );
    wait_until("the program has ended", || !is_alive(pid));
}

#[test]
fn the_child_of_a_run_is_ended_with_it_and_its_finished_step_is_named() {
    let world = workflow_steps::world(workflow_steps::PIPELINE, workflow_steps::ANSWERS);
    let run = ["orchestrate", "run", "p.yaml", "--run-id", "one"];
    processes::kill(at_work(&world, &run));
    open_gate(&world);
    let child = workflow_steps::child(&world);
    wait_until("the agent has finished", || world.pending(&child).is_some());
    world.wait_until_free(&child);
    let step = world.pending(&child).unwrap()["step"].clone();
    let cleaned = world.uwf(&[&["orchestrate"], &ALL[..]].concat()).exits(0);
    assert!(cleaned.stdout.contains(&child), "{}", cleaned.stdout);
    let fork = format!("thread fork {}`", step.as_str().unwrap());
    assert!(cleaned.stdout.contains(&fork), "{}", cleaned.stdout);
    assert_eq!(world.show(&child)["status"], json!("cancelled"));
    world
        .uwf(&["thread", "fork", step.as_str().unwrap()])
        .exits(0);
}

#[test]
fn nothing_but_the_folder_of_a_run_is_touched() {
    let world = World::new();
    let failed = run(&world, "bad", "'false'", 1);
    let folder = runs(&world);
    fs::create_dir(folder.join("notes")).unwrap();
    fs::write(folder.join("notes/thread"), "not a record").unwrap();
    let outside = world.dir().join("outside");
    fs::rename(folder.join("bad"), &outside).unwrap();
    symlink(&outside, folder.join("bad")).unwrap();
    copy(&outside, &folder.join("copy"));
    copy(&outside, &world.dir().join("elsewhere/bad"));
    let cleaned = clean(&world, &[]);
    assert_eq!(cleaned["removed"], json!([]), "{cleaned}");
    let kept = cleaned["kept"].as_array().unwrap();
    assert_eq!(kept.len(), 2, "{cleaned}");
    let counted = clean(&world, &["--keep", "1"]);
    assert_eq!(counted["kept"].as_array().unwrap().len(), 2, "{counted}");
    let elsewhere = world.dir().join("elsewhere");
    let elsewhere = ["--state-dir", elsewhere.to_str().unwrap()];
    let cleaned = clean(&world, &elsewhere);
    assert_eq!(
        cleaned["removed"],
        json!([]),
        "a copy is not the run: {cleaned}"
    );
    for path in [
        folder.join("notes/thread"),
        folder.join("copy/thread"),
        outside.join("state.json"),
        world.dir().join("elsewhere/bad/thread"),
    ] {
        assert!(path.is_file(), "{}", path.display());
    }
    let thread = thread_of(&failed);
    let after = orchestrate(&world, &["status", thread, "--json"]).exits(0);
    assert_eq!(after.json()["status"], "failed");
}

#[test]
fn links_in_the_folder_of_a_run_are_not_followed() {
    let world = World::new();
    run(&world, "one", "echo, '1'", 0);
    let precious = world.write("precious/file", "keep");
    symlink(
        world.project().join("precious"),
        runs(&world).join("one/link"),
    )
    .unwrap();
    clean(&world, &[]);
    assert!(!runs(&world).join("one").exists());
    assert!(precious.is_file());
}

#[test]
fn the_folder_of_a_run_whose_thread_is_gone_is_removed() {
    let world = World::new();
    let done = run(&world, "one", "echo, '1'", 0);
    world.uwf(&["thread", "rm", thread_of(&done)]).exits(0);
    let listed = orchestrate(&world, &["list", "--json"]).exits(0);
    let listed = listed.says("uwf orchestrate clean --older-than").json();
    assert!(listed["runs"][0]["error"].is_string(), "{listed}");
    assert_eq!(clean(&world, &[])["removed"][0]["run_id"], "one");
    assert!(!runs(&world).join("one").exists());
}

#[test]
fn a_link_does_not_count_as_one_of_the_newest() {
    let world = World::new();
    run(&world, "one", "echo, '1'", 0);
    run(&world, "two", "echo, '2'", 0);
    symlink(runs(&world).join("two"), runs(&world).join("link")).unwrap();
    let cleaned = clean(&world, &["--keep", "2"]);
    assert_eq!(cleaned["removed"], json!([]), "{cleaned}");
    let cleaned = clean(&world, &["--keep", "1"]);
    assert_eq!(cleaned["removed"][0]["run_id"], "one", "{cleaned}");
}

#[test]
fn what_cannot_be_removed_is_named_and_the_others_go() {
    let world = World::new();
    run(&world, "one", "echo, '1'", 0);
    run(&world, "two", "echo, '2'", 0);
    let logs = runs(&world).join("two/logs");
    let failed = world.root().join("runs");
    // The record of the lock cannot be opened: it is a folder.
    let thread = status(&world, "two")["thread"].as_str().unwrap().to_owned();
    let owner = failed.join(thread).join("owner");
    fs::remove_file(&owner).unwrap();
    fs::create_dir(&owner).unwrap();
    let args = [&ALL[..], &["--json"]].concat();
    let cleaned = orchestrate(&world, &args).exits(1).json();
    assert_eq!(cleaned["removed"][0]["run_id"], "one", "{cleaned}");
    assert_eq!(cleaned["kept"][0]["run_id"], "two", "{cleaned}");
    assert!(logs.is_dir());
}

#[test]
fn a_time_that_is_none_exits_with_2() {
    let world = World::new();
    let clean = orchestrate(&world, &["clean", "--older-than", "soon"]).exits(2);
    clean.says("7d");
    orchestrate(&world, &["clean"])
        .exits(2)
        .says("--older-than");
}

#[test]
fn a_date_that_has_not_come_yet_removes_nothing() {
    let world = World::new();
    run(&world, "one", "'false'", 1);
    orchestrate(&world, &["clean", "--older-than", "2100-01-01"])
        .exits(2)
        .says("`2100-01-01` has not come yet")
        .says("a date in the past");
    assert!(runs(&world).join("one").exists());
}
