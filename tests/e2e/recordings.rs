//! Recording agents and playing them again: a run that was paid for once is a test from then on.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use serde_json::{Value, json};

use crate::processes::signal;
use crate::trees::alive;
use crate::world::{ONE_STEP, REVIEW, Run, World, binary, path_with, wait_until};

/// Makes the recorder of an agent the default agent.
fn record(world: &World, agent: &[&str]) {
    world.agent("uwf-record", &[&["--to", "rec.yaml", "--"], agent].concat());
}

fn replay(world: &World, options: &[&str]) {
    world.agent("uwf-mock", &[options, &["rec.yaml"]].concat());
}

/// Steps a thread until it has ended, and returns the exit code of each step.
fn play(world: &World, thread: &str) -> Vec<i32> {
    let mut codes = Vec::new();
    while codes.last() != Some(&7) {
        assert!(codes.len() < 20, "{codes:?}");
        codes.push(world.step(thread).code);
    }
    codes
}

/// Returns role, data and hash of the data of every step.
fn outputs(world: &World, thread: &str) -> Vec<[Value; 3]> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap()[1..].to_vec();
    let output = |step: &Value| {
        let node = world.uwf(&["cas", "get", step["hash"].as_str().unwrap()]);
        node.exits(0).json()["payload"]["output"].clone()
    };
    steps
        .iter()
        .map(|step| [step["role"].clone(), step["output"].clone(), output(step)])
        .collect()
}

/// What the last agent said, whatever came of it.
fn said(world: &World, thread: &str) -> String {
    world.state(&format!("runs/{thread}/stderr"))
}

#[test]
fn a_run_of_real_programs_is_played_again_without_them() {
    let world = World::new();
    world.put(REVIEW);
    // The writer fails once, the reviewer rejects the first plan: all of that is part of the run.
    world.script(
        "roles/writer.sh",
        "[ -e tried ] || { touch tried; echo 'no paper' >&2; exit 4; }\n\
         echo x >> plans; n=$(wc -l < plans)\n\
         printf -- '---\\nplan: \"plan %s: 100%%\"\\n---\\n\\n# Plan\\n\\n---\\n\\nwith a rule\\n' $n",
    );
    world.script(
        "roles/reviewer.sh",
        "grep -q 'Review: plan 2' && { printf -- '---\\n$status: approved\\nsummary: fine\\n---\\n'; exit; }\n\
         printf -- '---\\n$status: rejected\\nreason: |\\n  too\\n  thin\\n---\\n'",
    );
    record(&world, &["uwf-command", "--", "sh", "roles/{role}.sh"]);
    let real = world.start("review");
    assert_eq!(play(&world, &real), [3, 0, 0, 0, 0, 7]);

    let recording = world.project().join("rec.yaml");
    let mode = recording.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&recording).unwrap();
    for part in ["exit: 1", "durationMs: ", "prompt: ", "agent: uwf-command"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    // From here on none of the programs exists.
    std::fs::remove_dir_all(world.project().join("roles")).unwrap();
    replay(&world, &["--strict"]);
    let played = world.start("review");
    assert_eq!(play(&world, &played), [3, 0, 0, 0, 0, 7]);
    assert_eq!(outputs(&world, &played), outputs(&world, &real));
    let outputs = outputs(&world, &played);
    assert_eq!(outputs.len(), 4);
    assert_eq!(outputs[1][1]["reason"], json!("too\nthin\n"));
    let read = |thread: &str| {
        let read = world.uwf(&["thread", "read", thread, "--format", "text"]);
        read.exits(0).stdout
    };
    assert!(read(&played).contains("with a rule"), "{}", read(&played));
}

#[test]
fn the_example_of_the_documents_records_once_and_plays_again() {
    let world = World::new();
    world.put(REVIEW);
    world.script("roles/writer.sh", "printf -- '---\\nplan: p\\n---\\n'");
    world.script(
        "roles/reviewer.sh",
        "echo x >> reviews; printf -- '---\\n$status: approved\\nsummary: s\\n---\\n'",
    );
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md");
    let document = std::fs::read_to_string(document).unwrap();
    let (_, block) = document.split_once("```sh\n# Record once").unwrap();
    let block = world.script("example.sh", block.split_once("```").unwrap().0);
    std::fs::create_dir(world.dir().join("bin")).unwrap();
    symlink(binary(), world.dir().join("bin/uwf")).unwrap();
    let run = Command::new(block)
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
        .env("PATH", path_with(&world.dir().join("bin")))
        .output()
        .unwrap();
    let run = Run::from(run).exits(0);
    let threads = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    let threads = threads.as_array().unwrap();
    let [one, other] = &threads[..] else {
        panic!("{threads:?}\n{}", run.stderr);
    };
    for thread in [one, other] {
        assert_eq!(thread["status"], json!("completed"), "{}", run.stderr);
    }
    let outputs = |thread: &Value| outputs(&world, thread["thread"].as_str().unwrap());
    assert_eq!(outputs(one).len(), 2);
    assert_eq!(outputs(one), outputs(other));
    let reviews = std::fs::read_to_string(world.project().join("reviews")).unwrap();
    assert_eq!(reviews.lines().count(), 1);
}

