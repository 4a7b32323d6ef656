//! A fork works in a worktree of its own, whatever its first command is, and the one of the thread that it comes from stays as it is.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::worktrees::{git, named, place, repository, step, world};
use crate::world::World;

/// A workflow that asks a person, whose threads have worktrees.
const ASKS: &str = r#"
name: asks
workspace: worktree
roles:
  writer:
    goal: You write.
    frontmatter: { type: object, properties: { status: { enum: [more, done] } }, required: [status] }
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { more: { role: $SUSPEND, prompt: "Go on?" }, done: { role: $END, prompt: "" } }
"#;

/// Writes a line and the folder that it was written in.
const WRITES: &str = "echo line >> work.txt; pwd >> \"$UWF_STORAGE_ROOT/../project/log\"";

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_default()
}

/// Returns the folders in which agents worked, oldest first.
fn folders(world: &World) -> Vec<String> {
    let log = read(&world.project(), "log");
    log.lines().map(str::to_owned).collect()
}

/// A world with a thread of two steps in a worktree, each of which wrote a line.
fn original() -> (World, String) {
    let world = world();
    let thread = named(&world, "night");
    step(&world, &thread, WRITES);
    step(&world, &thread, WRITES);
    (world, thread)
}

fn fork(world: &World, of: &str) -> String {
    let forked = world.uwf(&["thread", "fork", of]).exits(0).json();
    forked["thread"].as_str().unwrap().to_owned()
}

#[test]
fn a_fork_that_begins_with_a_poke_works_in_its_own_worktree() {
    for restores in [false, true] {
        let (world, original) = original();
        let fork = fork(&world, "night@2");
        let mut poke = vec!["thread", "poke", &fork, "-p", "again"];
        poke.extend(restores.then_some("--restore"));
        let poked = world.uwf(&poke).exits(0);
        assert!(!poked.stderr.contains("not on record"), "{}", poked.stderr);
        assert_eq!(
            folders(&world)[2],
            place(&world, &fork).display().to_string()
        );
        let lines = |thread: &str| read(&place(&world, thread), "work.txt").lines().count();
        assert_eq!(
            lines(&original),
            2,
            "the thread that was forked stays as it is"
        );
        assert!(
            lines(&fork) >= 2,
            "the files of its first step are there, and what the second one did"
        );
        step(&world, &fork, WRITES);
        assert_eq!(lines(&original), 2);
    }
}

#[test]
fn a_fork_that_begins_with_a_poke_of_the_first_step_has_what_that_step_found() {
    for restores in [false, true] {
        let (world, original) = original();
        let found = git(&world, &["rev-parse", "HEAD"]);
        world.write("later", "not there yet\n");
        git(&world, &["add", "later"]);
        git(&world, &["commit", "--quiet", "--message=later"]);
        let fork = fork(&world, "night@1");
        let mut poke = vec!["thread", "poke", &fork, "-p", "again"];
        poke.extend(restores.then_some("--restore"));
        let told = world.uwf(&poke).exits(0).says("works in").stderr;
        assert!(!told.contains("not on record"), "{told}");
        let begins = format!("begins at {}\n", &found[..10]);
        assert!(told.contains(&begins), "{told}");
        assert!(!place(&world, &fork).join("later").exists());
        let lines = |thread: &str| read(&place(&world, thread), "work.txt").lines().count();
        assert_eq!((lines(&original), lines(&fork)), (2, 1));
    }
}

#[test]
fn a_fork_at_the_first_step_without_snapshots_is_told_no_untruth() {
    let world = world();
    world.configure("snapshots.enabled", "false");
    let thread = named(&world, "night");
    step(&world, &thread, WRITES);
    let fork = fork(&world, "night@1");
    world.write("kept", "not committed\n");
    let poke = ["thread", "poke", &fork, "-p", "again"];
    let told = world.uwf(&poke).exits(0).says("works in").stderr;
    assert!(!told.contains("earlier steps"), "{told}");
    assert!(
        told.contains("it does not have 1 uncommitted file"),
        "{told}"
    );
}

#[test]
fn a_fork_can_be_poked_though_the_thread_that_it_comes_from_is_gone() {
    let (world, original) = original();
    let fork = fork(&world, "night@2");
    let rm = ["thread", "rm", "--force", "--drop-worktree", &original];
    world.uwf(&rm).exits(0);
    assert!(!place(&world, &original).exists());
    world
        .uwf(&["thread", "poke", &fork, "-p", "again"])
        .exits(0);
    assert_eq!(
        folders(&world)[2],
        place(&world, &fork).display().to_string()
    );
}

#[test]
fn a_fork_that_begins_with_an_answer_works_in_its_own_worktree() {
    let world = World::new();
    world.put(ASKS);
    repository(&world);
    world.write("do", WRITES);
    let original = world.start("asks");
    world.step(&original).exits(0);
    let fork = fork(&world, &original);
    world
        .uwf(&["thread", "resume", &fork, "-p", "yes"])
        .exits(0);
    assert_eq!(
        folders(&world)[1],
        place(&world, &fork).display().to_string()
    );
    assert_eq!(
        read(&place(&world, &original), "work.txt").lines().count(),
        1
    );
}

#[test]
fn files_are_put_back_in_the_worktree_of_the_thread_that_was_named() {
    let (world, original) = original();
    let fork = fork(&world, "night@2");
    step(&world, &fork, WRITES);
    let lines = |thread: &str| read(&place(&world, thread), "work.txt").lines().count();
    assert_eq!((lines(&original), lines(&fork)), (2, 3));
    world
        .uwf(&["thread", "restore", &format!("{fork}@1")])
        .exits(0);
    assert_eq!((lines(&original), lines(&fork)), (2, 1));
}

#[test]
fn a_start_that_threads_share_is_that_of_the_thread_that_was_named() {
    let world = World::new();
    world.put(&crate::world::AGAIN.replace('@', ""));
    repository(&world);
    let [monday, tuesday] = ["monday", "tuesday"].map(|name| {
        let thread = named(&world, name);
        step(&world, &thread, &format!("echo {name} >> kept"));
        git(&world, &["commit", "--quiet", "--all", "--message", name]);
        thread
    });
    let start = |thread: &str| {
        let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
        steps["steps"][0]["hash"].clone()
    };
    assert_eq!(start(&monday), start(&tuesday));
    assert_ne!(start(&monday), json!(null));
    world.uwf(&["thread", "restore", "tuesday@0"]).exits(0);
    assert_eq!(read(&world.project(), "kept"), "one\nmonday\n");
    world.uwf(&["thread", "restore", "monday@0"]).exits(0);
    assert_eq!(read(&world.project(), "kept"), "one\n");
    world
        .uwf(&["thread", "fork", "tuesday@0", "--restore"])
        .exits(0);
    assert_eq!(read(&world.project(), "kept"), "one\nmonday\n");
}

#[test]
fn a_fork_without_a_worktree_yet_has_no_files_put_back_in_that_of_another_thread() {
    let (world, original) = original();
    let fork = fork(&world, "night@2");
    for args in [
        ["thread", "restore", &fork].as_slice(),
        &["thread", "restore", "--force", "--before", &fork],
    ] {
        world
            .uwf(args)
            .exits(1)
            .says("in the worktree")
            .says("of another thread");
    }
    assert_eq!(
        read(&place(&world, &original), "work.txt").lines().count(),
        2
    );
}
