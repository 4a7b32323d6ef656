//! The acceptance tests of the specification, by their numbers: queues of tasks, and waits for files.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::runs::{Ran, resume, root_of_only_run, run, start, state_in, text_of, wait_for_file};
use super::zip::names_in;
use crate::world::{World, wait_until};

#[test]
fn test_05_a_task_is_seen_whole_or_not_at_all() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Task
  wait_for: {glob: "inbox/qa/*", poll_ms: 10, timeout_sec: 60}
- name: Read
  command: [cat, inbox/qa/1.task]
"#;
    let running = start(&world, pipeline, &[]);
    wait_until("the run waits", || {
        state_in(&root_of_only_run(&world))["current_step"]["key"] == "Task"
    });
    let mut put = world.command(&["orchestrate", "task", "put", "inbox/qa/1.task"]);
    let mut put = put
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = put.stdin.take().unwrap();
    input.write_all(b"first half, ").unwrap();
    let inbox = world.project().join("inbox/qa");
    wait_until("a part of the task is written", || {
        let mut found = fs::read_dir(&inbox).into_iter().flatten();
        found.any(|file| file.unwrap().metadata().unwrap().len() > 0)
    });
    // Some looks of the waiting step fall into this time.
    std::thread::sleep(Duration::from_millis(100));
    input.write_all(b"second half").unwrap();
    drop(input);
    assert!(put.wait().unwrap().success());
    let ran = running.wait().exits(0);
    assert_eq!(ran.step("Task")["files"], json!(["inbox/qa/1.task"]));
    assert_eq!(ran.output("Read"), "first half, second half");
}

/// Two tasks, of which one can be done.
fn two_tasks(world: &World) {
    world.write("inbox/bad.task", "bad");
    world.write("inbox/good.task", "good");
}

/// Returns the two folders of the tasks of a run that are done.
fn done_in(ran: &Ran) -> (String, String) {
    let time = ran.id().split_once('-').unwrap().0;
    (
        format!("processed/{time}/good.task"),
        format!("failed/{time}/bad.task"),
    )
}

#[test]
fn test_06_handlers_of_a_loop_body_move_tasks_to_where_they_belong() {
    let world = World::new();
    two_tasks(&world);
    let pipeline = r#"
steps:
- name: Tasks
  command: [find, inbox, -name, "*.task", -type, f]
  output_capture: lines
- name: Each
  for_each:
    items_from: steps.Tasks.lines
    as: task
    steps:
    - name: Work
      command: [grep, -q, good, "${task}"]
      on: {success: {goto: Done}, failure: {goto: Failed}}
    - name: Failed
      command: [sh, -c, 'mkdir -p "$1" && mv "$0" "$1"', "${task}", "failed/${run.timestamp_utc}"]
      on: {always: {goto: Next}}
    - name: Done
      command: [sh, -c, 'mkdir -p "$1" && mv "$0" "$1"', "${task}", "processed/${run.timestamp_utc}"]
    - name: Next
      command: ["true"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    let (good, bad) = done_in(&ran);
    assert_eq!(
        (text_of(&world, &good), text_of(&world, &bad)),
        ("good".to_owned(), "bad".to_owned())
    );
    assert_eq!(
        fs::read_dir(world.project().join("inbox")).unwrap().count(),
        0
    );
}

#[test]
fn test_06_a_loop_moves_the_files_of_its_items_if_it_is_told_to() {
    let world = World::new();
    two_tasks(&world);
    let pipeline = r#"
steps:
- name: Tasks
  command: [sh, -c, "ls inbox/*.task"]
  output_capture: lines
- name: Each
  for_each:
    items_from: steps.Tasks.lines
    steps:
    - name: Work
      command: [grep, -q, good, "${item}"]
    on_item_complete:
      success: {move_to: "processed/${run.timestamp_utc}"}
      failure: {move_to: "failed/${run.timestamp_utc}"}
"#;
    let ran = run(&world, pipeline, &["--on-error", "continue"]).exits(0);
    assert_eq!(ran.summary["failed_steps"], json!(["Each"]));
    let (good, bad) = done_in(&ran);
    assert_eq!(
        (text_of(&world, &good), text_of(&world, &bad)),
        ("good".to_owned(), "bad".to_owned())
    );
    let lifecycle = &ran.step("Each")[0]["lifecycle"];
    let folder = bad.strip_suffix("/bad.task").unwrap();
    assert_eq!(
        lifecycle,
        &json!({"result": "failure", "action": "move", "from": "inbox/bad.task", "to": folder, "action_applied": true, "error": null})
    );
}

/// A pipeline of one step that lists the finished tasks.
const LISTS: &str = "steps:\n- name: List\n  command: [find, processed]\n  output_capture: lines\n";

#[test]
fn test_10_the_folder_of_finished_tasks_is_emptied_first() {
    let world = World::new();
    world.write("processed/20200101T000000Z/a.task", "");
    world.write("processed/.hidden", "");
    let outside = world.write("kept/b.task", "");
    symlink("../kept", world.project().join("processed/link")).unwrap();
    world.write("flow.yaml", LISTS);
    let dry = [
        "orchestrate",
        "run",
        "flow.yaml",
        "--clean-processed",
        "--dry-run",
    ];
    world
        .uwf(&dry)
        .exits(0)
        .says("`processed/.hidden` would be removed");
    let ran = run(&world, LISTS, &[]).exits(0);
    assert_eq!(ran.step("List")["lines"].as_array().unwrap().len(), 5);
    let ran = run(&world, LISTS, &["--clean-processed"]).exits(0);
    assert_eq!(ran.step("List")["lines"], json!(["processed"]));
    assert!(outside.exists());
    // A pipeline with mistakes cleans nothing.
    world.write("processed/c.task", "");
    world.write("flow.yaml", "steps: []\n");
    world.uwf(&dry[..4]).exits(2);
    assert!(world.project().join("processed/c.task").exists());
}

#[test]
fn test_11_finished_tasks_are_archived_on_success_and_only_then() {
    let world = World::new();
    world.write("processed/t/1.task", "one");
    world.write("processed/t/2.task", "two");
    let usual = ["--archive-processed"];
    let failing = "steps:\n- name: A\n  command: [test, -e, ready]\n";
    let ran = run(&world, failing, &usual).exits(1);
    assert!(!ran.root().join("processed.zip").exists());
    world.write("ready", "");
    let ran = resume(&world, ran.id(), &[]).exits(0);
    let archive = ran.root().join("processed.zip");
    let tasks = ["processed/t/1.task", "processed/t/2.task"];
    assert_eq!(names_in(&archive), tasks);
    let chosen = world.dir().join("out of it.zip");
    fs::write(&chosen, "old").unwrap();
    let named = ["--archive-processed", chosen.to_str().unwrap()];
    let ran = run(&world, failing, &named).exits(0);
    assert_eq!(names_in(&chosen), tasks);
    assert!(!ran.root().join("processed.zip").exists());
    fs::remove_dir_all(world.project().join("processed")).unwrap();
    let ran = run(&world, failing, &usual).exits(0);
    assert!(names_in(&ran.root().join("processed.zip")).is_empty());
}

#[test]
fn test_11_an_archive_within_what_it_contains_is_refused_before_the_run() {
    let world = World::new();
    world.write("processed/1.task", "one");
    world.write("flow.yaml", LISTS);
    for destination in ["processed/all.zip", "./processed/t/../all.zip"] {
        let words = [
            "orchestrate",
            "run",
            "flow.yaml",
            "--archive-processed",
            destination,
        ];
        world.uwf(&words).exits(2);
    }
    assert!(!world.project().join(".orchestrate").exists());
}

#[test]
fn test_15_nothing_outside_of_the_workspace_is_cleaned() {
    let world = World::new();
    let outside = world.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "").unwrap();
    let clean = |folder: &str| {
        world.write("flow.yaml", &format!("processed_dir: {folder}\n{LISTS}"));
        let words = ["orchestrate", "run", "flow.yaml", "--clean-processed"];
        world.uwf(&words).exits(2)
    };
    symlink(&outside, world.project().join("link")).unwrap();
    symlink(".", world.project().join("self")).unwrap();
    for folder in [
        "../outside",
        outside.to_str().unwrap(),
        ".",
        "a/../../outside",
    ] {
        clean(folder).says(" V11: ");
    }
    for folder in ["link", "self", "link/deep"] {
        clean(folder);
    }
    assert!(outside.join("precious").exists());
    assert!(!world.project().join(".orchestrate").exists());
    assert!(world.project().join("flow.yaml").exists());
}

