//! A `state.json` that cannot be read, or that another version wrote. No command replaces it without being asked.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::world::World;

/// `B` kills the process of its run, until there is a file `ok`.
const FLOW: &str = "steps:\n- {name: A, command: ['true']}\n- {name: B, command: [sh, -c, 'test -e ok || { kill -9 $PPID; exit 1; }']}\n- {name: C, command: ['true']}\n";

const OTHER: &str = "{\"schema_version\":\"9.0\"}";

/// Returns a world with a run `r` whose process was killed in `B`, and the thread of the run.
fn killed() -> (World, String) {
    let world = World::new();
    world.write("p.yaml", FLOW);
    let run = world.uwf(&["orchestrate", "run", "p.yaml", "--run-id", "r"]);
    assert_eq!(run.code, -1, "{}", run.stderr);
    world.write("ok", "");
    let place = fs::read(picture(&world).with_file_name("thread")).unwrap();
    let place: serde_json::Value = serde_json::from_slice(&place).unwrap();
    let thread = place["thread"].as_str().unwrap().to_owned();
    world.wait_until_free(&thread);
    (world, thread)
}

fn picture(world: &World) -> PathBuf {
    world.project().join(".orchestrate/runs/r/state.json")
}

#[test]
fn no_command_replaces_a_picture_of_another_version() {
    let (world, thread) = killed();
    fs::write(picture(&world), OTHER).unwrap();
    let says = "has the form `9.0`, which this program does not know";
    for command in ["step", "run", "resume"] {
        world.uwf(&["thread", command, &thread]).exits(1).says(says);
    }
    world
        .uwf(&["orchestrate", "resume", "r"])
        .exits(2)
        .says(says);
    assert_eq!(fs::read_to_string(picture(&world)).unwrap(), OTHER);
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0);
    killed
        .says("the files of the run do not show its end")
        .says(says);
    assert_eq!(fs::read_to_string(picture(&world)).unwrap(), OTHER);
}

#[test]
fn a_lost_picture_is_made_again_on_demand_only_whichever_command_meets_it() {
    for command in ["step", "run", "resume"] {
        for lost in [None, Some("garbage"), Some("[]")] {
            let (world, thread) = killed();
            match lost {
                Some(text) => fs::write(picture(&world), text).unwrap(),
                None => fs::remove_file(picture(&world)).unwrap(),
            }
            let said = world.uwf(&["thread", command, &thread]).exits(1);
            let now = fs::read_to_string(picture(&world)).ok();
            assert_eq!(now.as_deref(), lost, "{command}");
            let resume = format!("uwf orchestrate resume {thread} --repair");
            said.says(&format!("`{resume}`"));
            let words: Vec<&str> = resume.split(' ').skip(1).collect();
            world.uwf(&words).exits(0);
            let now = fs::read_to_string(picture(&world)).unwrap();
            assert!(now.contains("\"completed\""), "{command}: {now}");
        }
    }
}

#[test]
fn a_kill_leaves_what_is_in_place_of_the_picture_and_makes_one_that_is_missing() {
    let (world, thread) = killed();
    fs::remove_file(picture(&world)).unwrap();
    let fifo = Command::new("mkfifo").arg(picture(&world)).status();
    assert!(fifo.unwrap().success());
    let killed_now = world.uwf(&["thread", "kill", &thread]).exits(0);
    killed_now.says("`").says("state.json` is no regular file");
    let kind = fs::symlink_metadata(picture(&world)).unwrap().file_type();
    assert!(!kind.is_file() && !kind.is_dir(), "the FIFO is still there");
    let (world, thread) = killed();
    fs::remove_file(picture(&world)).unwrap();
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let now = fs::read_to_string(picture(&world)).unwrap();
    assert!(now.contains("\"cancelled\""), "{now}");
}
