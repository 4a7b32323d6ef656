//! Damage to the store and its surroundings: named, never widened, and no reason to lose what is sound.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::{ONE_STEP, REVIEW, World};

const SCRIPT: &str = "roles:\n  writer:\n    - output: { plan: p, note: n }\n  reviewer:\n    - output: { $status: approved, summary: s }\n";

/// Hurts the content of a file.
type Damage = fn(&mut Vec<u8>);

fn world() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    world.put(REVIEW);
    world.mock(SCRIPT);
    world
}

fn node_file(world: &World, hash: &Value) -> PathBuf {
    let name = format!("{}.bin", hash.as_str().unwrap());
    world.root().join("cas").join(name)
}

/// Every command that reads or changes the list of active threads.
fn thread_commands(thread: &str) -> Vec<Vec<&str>> {
    let mut commands: Vec<Vec<&str>> = ["step", "show", "steps", "read", "kill", "resume"]
        .map(|verb| vec!["thread", verb, thread])
        .into();
    commands.push(vec!["thread", "list"]);
    commands.push(vec!["thread", "list", "--all"]);
    commands.push(vec!["thread", "start", "one", "-p", "x"]);
    commands
}

#[test]
fn a_damaged_list_of_threads_is_named_with_its_line_and_never_written() {
    let world = world();
    let thread = world.start("one");
    let path = world.root().join("threads.yaml");
    let good = fs::read(&path).unwrap();
    let line = good.len();
    let mut torn = good.clone();
    torn.extend(&good[..line / 2]);
    let cases: [(&[u8], u64); 4] = [
        (&[&good[..], b"\xff\xfe garbage\n"].concat(), 2),
        (&[&good[..], b"nonsense\n"].concat(), 2),
        (b"- a list\n", 1),
        (&torn, 2),
    ];
    for (bytes, line) in cases {
        fs::write(&path, bytes).unwrap();
        for command in thread_commands(&thread) {
            let run = world.uwf(&command).exits(4);
            assert_eq!(run.stdout, "", "{command:?}");
            run.says(&format!("threads.yaml:{line}`"))
                .says("hint: fix that line by hand");
            assert_eq!(fs::read(&path).unwrap(), bytes, "{command:?}");
        }
    }
    // What does not need the list still works.
    world.uwf(&["workflow", "list"]).exits(0);
    fs::write(&path, good).unwrap();
    world.step(&thread).exits(0);
}

#[test]
fn a_damaged_node_stops_its_thread_alone() {
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    let truncate = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    let empty = |bytes: &mut Vec<u8>| bytes.clear();
    let damages: [Damage; 3] = [flip, truncate, empty];
    for damage in damages {
        let world = world();
        let (hurt, sound) = (world.start("review"), world.start("one"));
        let head = world.step(&hurt).exits(0).json()["head"].clone();
        let file = node_file(&world, &head);
        let good = fs::read(&file).unwrap();
        let mut bad = good.clone();
        damage(&mut bad);
        fs::write(&file, &bad).unwrap();
        for verb in ["step", "show", "steps", "read"] {
            world
                .uwf(&["thread", verb, &hurt])
                .exits(4)
                .says(head.as_str().unwrap())
                .says("hint: `uwf cas verify`");
        }
        for command in [&["step", "show"][..], &["cas", "get"], &["thread", "fork"]] {
            world
                .uwf(&[command, &[head.as_str().unwrap()]].concat())
                .exits(4);
        }
        let problems = world.uwf(&["cas", "verify"]).exits(4).json()["problems"].clone();
        assert_eq!(problems.as_array().unwrap().len(), 1);
        let listed = world.uwf(&["thread", "list"]).exits(0).json();
        let status = |thread: &str| {
            let items = listed.as_array().unwrap();
            let item = items.iter().find(|item| item["thread"] == json!(thread));
            item.unwrap()["status"].clone()
        };
        assert_eq!(
            (status(&hurt), status(&sound)),
            (json!("corrupt"), json!("idle"))
        );
        world.step(&sound).exits(0);
        fs::write(&file, good).unwrap();
        assert_eq!(world.step(&hurt).exits(0).json()["done"], json!(true));
    }
}

#[test]
fn a_missing_node_is_told_and_the_thread_can_be_ended() {
    let world = world();
    let thread = world.start("one");
    let head = world.show(&thread)["head"].clone();
    fs::remove_file(node_file(&world, &head)).unwrap();
    // A store that is another thread's looks the same, and is named.
    world
        .step(&thread)
        .exits(4)
        .says(head.as_str().unwrap())
        .says("OCAS_DIR");
    let listed = world.uwf(&["thread", "list"]).exits(0).json();
    assert_eq!(listed[0]["status"], json!("corrupt"));
    world.uwf(&["thread", "kill", &thread]).exits(0);
    world.step(&thread).exits(7);
}

#[test]
fn a_root_that_cannot_be_a_directory_is_named() {
    let world = World::new();
    fs::write(world.root(), "a file").unwrap();
    world.write("one.yaml", ONE_STEP);
    for args in [
        &["workflow", "put", "one.yaml"][..],
        &["thread", "list"],
        &["config", "set", "defaultAgent", "x"],
        &["cas", "put-text", "x"],
    ] {
        let run = world.uwf(args).exits(1);
        run.says("error: cannot ")
            .says(world.root().to_str().unwrap())
            .says("cause: ");
    }
    assert_eq!(fs::read_to_string(world.root()).unwrap(), "a file");
}

#[test]
fn a_store_that_cannot_be_written_costs_no_step_and_no_head() {
    let world = world();
    let thread = world.start("one");
    let before = world.state("threads.yaml");
    // Whoever runs the tests may be allowed to write anywhere; nobody can put a file into a file.
    let (cas, aside) = (world.root().join("cas"), world.root().join("aside"));
    fs::rename(&cas, &aside).unwrap();
    fs::write(&cas, "").unwrap();
    let run = world.step(&thread);
    assert_ne!(run.code, 0);
    run.says("error: ").says("cause: ");
    assert_eq!(world.state("threads.yaml"), before);
    fs::remove_file(&cas).unwrap();
    fs::rename(&aside, &cas).unwrap();
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
}

#[test]
fn a_reader_that_went_away_does_not_cost_the_step() {
    let world = world();
    let thread = world.start("review");
    let mut child = world
        .command(&["thread", "step", &thread, "-c", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

#[test]
fn an_error_that_nobody_reads_keeps_its_exit_code() {
    let world = world();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unknown = "01J7K9Z0000000000000000004";
    for (args, code) in [
        (&["thread", "show", unknown][..], 1),
        (&["thread", "sho", unknown], 2),
    ] {
        let mut command = world.command(args);
        let stderr = writer.try_clone().unwrap();
        assert_eq!(command.stderr(stderr).status().unwrap().code(), Some(code));
    }
}

#[test]
fn a_full_disk_behind_stdout_is_told_and_the_step_is_recorded() {
    let world = world();
    let thread = world.start("one");
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(mut full) = full else { return };
    assert!(full.write_all(b"x").is_err());
    let mut command = world.command(&["thread", "step", &thread]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write the result"), "{said}");
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}