#[test]
fn test_16_a_wait_blocks_until_enough_files_are_there() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Replies
  wait_for: {glob: "inbox/replies/*.task", min_count: 2, poll_ms: 20, timeout_sec: 60}
- name: After
  command: [touch, after]
"#;
    world.write("inbox/replies/1.task", "");
    let mut running = start(&world, pipeline, &[]);
    wait_until("the run waits", || {
        state_in(&root_of_only_run(&world))["current_step"]["key"] == "Replies"
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(!running.is_over());
    assert!(!world.project().join("after").exists());
    world.write("inbox/replies/2.task", "");
    wait_for_file(&world, "after");
    let ran = running.wait().exits(0);
    let replies = ran.step("Replies");
    assert_eq!(
        replies["files"],
        json!(["inbox/replies/1.task", "inbox/replies/2.task"])
    );
    assert_eq!(replies["timed_out"], false);
}

#[test]
fn test_17_a_wait_in_vain_ends_with_124() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Replies
  wait_for: {glob: "inbox/*.task", poll_ms: 50, timeout_sec: 0.3}
- name: After
  command: [touch, after]
"#;
    let ran = run(&world, pipeline, &[]).exits(124);
    assert_eq!(ran.failure("Replies"), (124, "timeout"));
    assert_eq!(ran.state["status"], "failed");
    assert!(!world.project().join("after").exists());
}

#[test]
fn test_18_a_wait_records_files_duration_and_polls() {
    let world = World::new();
    world.write("in/b.task", "");
    world.write("in/a.task", "");
    let pipeline = r#"
steps:
- name: There
  wait_for: {glob: "in/*.task", min_count: 2}
- name: Missing
  wait_for: {glob: "in/*.task", min_count: 3, poll_ms: 100, timeout_sec: 0.45}
  on: {failure: {goto: Use}}
- name: Use
  command: [printf, "%s ", "${steps.There.files}", "${steps.Missing.timed_out}", "${steps.Missing.poll_count}", "${steps.Missing.wait_duration}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    let there = ran.step("There");
    let files = json!(["in/a.task", "in/b.task"]);
    assert_eq!(there["files"], files);
    assert_eq!(
        (&there["poll_count"], &there["timed_out"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(there["exit_code"], 0);
    assert_eq!(there["wait_duration"], there["wait_duration_ms"]);
    let missing = ran.step("Missing");
    assert_eq!(
        (&missing["files"], &missing["timed_out"]),
        (&files, &json!(true))
    );
    let (polls, took) = (&missing["poll_count"], &missing["wait_duration"]);
    assert!((2..=6).contains(&polls.as_u64().unwrap()), "{missing}");
    assert!(took.as_u64().unwrap() >= 450, "{missing}");
    let used = format!("[\"in/a.task\",\"in/b.task\"] true {polls} {took} ");
    assert_eq!(ran.output("Use"), used);
}
