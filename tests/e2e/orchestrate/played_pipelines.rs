//! Pipelines that play roles of workflows, and steps of other pipelines: their runs are child threads.

use std::fs;

use serde_json::{Value, json};

use crate::crash::reader::Ledger;
use crate::crash::sweep::{kill_at, restore, save};
use crate::crash::tracer::Verdict;
use crate::processes::signal;
use crate::world::{Run, World, wait_until};

const BUILD: &str = r#"
name: build
context: {target: all}
steps:
- name: Make
  command: [sh, -c, "echo \"$1\" for ${context.target} >> made; while [ -e wait ]; do sleep 0.02; done; test ! -e broken", sh, "${context.task}"]
- name: Answer
  command: [printf, '{"file": "a.out"}']
  output_capture: json
"#;

const OUTER: &str = r#"
name: outer
roles:
  build:
    goal: It is built.
    workflow: ./build.yaml
  close:
    goal: It is closed.
    frontmatter: { type: object, required: [note], properties: { note: { type: string } } }
graph:
  $START: { _: { role: build, prompt: "Build it." } }
  build: { done: { role: close, prompt: "Close {{file}}." } }
  close: { _: { role: $END, prompt: "End {{note}}" } }
"#;

/// A world with a thread of a workflow whose first role the pipeline plays.
fn world(outer: &str) -> (World, String) {
    let world = World::new();
    world.write("build.yaml", BUILD);
    world.put(outer);
    world.mock("roles:\n  close: [{ output: { note: n } }]\n");
    let thread = world.start("outer");
    (world, thread)
}

fn run(world: &World, thread: &str) -> Run {
    world.uwf(&["thread", "run", thread])
}

/// Returns what the steps of the pipeline wrote.
fn made(world: &World) -> String {
    fs::read_to_string(world.project().join("made")).unwrap_or_default()
}

/// Returns the only child of a thread.
#[track_caller]
fn child(world: &World, thread: &str) -> String {
    let children = world.show(thread)["children"].clone();
    let children = children.as_array().unwrap();
    assert_eq!(children.len(), 1, "{children:?}");
    children[0]["thread"].as_str().unwrap().to_owned()
}

fn steps(world: &World, thread: &str) -> Vec<Value> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["steps"].as_array().unwrap()[1..].to_vec()
}

#[test]
fn the_run_of_a_pipeline_plays_a_role_in_the_folder_of_its_thread() {
    let (world, thread) = world(OUTER);
    run(&world, &thread).exits(0);
    assert_eq!(made(&world), "Build it. for all\n");
    let steps = steps(&world, &thread);
    let answer = json!({ "$status": "done", "file": "a.out" });
    assert_eq!(steps[0]["output"], answer);
    assert_eq!(steps[1]["edgePrompt"], json!("Close a.out."));
    let played = &steps[0]["children"][0];
    assert_eq!(
        (&played["status"], &played["steps"]),
        (&json!("done"), &json!(2))
    );
    let child = played["thread"].as_str().unwrap();
    assert_eq!(world.show(child)["parent"]["thread"], json!(thread));
    let runs: Vec<_> = fs::read_dir(world.project().join(".orchestrate/runs"))
        .unwrap()
        .collect();
    assert_eq!(runs.len(), 1);
    let folder = runs[0].as_ref().unwrap().path();
    let place: Value = serde_json::from_slice(&fs::read(folder.join("thread")).unwrap()).unwrap();
    assert_eq!(place["thread"], json!(child));
    let state: Value =
        serde_json::from_slice(&fs::read(folder.join("state.json")).unwrap()).unwrap();
    assert_eq!(state["status"], json!("completed"));
    assert_eq!(
        state["context"],
        json!({ "target": "all", "task": "Build it." })
    );
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_pipeline_that_fails_suspends_the_thread_and_a_resume_goes_on_with_the_run() {
    let (world, thread) = world(OUTER);
    world.write("broken", "");
    let suspended = run(&world, &thread);
    assert_eq!(suspended.code, 6, "{}", suspended.stderr);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("suspended"));
    let why = shown["suspendMessage"].as_str().unwrap();
    assert!(why.starts_with("step `Make` failed"), "{why}");
    let run_of_build = child(&world, &thread);
    // Nothing is done before a person lets it go on.
    world.step(&thread).exits(6).says("step `Make` failed");
    assert_eq!(made(&world).lines().count(), 1);
    fs::remove_file(world.project().join("broken")).unwrap();
    world
        .uwf(&["thread", "resume", &thread, "-p", "again"])
        .exits(0)
        .says("does not read the message");
    run(&world, &thread).exits(0);
    assert_eq!(made(&world).lines().count(), 2);
    assert_eq!(
        steps(&world, &thread)[0]["children"][0]["thread"],
        json!(run_of_build)
    );
}