#[test]
fn a_changed_instruction_is_told_and_strictly_taken_it_fails() {
    let world = World::new();
    world.put(ONE_STEP);
    world.write(
        "script.yaml",
        "roles: { writer: [{ output: { note: first } }] }",
    );
    record(&world, &["uwf-mock", "script.yaml"]);
    let thread = world.start("one");
    assert_eq!(play(&world, &thread), [0, 7]);

    world.put(&ONE_STEP.replace("Write a note.\" }", "Write a long note.\" }"));
    let thread = world.start("one");
    replay(&world, &["--strict"]);
    let difference = "in line 1, `Write a note.` was recorded, now it is `Write a long note.`";
    world.step(&thread).exits(3).says(difference);
    replay(&world, &[]);
    assert_eq!(world.step(&thread).exits(0).json()["role"], "writer");
    assert!(said(&world, &thread).contains(difference));
    assert_eq!(outputs(&world, &thread)[0][1], json!({ "note": "first" }));

    let text = std::fs::read_to_string(world.project().join("rec.yaml")).unwrap();
    world.write("rec.yaml", &format!("strict: true\n{text}"));
    let thread = world.start("one");
    world.step(&thread).exits(3).says(difference);
}

#[test]
fn threads_that_step_at_once_are_recorded_in_one_file() {
    let world = World::new();
    world.put(ONE_STEP);
    world.write(
        "script.yaml",
        "roles: { writer: [{ output: { note: n }, sleepMs: 100 }] }",
    );
    record(&world, &["uwf-mock", "script.yaml"]);
    let threads: Vec<String> = (0..4).map(|_| world.start("one")).collect();
    let running: Vec<_> = threads
        .iter()
        .map(|thread| world.spawn(&["thread", "step", thread]))
        .collect();
    for step in running {
        Run::from(step.wait_with_output().unwrap()).exits(0);
    }
    let text = std::fs::read_to_string(world.project().join("rec.yaml")).unwrap();
    assert_eq!(text.matches("- role: writer").count(), 4, "{text}");
    replay(&world, &[]);
    let thread = world.start("one");
    assert_eq!(play(&world, &thread), [0, 7]);
}

#[test]
fn what_cannot_be_recorded_never_fails_the_step() {
    let world = World::new();
    world.put(ONE_STEP);
    world.write(
        "script.yaml",
        "roles: { writer: [{ output: { note: n } }] }",
    );
    for (file, problem) in [
        ("script.yaml", "no recording"),
        ("none/rec.yaml", "No such file"),
    ] {
        let to = format!("--to={file}");
        world.agent("uwf-record", &[&to, "--", "uwf-mock", "script.yaml"]);
        let thread = world.start("one");
        world.step(&thread).exits(0);
        let said = said(&world, &thread);
        assert!(said.contains("was not recorded") && said.contains(problem));
    }
    assert!(world.step(&world.start("one")).code == 0);
    world.agent("uwf-record", &["--to", "rec.yaml", "--", "no-such-agent"]);
    let thread = world.start("one");
    world.step(&thread).exits(3).says("could not be started");
    world.agent("uwf-record", &["--", "uwf-mock", "script.yaml"]);
    world.step(&thread).exits(3).says("--to <file>");
}

#[test]
fn a_recorder_that_is_started_by_hand_passes_everything_through() {
    let world = World::new();
    world.put(ONE_STEP);
    world.write(
        "script.yaml",
        "roles: { writer: [{ exit: 9, stderr: oh }] }",
    );
    let thread = world.start("one");
    let args = ["agent", "record", "--to=rec.yaml", "--", "uwf-mock"];
    let run = world.uwf(&[&args, &["script.yaml", &thread, "writer"][..]].concat());
    let run = run.exits(9).says("oh");
    assert_eq!(run.stdout, "");
    world.write(
        "script.yaml",
        "roles: { writer: [{ output: { note: n } }] }",
    );
    let call = ["--thread", &thread, "--role", "writer", "--prompt", "Go."];
    let run = world.uwf(&[&args, &["script.yaml"][..], &call[..]].concat());
    let answer = run.exits(0).json();
    assert_eq!(answer["frontmatter"], json!({ "note": "n" }));
    let text = std::fs::read_to_string(world.project().join("rec.yaml")).unwrap();
    for part in ["exit: 9", "instruction: Go."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(world.step(&thread).exits(0).json()["adopted"], json!(true));
}

#[test]
fn what_a_recorded_agent_leaves_running_is_named_and_ended() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = "(setsid sh -c 'sleep 1000 >/dev/null 2>&1 & exit 0' &)\nprintf -- '---\\nnote: n\\n---\\n'";
    let tool = world.script("tool", body);
    record(&world, &["uwf-command", "--", tool.to_str().unwrap()]);
    let thread = world.start("one");
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        report["leftRunning"].as_array().unwrap().len(),
        1,
        "{report}"
    );
    assert_eq!(alive(&world), Vec::<String>::new());
}

#[test]
fn a_recorder_that_is_ended_ends_its_agent_with_all_that_it_started() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "setsid sleep 1000 &\ntouch {}/ready\nwhile :; do sleep 0.05; done",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    let thread = world.start("one");
    let args = [
        "agent",
        "record",
        "--to=rec.yaml",
        "--",
        tool.to_str().unwrap(),
    ];
    let mut recorder = world.spawn(&[&args[..], &[&thread, "writer"]].concat());
    wait_until("the agent works", || world.project().join("ready").exists());
    signal("TERM", recorder.id());
    assert_eq!(recorder.wait().unwrap().code(), Some(143));
    assert_eq!(alive(&world), Vec::<String>::new());
    assert!(
        !world.project().join("rec.yaml").exists(),
        "nothing to play"
    );
}
