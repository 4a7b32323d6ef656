//! What the steps of a run change in a git repository: those that call a provider are recorded.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::threads::{run, thread_of};
use crate::worktrees::git;
use crate::world::World;

const PIPELINE: &str = r#"
name: writes
providers:
  fake:
    command: [sh, -c, "cat > by-provider; test -e again || { touch again; exit 1; }"]
    input_mode: stdin
steps:
  - name: Command
    command: [sh, -c, "echo x > by-command"]
  - name: Provider
    provider: fake
    input_file: prompt
    retries: 1
"#;

fn paths(changed: &Value) -> Vec<&str> {
    let files = changed["repositories"][0]["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect()
}

/// A world whose project is a git repository.
fn world() -> World {
    let world = World::new();
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    world.write("prompt", "Write.\n");
    git(&world, &["add", "prompt"]);
    git(
        &world,
        &[
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@t",
            "commit",
            "-qm",
            "first",
        ],
    );
    world
}

#[test]
fn what_the_program_of_a_provider_changed_is_shown_and_put_back_without_the_folder_of_the_run() {
    let world = world();
    run(&world, PIPELINE, "one").exits(0);
    let threads = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    let thread = threads[0]["thread"].as_str().unwrap();
    let diff = |whose: &str| world.uwf(&["thread", "diff", whose]);
    diff(&format!("{thread}@1"))
        .exits(1)
        .says("has recorded no files");
    let provider = format!("{thread}@2");
    for whose in [&provider, thread] {
        let changed = diff(whose).exits(0).json();
        // Both attempts, and nothing of the run's own folder.
        assert_eq!(paths(&changed), ["again", "by-provider"], "{changed}");
    }
    let restore = ["thread", "restore", "--before", &provider];
    world.uwf(&restore).exits(0);
    let there = |name: &str| world.project().join(name).exists();
    assert!(there("by-command") && !there("by-provider"));
    assert!(there(".orchestrate/runs/one/state.json"));
    // Without snapshots, the run is the same.
    world.configure("snapshots.enabled", "false");
    run(&world, PIPELINE, "two").exits(0);
    let references = git(&world, &["for-each-ref", "refs/uwf"]);
    assert_eq!(references.lines().count(), 1, "{references}");
}

/// Lets the filter of a file of the repository do this.
fn filter(world: &World, file: &str, script: &str) {
    let attributes = world.project().join(".git/info/attributes");
    fs::write(attributes, format!("{file} filter=slow\n")).unwrap();
    git(world, &["config", "filter.slow.clean", script]);
    git(world, &["config", "filter.slow.required", "true"]);
}

#[test]
fn a_step_that_was_done_does_not_wait_for_git_longer_than_the_run_has_time() {
    let world = world();
    let hangs = world.project().join("hangs");
    let script = format!("touch {}; sleep 1000", hangs.display());
    filter(&world, "by-provider", &script);
    world.write("again", "");
    world.write("one.yaml", PIPELINE);
    let began = Instant::now();
    let args = ["orchestrate", "run", "one.yaml", "--run-id", "one"];
    let ended = world.uwf(&[&args[..], &["--timeout", "5s"]].concat());
    // Whether the time was over before the end of the run or just after it, the step is done.
    assert!([0, 124].contains(&ended.code), "exit {}", ended.code);
    assert!(hangs.exists());
    assert!(began.elapsed() < Duration::from_mins(1));
    let thread = thread_of(&world, "one");
    assert_eq!(world.show(&thread)["steps"], 2);
    let log = world.uwf(&["log", "show"]).exits(0).stdout;
    assert!(log.contains("was ended, with everything"), "{log}");
}

#[test]
fn a_retry_does_not_record_what_the_first_attempt_changed_as_found() {
    let world = world();
    world.write("found", "");
    filter(&world, "found", "test -e again && cat");
    run(&world, PIPELINE, "one").exits(0);
    assert!(world.project().join("again").exists());
    let thread = thread_of(&world, "one");
    let provider = format!("{thread}@2");
    world
        .uwf(&["thread", "diff", &provider])
        .exits(1)
        .says("has recorded no files");
}
