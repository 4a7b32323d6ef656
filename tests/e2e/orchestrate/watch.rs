//! Watching a pipeline: it runs again when its file has changed, and not because of what it wrote itself.

use std::fs;
use std::process::Child;
use std::time::Duration;

use super::looking::{orchestrate, status};
use crate::processes::signal;
use crate::world::{Run, World, wait_until};

const WRITES: &str = r#"
steps:
- name: Say
  command: [bash, -c, 'echo run >> runs.txt; echo said']
  output_file: said.md
- name: Each
  for_each:
    items: [x]
    steps: [{name: Put, command: [date, "+%N"], output_file: "put_${item}.md"}]
"#;

const SLEEPS: &str = r#"
steps:
- name: Slow
  command: [bash, -c, 'echo run >> runs.txt; exec sleep 300']
"#;

/// Starts to watch `flow.yaml`.
fn watch(world: &World, flow: &str, args: &[&str]) -> Child {
    world.write("flow.yaml", flow);
    let args = [
        &["orchestrate", "watch", "flow.yaml", "--interval", "50"],
        args,
    ]
    .concat();
    world.spawn(&args)
}

/// Returns how many runs have begun.
fn begun(world: &World) -> usize {
    let text = fs::read_to_string(world.project().join("runs.txt"));
    text.unwrap_or_default().lines().count()
}

/// Returns how many runs are completed.
fn completed(world: &World) -> usize {
    let list = orchestrate(world, &["list", "--json"]).exits(0).json();
    let runs = list["runs"].as_array().unwrap().iter();
    runs.filter(|run| run["status"] == "completed").count()
}

fn wait_for_runs(world: &World, count: usize) {
    wait_until("the runs are completed", || {
        begun(world) >= count && completed(world) >= count
    });
}

/// Leaves time for runs that should not be.
fn settle() {
    std::thread::sleep(Duration::from_millis(900));
}

fn stop(watch: Child, name: &str, code: i32) -> Run {
    signal(name, watch.id());
    let run: Run = watch.wait_with_output().unwrap().into();
    run.exits(code)
}

#[test]
fn changes_at_once_lead_to_one_run_and_own_files_to_none() {
    let world = World::new();
    let watching = watch(&world, WRITES, &["--also", "*.md"]);
    wait_for_runs(&world, 1);
    settle();
    assert_eq!(begun(&world), 1, "what the run wrote is no change");
    for number in 1..=3 {
        world.write("flow.yaml", &format!("# {number}\n{WRITES}"));
        std::thread::sleep(Duration::from_millis(60));
    }
    wait_for_runs(&world, 2);
    settle();
    assert_eq!(begun(&world), 2);
    world.write("note.md", "of a person");
    wait_for_runs(&world, 3);
    let run = stop(watching, "INT", 130);
    run.says("changed: flow.yaml").says("changed: note.md");
}

#[test]
fn a_broken_file_is_reported_and_watched_on() {
    let world = World::new();
    let watching = watch(&world, WRITES, &["--json"]);
    wait_for_runs(&world, 1);
    world.write("flow.yaml", "steps: {");
    std::thread::sleep(Duration::from_millis(1500));
    world.write("flow.yaml", WRITES);
    wait_for_runs(&world, 2);
    settle();
    let run = stop(watching, "TERM", 143)
        .says("`flow.yaml` has 1 mistake")
        .says("V01");
    let made: Vec<bool> = run
        .stdout
        .lines()
        .map(|line| !serde_json::from_str::<serde_json::Value>(line).unwrap()["run_id"].is_null())
        .collect();
    assert_eq!(made, [true, false, true], "one object for each call");
}

#[test]
fn the_end_of_the_watch_ends_the_run() {
    let world = World::new();
    let watching = watch(&world, SLEEPS, &[]);
    wait_until("the step runs", || begun(&world) == 1);
    stop(watching, "INT", 130);
    let list = orchestrate(&world, &["list", "--json"]).exits(0).json();
    assert_eq!(list["runs"][0]["status"], "interrupted", "{list}");
}

#[test]
fn a_change_ends_the_active_run_only_if_that_is_asked_for() {
    let world = World::new();
    let watching = watch(&world, SLEEPS, &["--restart"]);
    wait_until("the step runs", || begun(&world) == 1);
    world.write("flow.yaml", WRITES);
    wait_for_runs_of(&world, "completed");
    stop(watching, "INT", 130);

    let world = World::new();
    let watching = watch(&world, SLEEPS, &[]);
    wait_until("the step runs", || begun(&world) == 1);
    world.write("flow.yaml", WRITES);
    settle();
    assert_eq!(begun(&world), 1, "the active run goes on");
    stop(watching, "INT", 130);
}

fn wait_for_runs_of(world: &World, newest: &str) {
    wait_until("the newest run is so", || {
        let list = orchestrate(world, &["list", "--json"]).exits(0).json();
        list["runs"][0]["status"] == newest && list["runs"].as_array().unwrap().len() == 2
    });
}

#[test]
fn options_of_run_are_those_of_every_run() {
    let world = World::new();
    let flow = "steps:\n- name: A\n  command: [bash, -c, 'echo ${context.k} >> runs.txt; exit 3']\n- name: B\n  command: ['true']\n";
    let options = ["--context", "k=a b", "--on-error=continue", "--quiet"];
    let watching = watch(&world, flow, &options);
    wait_for_runs(&world, 1);
    let text = fs::read_to_string(world.project().join("runs.txt")).unwrap();
    assert_eq!(text, "a b\n");
    let run = stop(watching, "INT", 130);
    assert_eq!(run.stderr, "", "--quiet");
    let list = orchestrate(&world, &["list", "--json"]).exits(0).json();
    let id = list["runs"][0]["run_id"].as_str().unwrap();
    assert_eq!(status(&world, id)["failed_steps"], serde_json::json!(["A"]));
}

#[test]
fn what_cannot_be_watched_exits_with_2() {
    let world = World::new();
    orchestrate(&world, &["watch", "nope.yaml"])
        .exits(2)
        .says("there is no such file");
    world.write("flow.yaml", WRITES);
    let refused = orchestrate(&world, &["watch", "flow.yaml", "--run-id", "r"]).exits(2);
    refused.says("--run-id");
    orchestrate(&world, &["watch", "flow.yaml", "--also", "../x"])
        .exits(2)
        .says("--also ../x");
    orchestrate(&world, &["watch", "flow.yaml", "--interval", "1"]).exits(2);
}
