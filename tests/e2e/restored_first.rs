//! `--restore` of `thread poke` and `thread fork`: the files are put back with which a step begins.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::changed_files::{step, world};
use crate::worktrees::{git, place};
use crate::world::{Run, World, wait_until};

fn read(world: &World, file: &str) -> String {
    fs::read_to_string(world.project().join(file)).unwrap_or_default()
}

/// Does the last step again, with the files that it found.
fn poke(world: &World, thread: &str) -> Run {
    world.uwf(&["thread", "poke", thread, "--restore"])
}

#[test]
fn a_step_that_is_done_again_begins_with_the_files_that_it_found() {
    let (world, thread) = world();
    step(&world, &thread, "echo first > work");
    step(&world, &thread, "echo second >> work");
    world.uwf(&["thread", "poke", &thread]).exits(0);
    assert_eq!(read(&world, "work"), "first\nsecond\nsecond\n");
    // The step that is replaced now had found what the one before it had left.
    poke(&world, &thread).exits(0);
    assert_eq!(read(&world, "work"), "first\nsecond\nsecond\n");
    world.write("do", "echo third >> work");
    poke(&world, &thread).exits(0);
    assert_eq!(read(&world, "work"), "first\nsecond\nthird\n");
}

#[test]
fn files_of_a_person_are_kept_and_nothing_is_done_again() {
    let (world, thread) = world();
    step(&world, &thread, "echo first > work");
    world.write("mine", "unsaved");
    let steps = || world.uwf(&["thread", "steps", &thread]).exits(0).stdout;
    let before = steps();
    let refused = poke(&world, &thread).exits(1);
    assert!(refused.stderr.contains("`mine`"), "{}", refused.stderr);
    assert_eq!(steps(), before);
    let logged = || world.uwf(&["log", "show", "--thread", &thread]).exits(0);
    let log = logged().stdout;
    assert!(!log.contains("poked"), "{log}");
    assert_eq!(read(&world, "work"), "first\n");
    // What the hint says works.
    let command = refused
        .stderr
        .split('`')
        .find(|it| it.contains("restore --force"));
    let words: Vec<&str> = command.unwrap().split(' ').skip(1).collect();
    world.uwf(&words).exits(0);
    poke(&world, &thread).exits(0);
    assert_eq!(read(&world, "work"), "first\n");
    assert!(logged().stdout.contains("poked"));
}

#[test]
fn a_file_that_is_committed_is_kept_though_others_are_not() {
    let (world, thread) = world();
    step(&world, &thread, "echo first > work; echo more >> kept");
    world.write("kept", "mine\n");
    let restore = || world.uwf(&["thread", "restore", &thread]);
    assert!(restore().exits(1).stderr.contains("`kept`"));
    git(&world, &["commit", "--quiet", "--message=mine", "kept"]);
    restore().exits(0);
    assert_eq!(read(&world, "kept"), "one\nmore\n");
    assert_eq!(read(&world, "work"), "first\n");
}

#[test]
fn a_fork_begins_with_the_files_of_its_step() {
    let (world, thread) = world();
    step(&world, &thread, "echo first > work");
    step(&world, &thread, "echo second > work");
    let forked = world
        .uwf(&["thread", "fork", &format!("{thread}@1"), "--restore"])
        .exits(0);
    let fork = forked.json()["thread"].as_str().unwrap().to_owned();
    assert_eq!(read(&world, "work"), "first\n");
    step(&world, &fork, "echo forked >> work");
    assert_eq!(read(&world, "work"), "first\nforked\n");
    // The thread is as it was, and its files can be had back.
    world.uwf(&["thread", "restore", &thread]).exits(0);
    assert_eq!(read(&world, "work"), "second\n");
}

#[test]
fn a_fork_whose_files_cannot_be_put_back_is_not_made() {
    let (world, thread) = world();
    step(&world, &thread, "echo first > work");
    world.write("mine", "unsaved");
    let refused = world
        .uwf(&["thread", "fork", &thread, "--restore"])
        .exits(1)
        .says("`mine`");
    assert_eq!(refused.stdout, "");
    assert_eq!(threads(&world), 1);
    assert_eq!(read(&world, "mine"), "unsaved");
    fs::remove_file(world.project().join("mine")).unwrap();
    world
        .uwf(&["thread", "fork", &thread, "--restore"])
        .exits(0);
    // Nothing is left of the look.
    let indexes = fs::read_dir(world.root().join("locks/indexes")).unwrap();
    assert_eq!(indexes.count(), 0);
}

#[test]
fn a_fork_at_the_start_begins_with_the_files_that_the_first_step_found() {
    let (world, thread) = world();
    let fork = || world.uwf(&["thread", "fork", &format!("{thread}@0"), "--restore"]);
    let refused = fork().exits(1);
    assert!(
        refused.stderr.contains("before the first step"),
        "{}",
        refused.stderr
    );
    assert_eq!(threads(&world), 1);
    // An attempt that failed is enough.
    world.write("do", "echo failed > work; exit 1");
    world.step(&thread).exits(3);
    fork().exits(1).says("`work`");
    world
        .uwf(&["thread", "restore", "--force", &thread])
        .exits(0);
    assert_eq!(read(&world, "work"), "");
    step(&world, &thread, "echo first > work");
    step(&world, &thread, "echo second > work");
    fork().exits(0).says("from before the first step");
    assert_eq!(read(&world, "work"), "");
}

