//! What an attempt left that was killed before its files were masked: no call leaves a secret there for good.

use std::fs;
use std::path::{Path, PathBuf};

use crate::processes::{self, signal};
use crate::trees::alive;
use crate::world::{ONE_STEP, World, wait_until};

const SECRET: &str = "zq-TopSecret+Val/77";

/// Tells its secret, and waits.
const TELLS: &str = "[ -e told ] && exit 9; echo \"$TOKEN\"; echo \"$TOKEN\" >&2; touch told; while :; do sleep 0.05; done";

/// Returns the files below a folder that have the secret.
fn with_secret(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(with_secret(&path));
        } else if path.file_name().unwrap() != ".env" {
            let text = fs::read(&path).unwrap();
            let has = String::from_utf8_lossy(&text).contains(SECRET);
            found.extend(has.then_some(path));
        }
    }
    found
}

/// A world with a thread whose attempt has told its secret, and whose processes were killed.
fn killed() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.script("tells.sh", TELLS);
    world.agent("uwf-command", &["--", "./tells.sh"]);
    fs::write(world.root().join(".env"), format!("TOKEN='{SECRET}'\n")).unwrap();
    world.configure("agents.default.secrets", "[\"TOKEN\"]");
    let thread = world.start("one");
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the agent told its secret", || {
        world.project().join("told").exists()
    });
    let adapter = world.agent_at_work(&thread);
    processes::kill(engine);
    signal("KILL", adapter);
    (world, thread)
}

/// Ends what is left of the attempt.
fn end_rest(world: &World) {
    wait_until("all have ended", || {
        // A short one, such as a `sleep`, ends by itself, and another one may take its place before its parent ends.
        for left in alive(world) {
            processes::kill_if_there(left.split(' ').next().unwrap());
        }
        alive(world).is_empty()
    });
}

#[test]
fn a_killed_thread_keeps_no_secret() {
    for rest_ended in [false, true] {
        let (world, thread) = killed();
        if rest_ended {
            end_rest(&world);
        }
        assert!(!with_secret(&world.root()).is_empty());
        world.uwf(&["thread", "kill", &thread]).exits(0);
        assert_eq!(with_secret(&world.root()), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_killed_thread_keeps_no_secret_that_is_not_there_any_more() {
    let (world, thread) = killed();
    end_rest(&world);
    fs::write(world.root().join(".env"), "").unwrap();
    world.uwf(&["thread", "kill", &thread]).exits(0);
    assert_eq!(with_secret(&world.root()), Vec::<PathBuf>::new());
}

#[test]
fn a_step_that_is_refused_for_its_secret_keeps_only_the_answer_that_waits() {
    let (world, thread) = killed();
    end_rest(&world);
    fs::write(world.root().join(".env"), "").unwrap();
    world.step(&thread).exits(1).says("secret `TOKEN`");
    let answer = world.root().join("runs").join(&thread).join("answer");
    // It was paid for, and the next attempt reads it.
    assert_eq!(with_secret(&world.root()), [answer]);
    fs::write(world.root().join(".env"), format!("TOKEN='{SECRET}'\n")).unwrap();
    world.step(&thread).exits(3);
    assert_eq!(with_secret(&world.root()), Vec::<PathBuf>::new());
}