#[test]
fn what_returns_says_is_the_answer_of_the_role() {
    let returns = "workflow: ./build.yaml\n    returns: '{ \"file\": steps[-1].output.json.file & \"!\", \"made\": steps[0].output.exit_code, \"steps\": $count(steps) }'";
    let (world, thread) = world(&OUTER.replace("workflow: ./build.yaml", returns));
    run(&world, &thread).exits(0);
    let output = &steps(&world, &thread)[0]["output"];
    let expected = json!({ "$status": "done", "file": "a.out!", "made": 0, "steps": 2 });
    assert_eq!(output, &expected);
}

#[test]
fn a_stored_pipeline_is_named_by_its_hash_and_the_file_may_change() {
    let (world, _) = world(OUTER);
    let shown = world.uwf(&["workflow", "show", "outer"]).exits(0).json();
    let hash = shown["payload"]["roles"]["build"]["workflow"]
        .as_str()
        .unwrap()
        .to_owned();
    world.write(
        "build.yaml",
        "name: build\nsteps: [{name: Other, command: [echo, other]}]\n",
    );
    let inner = OUTER.replace("./build.yaml", &hash);
    world.put(&inner.replace("name: outer", "name: by-hash"));
    let thread = world.start("by-hash");
    run(&world, &thread).exits(0);
    assert_eq!(made(&world), "Build it. for all\n");
}

#[test]
fn mistakes_in_a_pipeline_and_edges_that_it_never_takes_are_found() {
    let world = World::new();
    world.write("build.yaml", "steps: [{name: A, comand: [x]}]\n");
    world.write("outer.yaml", OUTER);
    let refused = world.uwf(&["workflow", "put", "outer.yaml"]).exits(1);
    assert!(
        refused
            .stderr
            .contains("the pipeline `./build.yaml` has a mistake"),
        "{}",
        refused.stderr
    );
    world.write("build.yaml", BUILD);
    world.write("outer.yaml", &OUTER.replace("done: {", "approved: {"));
    let refused = world.uwf(&["workflow", "put", "outer.yaml"]).exits(1);
    assert!(refused.stderr.contains("approved"), "{}", refused.stderr);
    world.write("outer.yaml", OUTER);
    world.uwf(&["workflow", "put", "outer.yaml"]).exits(0);
    let graph = world
        .uwf(&["workflow", "graph", "outer", "--format", "text"])
        .exits(0)
        .stdout;
    assert!(
        graph.contains("┌ build") && graph.contains("│ Make"),
        "{graph}"
    );
    let exported = world.uwf(&["workflow", "export", "outer", "-o", "exported.yaml"]);
    exported.exits(0);
}

#[test]
fn branches_are_played_by_runs_side_by_side() {
    let outer = OUTER
        .replace(
            "    workflow: ./build.yaml",
            "    each: [a, b, c]\n    workflow: ./build.yaml",
        )
        .replace("Close {{file}}.", "Close {{count}}.")
        .replace("Build it.", "Build {{item}}.")
        .replace(
            "  build: { done:",
            "  build: { failed: { role: $END, prompt: \"\" }, done:",
        );
    let (world, thread) = world(&outer);
    run(&world, &thread).exits(0);
    let mut lines: Vec<String> = made(&world).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(
        lines,
        ["Build a. for all", "Build b. for all", "Build c. for all"]
    );
    let results = &steps(&world, &thread)[0]["output"]["results"];
    assert_eq!(results[2]["output"], json!({ "file": "a.out" }));
    let runs = fs::read_dir(world.project().join(".orchestrate/runs")).unwrap();
    assert_eq!(runs.count(), 3);
}

