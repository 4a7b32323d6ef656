//! A registry that has lost names: named by those who need it, and never written over.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::lost_state::doctor;
use crate::world::{ONE_STEP, REVIEW, World};

/// A world in which two workflows have names, and a thread of one of them.
fn two_names() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.put(REVIEW);
    world.mock("roles:\n  writer:\n    - output: { plan: p, note: n }\n");
    // Otherwise they would be found beside us.
    for name in ["one", "review"] {
        fs::remove_file(world.project().join(format!("{name}.yaml"))).unwrap();
    }
    let thread = world.start("one");
    (world, thread)
}

fn set(path: &Path, content: Option<&str>) {
    match content {
        Some(content) => fs::write(path, content).unwrap(),
        None => fs::remove_file(path).unwrap(),
    }
}

#[test]
fn a_registry_that_was_emptied_cut_off_or_removed_is_named_and_never_written_over() {
    let (world, thread) = two_names();
    let path = world.root().join("registry.yaml");
    let good = fs::read_to_string(&path).unwrap();
    let first_line = &good[..=good.find('\n').unwrap()];
    let in_the_second_name = &good[..first_line.len() + 3];
    let without_hash = &good[..first_line.len() + "review:".len()];
    for content in [
        Some(""),
        None,
        Some(first_line),
        Some(in_the_second_name),
        Some(without_hash),
    ] {
        set(&path, content);
        world.write("new.yaml", &ONE_STEP.replace("name: one", "name: new"));
        for command in [
            &["workflow", "put", "new.yaml"][..],
            &["workflow", "list"],
            &["workflow", "show", "review"],
            &["thread", "start", "review", "-p", "x"],
            &["cas", "gc"],
            &["cas", "verify"],
        ] {
            let run = world.uwf(command).exits(4);
            run.says("registry.yaml").says("hint: `cp ");
        }
        let (status, message, _) = doctor(&world, "state");
        assert_eq!(status, "error");
        assert!(message.contains("registry.yaml"), "{message}");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), content);
        // A thread does not need the name of its workflow.
        world.show(&thread);
        world.uwf(&["thread", "list"]).exits(0);
    }
    world.uwf(&["workflow", "list"]).follow_hint("cp ");
    assert_eq!(fs::read_to_string(&path).unwrap(), good);
    world.uwf(&["workflow", "put", "new.yaml"]).exits(0);
    world
        .uwf(&["thread", "start", "review", "-p", "x"])
        .exits(0);
    world.step(&thread).exits(0);
}

#[test]
fn names_that_were_removed_on_purpose_are_no_damage() {
    let (world, _) = two_names();
    let path = world.root().join("registry.yaml");
    let good = fs::read_to_string(&path).unwrap();
    let second_line = &good[good.find('\n').unwrap() + 1..];
    for content in ["{}\n", second_line] {
        fs::write(&path, content).unwrap();
        world.uwf(&["workflow", "list"]).exits(0);
        assert_eq!(doctor(&world, "state").0, "ok");
    }
    // Where only the beginning is left, a person says that it is meant.
    fs::write(&path, "").unwrap();
    world.uwf(&["workflow", "list"]).exits(4).follow_hint("rm ");
    world.uwf(&["workflow", "list"]).exits(0);
    world.put(REVIEW);
    let names = fs::read_to_string(&path).unwrap();
    assert!(names.starts_with("review: ") && names.lines().count() == 1);
}

#[test]
fn a_registry_of_another_program_a_copied_root_and_one_without_locks_are_no_damage() {
    let (world, _) = two_names();
    let copied = world.dir().join("copied");
    let from = world.root();
    let copy = Command::new("cp").arg("-r").args([&from, &copied]).status();
    assert!(copy.unwrap().success());
    let copied = copied.to_str().unwrap();
    let at_copy = |args: &[&str]| world.uwf(&[&["--root", copied], args].concat());
    at_copy(&["workflow", "list"]).exits(0);
    at_copy(&["thread", "list"]).exits(0);
    world.write("new.yaml", &ONE_STEP.replace("name: one", "name: new"));
    at_copy(&["workflow", "put", "new.yaml"]).exits(0);
    fs::remove_dir_all(world.root().join("locks")).unwrap();
    world.uwf(&["workflow", "list"]).exits(0);
    world.put(&ONE_STEP.replace("name: one", "name: other"));
    assert_eq!(doctor(&world, "state").0, "ok");
    // What an older tool registered is in a file of its own.
    let fresh = World::new();
    let hash = "CTS5P6RD8HMCS";
    fs::create_dir_all(fresh.root()).unwrap();
    fs::write(
        fresh.root().join("workflows.yaml"),
        format!("old: {hash}\n"),
    )
    .unwrap();
    fresh.put(ONE_STEP);
    let listed = fresh.uwf(&["workflow", "list"]).exits(0).stdout;
    assert!(listed.contains("old") && listed.contains("one"), "{listed}");
}
