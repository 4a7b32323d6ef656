//! Attempts that follow failed ones by themselves, in child threads: their parents wait for them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::branches::{last, ran, statuses, world};
use crate::world::{ONE_STEP, World, wait_until};

/// A role that another workflow plays.
const PARENT: &str = r#"
name: parent
roles:
  writer:
    goal: A note is written.
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
    workflow: one
graph:
  $START: { _: { role: writer, prompt: "Write a note." } }
  writer: { _: { role: $END, prompt: "Done: {{note}}" } }
"#;

const REFUSED_ONCE: &str =
    "roles:\n  writer:\n    - { exit: 1, class: rate-limit, failures: 1, output: { note: n } }\n";

fn retry(world: &World, backoff: &str) {
    world.configure("agents.default.retry.max", "2");
    world.configure("agents.default.retry.backoff", backoff);
}

/// A world with a thread whose role a child plays, and whose agent is refused once.
fn parent(backoff: &str) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.put(PARENT);
    world.mock(REFUSED_ONCE);
    retry(&world, backoff);
    let thread = world.start("parent");
    (world, thread)
}

#[test]
fn a_parent_waits_with_its_child_and_says_what_to_type() {
    let (world, thread) = parent("1h");
    let told = world.step(&thread).exits(3);
    let at = told.json()["nextTryAt"].clone();
    assert!(at.is_string());
    told.says(&format!("`uwf thread run {thread}` waits for that"));
    let view = world.show(&thread);
    assert_eq!(
        (&view["status"], &view["nextTryAt"]),
        (&json!("waiting"), &at),
        "{view}"
    );
    world
        .step(&thread)
        .exits(5)
        .says("waits until")
        .says(&format!("`uwf thread step {thread} --now`"));
    world.uwf(&["thread", "step", "--all"]).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("waiting"));
    world.uwf(&["thread", "step", &thread, "--now"]).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

#[test]
fn a_run_of_a_parent_waits_for_its_child() {
    let (world, thread) = parent("300ms");
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

/// A world with branches of which two are refused while there is a file `limit-<file>`.
fn limited(backoff: &str) -> (World, String) {
    let (world, thread) = world("", 3);
    let tool = world.project().join("tool.sh");
    let text = fs::read_to_string(&tool).unwrap();
    let limit = "[ -e \"limit-$file\" ] && { rm \"limit-$file\"; echo 'rate limit' >&2; exit 9; }\n[ -e \"fail-";
    fs::write(&tool, text.replace("[ -e \"fail-", limit)).unwrap();
    retry(&world, backoff);
    for file in ["limit-f0", "limit-f2"] {
        world.write(file, "");
    }
    (world, thread)
}

#[test]
fn branches_that_wait_hold_up_no_other_one_and_a_run_waits_for_them() {
    let (world, thread) = limited("500ms");
    let run = world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(statuses(&world, &thread), ["done"; 3], "{}", run.stderr);
    let mut ran = ran(&world);
    ran.sort();
    assert_eq!(ran, ["f0", "f0", "f1", "f2", "f2"]);
}

#[test]
fn a_step_of_branches_that_all_wait_exits_with_the_first_time() {
    let (world, thread) = limited("1h");
    world.step(&thread).exits(0);
    let view = world.show(&thread);
    assert_eq!(view["status"], json!("waiting"), "{view}");
    let early = world.step(&thread).exits(5);
    let early = early.says("branch `").says("waits until");
    early.says(&format!("`uwf thread step {thread} --now`"));
    assert_eq!(ran(&world).len(), 3);
    world.uwf(&["thread", "step", &thread, "--now"]).exits(0);
    assert_eq!(last(&world, &thread)["output"]["failed"], json!(0));
}

#[test]
fn a_branch_that_fails_for_good_is_not_hidden_by_those_that_wait() {
    let (world, thread) = limited("1h");
    world.write("fail-f1", "");
    let run = world.uwf(&["thread", "run", &thread]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    run.says("f1");
    assert_eq!(world.show(&thread)["status"], json!("failed"));
}

#[test]
fn a_fallback_of_a_branch_begins_while_the_others_are_at_work() {
    let (world, thread) = limited("1h");
    world
        .uwf(&["config", "unset", "agents.default.retry"])
        .exits(0);
    let tool = world.project().join("tool.sh");
    let args = serde_json::to_string(&[Path::new("--"), &tool]).unwrap();
    world.configure("agents.other.command", "uwf-command");
    world.configure("agents.other.args", &args);
    world.configure("agents.default.fallback", r#"["other"]"#);
    world.write("wait-f1", "");
    let run = world.spawn(&["thread", "run", &thread]);
    wait_until("the fallbacks have answered", || {
        ran(&world).iter().filter(|file| *file != "f1").count() == 4
    });
    fs::remove_file(world.project().join("wait-f1")).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

/// A pipeline with a step that starts a workflow.
const PIPELINE: &str = r#"
name: build
steps:
- name: Note
  workflow: { name: one, task: "Write a note." }
"#;

#[test]
fn a_run_of_a_pipeline_waits_for_its_child() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock(REFUSED_ONCE);
    retry(&world, "300ms");
    world.write("build.yaml", PIPELINE);
    let run = world.uwf(&["orchestrate", "run", "build.yaml"]);
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    let run = run.says("waits until");
    let threads = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    let done = |one: &Value| one["status"] == "completed";
    assert!(
        threads.as_array().unwrap().iter().all(done),
        "{}",
        run.stdout
    );
}