#[test]
fn a_pipeline_plays_a_step_of_another_one() {
    let world = World::new();
    world.write("build.yaml", BUILD);
    world.write(
        "p.yaml",
        "steps:\n- name: Build\n  workflow: {name: ./build.yaml, task: Now}\n- name: Last\n  command: [sh, -c, 'echo \"$1\" >> made', sh, \"${steps.Build.json.file}\"]\n",
    );
    world.write("broken", "");
    let waits = world
        .uwf(&["orchestrate", "run", "p.yaml", "--json"])
        .exits(1)
        .json();
    let inner = waits["child"].as_str().unwrap();
    assert_eq!(world.show(inner)["status"], json!("suspended"));
    fs::remove_file(world.project().join("broken")).unwrap();
    world.uwf(&["thread", "resume", inner]).exits(0);
    let id = waits["run_id"].as_str().unwrap();
    world.uwf(&["orchestrate", "resume", id]).exits(0);
    assert_eq!(made(&world), "Now for all\nNow for all\na.out\n");
}

#[test]
fn a_circle_through_both_kinds_ends_at_the_most_depth() {
    let (world, thread) = world(OUTER);
    let circle = BUILD.replace(
        "- name: Answer\n",
        "- name: Again\n  workflow: {name: outer, task: again}\n- name: Answer\n",
    );
    world.write("build.yaml", &circle);
    world.put(OUTER);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let thread = world.start("outer");
    let stopped = run(&world, &thread);
    assert_eq!(stopped.code, 6, "{}", stopped.stderr);
    assert!(
        world.show(&thread)["suspendMessage"]
            .as_str()
            .unwrap()
            .contains("`maxDepth`")
    );
    assert!(made(&world).lines().count() <= 3, "{}", made(&world));
}

#[test]
fn a_kill_of_the_thread_ends_the_run_and_its_program() {
    let (world, thread) = world(OUTER);
    world.write("wait", "");
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the step works", || !made(&world).is_empty());
    let child = child(&world, &thread);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    engine.wait_with_output().unwrap();
    assert_eq!(world.show(&child)["status"], json!("cancelled"));
    assert_eq!(world.show(&thread)["status"], json!("cancelled"));
}

#[test]
fn a_signal_interrupts_the_run_and_the_next_step_goes_on_with_it() {
    let (world, thread) = world(OUTER);
    world.write("wait", "");
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the step works", || !made(&world).is_empty());
    signal("TERM", engine.id());
    let ended: Run = engine.wait_with_output().unwrap().into();
    ended.exits(143);
    let first = child(&world, &thread);
    fs::remove_file(world.project().join("wait")).unwrap();
    run(&world, &thread).exits(0);
    assert_eq!(
        steps(&world, &thread)[0]["children"][0]["thread"],
        json!(first)
    );
}

/// Which of the calls are killed: a sweep over all would take minutes.
const EVERY: usize = 9;

#[test]
fn a_thread_that_is_killed_at_many_places_has_one_run() {
    let (world, thread) = world(OUTER);
    save(&world);
    let mut kills = 0;
    for number in (0..).step_by(EVERY) {
        let args = ["thread", "step", &thread];
        let traced = kill_at(&world, &args, " thread ", number, Verdict::Kill);
        if traced.killed().is_none() {
            break;
        }
        kills += 1;
        wait_until("the thread is at its end", || {
            let code = world.step(&thread).code;
            assert!([0, 5, 6, 7].contains(&code), "{code} {:?}", traced.killed());
            if code == 6 {
                // It was the program of the step that was killed, before it was started.
                world.uwf(&["thread", "resume", &thread]).exits(0);
            }
            world.show(&thread)["done"] == json!(true)
        });
        let ledger = Ledger::read(&world.root());
        assert_eq!(ledger.threads.len(), 2, "{:?}", traced.killed());
        assert_eq!(ledger.threads[&thread].len(), 2, "{:?}", traced.killed());
        let lines = made(&world).lines().count();
        assert!([1, 2].contains(&lines), "{lines} {:?}", traced.killed());
        restore(&world);
    }
    assert!(kills > 10, "{kills}");
}
