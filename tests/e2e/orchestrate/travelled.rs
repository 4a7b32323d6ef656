//! A run that was exported and imported under another root: what is said of it, and how it goes on.

use std::fs;

use crate::world::{Run, World};

/// A world in which the stopped run `r` was imported under another root, whose path is returned with the thread.
fn imported() -> (World, String, String) {
    let world = World::new();
    world.write(
        "p.yaml",
        "steps:\n- {name: A, command: [echo, a]}\n- {name: B, command: [test, -e, ok]}\n",
    );
    world
        .uwf(&["orchestrate", "run", "p.yaml", "--run-id", "r"])
        .exits(1);
    let status = world.uwf(&["orchestrate", "status", "r", "--json"]).json();
    let thread = status["thread"].as_str().unwrap().to_owned();
    let bundle = world.dir().join("bundle.tar");
    let bundle = bundle.to_str().unwrap();
    world
        .uwf(&["thread", "export", &thread, "-o", bundle])
        .exits(0);
    let other = world.dir().join("other").to_str().unwrap().to_owned();
    world
        .uwf(&["--root", &other, "thread", "import", bundle])
        .exits(0);
    (world, other, thread)
}

fn there(world: &World, root: &str, words: &[&str]) -> Run {
    world.uwf(&[&["--root", root, "orchestrate"], words].concat())
}

#[test]
fn an_imported_run_without_a_folder_is_listed_and_goes_on_by_its_id() {
    let (world, root, thread) = imported();
    fs::remove_dir_all(world.project().join(".orchestrate")).unwrap();
    let listed = there(&world, &root, &["list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"][0]["thread"], thread.as_str());
    world.write("ok", "");
    there(&world, &root, &["resume", "r"]).exits(0);
}

#[test]
fn a_run_whose_folder_is_that_of_another_root_is_named_by_its_thread() {
    let (world, root, thread) = imported();
    let said = there(&world, &root, &["resume", "r"]).exits(2);
    said.says(&format!("`{thread}` in place of the run names the copy"));
    let said = there(&world, &root, &["resume", &thread]).exits(1);
    said.says("is the folder of the run under the root")
        .says(&format!("resume {thread}` does the step again"));
    // Nobody is warned where the folder is from.
    let said = world.uwf(&["orchestrate", "resume", "r"]).exits(1);
    assert!(!said.stderr.contains("warning"), "{}", said.stderr);
}

#[test]
fn a_run_without_its_workspace_says_that_and_no_more() {
    let (world, root, thread) = imported();
    let moved = world.dir().join("moved");
    fs::rename(world.project(), &moved).unwrap();
    fs::create_dir(world.project()).unwrap();
    let kept = |option: &[&str]| {
        let mut command = world.command(&["--root", &root, "orchestrate", "resume", &thread]);
        command.args(option).current_dir(&moved);
        Run::from(command.output().unwrap())
    };
    let print = kept(&["--force-restart"]).exits(2);
    let print = print.says("p.yaml` is gone").says("`uwf --root");
    let (_, hint) = print.stderr.split_once('`').unwrap();
    let cat = hint.split('`').find(|it| it.contains("cas cat")).unwrap();
    let words: Vec<&str> = cat.split(' ').skip(1).collect();
    assert!(world.uwf(&words).exits(0).stdout.contains("test, -e, ok"));
    fs::remove_dir(world.project()).unwrap();
    for option in [&[][..], &["--force-restart"]] {
        let said = kept(option).exits(2);
        let said = said.says("is gone").says("a run goes on where it was made");
        assert!(!said.stderr.contains("warning"), "{}", said.stderr);
    }
    let mut command = world.command(&["--root", &root, "thread", "resume", &thread]);
    let said = Run::from(command.current_dir(&moved).output().unwrap()).exits(1);
    said.says("a run goes on where it was made");
}