fn threads(world: &World) -> usize {
    let listed = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    listed
        .as_array()
        .map_or_else(|| listed["threads"].as_array().unwrap().len(), Vec::len)
}

#[test]
fn a_fork_of_a_thread_with_a_worktree_leaves_that_worktree_alone() {
    let (world, thread) = world();
    world.configure("workspace.mode", "worktree");
    // The worktree has the committed files only.
    let agent = "#!/bin/sh\necho x >> work\nprintf -- '---\\nstatus: more\\n---\\n'\n";
    let agent = world.script("worker.sh", agent);
    world.agent("uwf-command", &["--", agent.to_str().unwrap()]);
    world.step(&thread).exits(0);
    world.step(&thread).exits(0);
    let place = place(&world, &thread);
    let work = || fs::read_to_string(place.join("work")).unwrap();
    assert_eq!(work(), "x\nx\n");
    let first = format!("{thread}@1");
    let forked = world.uwf(&["thread", "fork", &first, "--restore"]).exits(0);
    assert!(forked.stderr.contains("begins with"), "{}", forked.stderr);
    world.configure("workspace.mode", "shared");
    let forked = world.uwf(&["thread", "fork", &first, "--restore"]).exits(1);
    assert!(
        forked.stderr.contains("another thread"),
        "{}",
        forked.stderr
    );
    assert_eq!(work(), "x\nx\n");
}

#[test]
fn nothing_is_put_back_while_another_thread_works_there() {
    let (world, thread) = world();
    step(&world, &thread, "echo first > work");
    let other = world.start("again");
    world.write("wait", "");
    world.write(
        "do",
        "echo $$ > at-work; while [ -e wait ]; do sleep 0.02; done",
    );
    let engine = world.spawn(&["thread", "step", &other]);
    let begun = world.project().join("at-work");
    wait_until("the other agent works", || begun.exists());
    for command in [
        vec!["thread", "restore", &thread],
        vec!["thread", "poke", &thread, "--restore", "--no-wait"],
        vec![
            "thread",
            "poke",
            &thread,
            "--restore",
            "--no-wait",
            "--shared-ok",
        ],
        vec!["thread", "fork", &thread, "--restore"],
    ] {
        let refused = world.uwf(&command).exits(5);
        assert!(refused.stderr.contains(&other), "{}", refused.stderr);
    }
    assert_eq!(threads(&world), 2);
    assert_eq!(read(&world, "work"), "first\n");
    // Without `--no-wait` it waits, as a step does.
    let poked = world.spawn(&["thread", "poke", &thread, "--restore"]);
    wait_until("the poke waits", || {
        let shown = world.uwf(&["thread", "show", &thread]).exits(0).stdout;
        shown.contains("waiting")
    });
    world.write("do", "echo again > work");
    fs::remove_file(world.project().join("wait")).unwrap();
    assert!(engine.wait_with_output().unwrap().status.success());
    let poked: Run = poked.wait_with_output().unwrap().into();
    poked.exits(0);
    assert_eq!(read(&world, "work"), "again\n");
}

#[test]
fn a_repository_inside_is_left_as_it_is_and_named() {
    let (world, thread) = world();
    git(&world, &["init", "--quiet", "inner"]);
    let user = "-c user.name=t -c user.email=t@localhost";
    let commit = format!("git -C inner {user} commit --quiet --allow-empty -m");
    let tracked = format!("{commit} i; git add inner; git {user} commit --quiet -m i");
    assert!(
        Command::new("sh")
            .args(["-c", &tracked])
            .current_dir(world.project())
            .status()
            .unwrap()
            .success()
    );
    step(&world, &thread, &format!("{commit} one; echo first > work"));
    step(
        &world,
        &thread,
        &format!("{commit} two; echo second > work"),
    );
    let tip = || git(&world, &["-C", "inner", "rev-parse", "HEAD"]);
    let before = tip();
    let restore = ["thread", "restore", "@~1"];
    let restored = world.uwf(&restore).exits(0).json();
    assert_eq!(restored["leftAlone"], json!(["inner"]));
    let files: Vec<&Value> = restored["files"].as_array().unwrap().iter().collect();
    assert_eq!(files.len(), 1, "{restored}");
    assert_eq!(read(&world, "work"), "first\n");
    assert_eq!(tip(), before);
    let again = world
        .uwf(&[&restore[..], &["--format", "text"]].concat())
        .exits(0);
    assert!(
        again.stdout.contains("inner  stays as it is"),
        "{}",
        again.stdout
    );
    let show = again.stdout.split('`').nth(1).unwrap();
    let words: Vec<&str> = show.split(' ').skip(3).collect();
    assert_ne!(git(&world, &words), before);
}
