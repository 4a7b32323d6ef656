//! The first thing that anybody runs: `uwf demo`.

use std::path::Path;

use serde_json::json;

use crate::world::{Run, World};

/// Returns what a command prints that works in the demo's own store.
#[track_caller]
fn in_store_of(world: &World, demo: &Path, args: &[&str]) -> Run {
    let mut command = world.command(args);
    command.env("UWF_STORAGE_ROOT", demo.join("uwf"));
    Run::from(command.output().unwrap()).exits(0)
}

#[track_caller]
fn is_complete(world: &World, demo: &Path) {
    in_store_of(world, demo, &["cas", "verify"]);
    let threads = in_store_of(world, demo, &["thread", "list", "--all"]).json();
    let threads = threads.as_array().unwrap();
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0]["status"], json!("completed"));
}

#[test]
fn a_demo_shows_its_commands_and_leaves_a_whole_store() {
    let world = World::new();
    let run = world.uwf(&["demo", "here"]).exits(0);
    for command in [
        "$ uwf workflow put plan-develop-review.yaml",
        "$ uwf config set defaultAgent script",
        "$ uwf thread start plan-develop-review -p 'Greet the user by name'",
        "$ uwf thread step ",
    ] {
        assert!(run.stdout.contains(command), "{command}:\n{}", run.stdout);
    }
    assert_eq!(run.stderr, "");
    is_complete(&world, &world.project().join("here"));
    // Nothing of it touches the caller's own storage.
    assert!(!world.root().join("threads.yaml").exists());
}

#[test]
fn what_the_demo_proposes_at_its_end_works() {
    let world = World::new();
    let shown = world.uwf(&["demo", "here"]).exits(0).stdout;
    let proposed = shown.lines().filter_map(|line| line.strip_prefix("  uwf "));
    let proposed: Vec<&str> = proposed
        .filter_map(|line| line.split('#').next())
        .filter(|line| !line.contains('<'))
        .collect();
    assert!(proposed.len() >= 4, "{shown}");
    for line in proposed {
        let args: Vec<&str> = line.split_whitespace().collect();
        in_store_of(&world, &world.project().join("here"), &args);
    }
}

#[test]
fn a_second_demo_does_not_write_into_the_first() {
    let world = World::new();
    world.uwf(&["demo", "here"]).exits(0);
    let again = world.uwf(&["demo", "here"]).exits(1);
    again
        .says("error: there is a demo in ")
        .says("hint: name another folder: `uwf demo <dir>`");
    is_complete(&world, &world.project().join("here"));
}

#[test]
fn without_a_folder_the_demo_makes_one_among_the_temporary_ones() {
    let world = World::new();
    let temp = world.dir().join("temp");
    std::fs::create_dir(&temp).unwrap();
    let mut command = world.command(&["demo"]);
    Run::from(command.env("TMPDIR", &temp).output().unwrap()).exits(0);
    let made: Vec<_> = std::fs::read_dir(&temp).unwrap().collect();
    assert_eq!(made.len(), 1);
    let demo = made.into_iter().next().unwrap().unwrap().path();
    is_complete(&world, &demo);
    assert_eq!(std::fs::read_dir(world.project()).unwrap().count(), 0);
}
