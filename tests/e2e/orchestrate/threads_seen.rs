//! What documents, data and graphs tell of runs of pipelines, and what becomes of their nodes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::threads::{STOPS, end, picture, run, run_to_its_wait, thread_of};
use crate::gc::{DAY, age_all, all_views, gc, has, put_text};
use crate::world::World;

const LOOP: &str = r#"
name: loop
steps:
  - name: Data
    command: ["printf", '{"b":1.0,"a":["x","y"]}']
    output_capture: json
  - name: Each
    for_each:
      items_from: steps.Data.json.a
      steps:
        - name: Say
          command: ["sh", "-c", "echo item ${item}; echo warning >&2"]
  - name: Last
    command: ["sh", "-c", "seq 20000"]
"#;

/// Returns what a command on a thread prints for people.
fn text(world: &World, args: &[&str]) -> String {
    let run = world.uwf(&[args, &["--format", "text"]].concat()).exits(0);
    run.stdout
}

/// Returns the paths and the bytes of all files below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_document_shows_what_each_step_ran_and_printed() {
    let world = World::new();
    run(&world, STOPS, "r").exits(1);
    let document = text(&world, &["thread", "read", &thread_of(&world, "r")]);
    for part in [
        "**Command:** `echo 'hello from A'`\n\n<output>\nhello from A\n</output>",
        "| **Status:** failed | **Exit code:** 1",
        "<output>\nout\n</output>\n\n**Error:** `the program ended with exit code 1`\n\n<stderr>\nno file\n</stderr>",
        "**B** stopped the run: ",
    ] {
        assert!(document.contains(part), "{part}\n{document}");
    }
    let page = world.uwf(&["thread", "read", &thread_of(&world, "r"), "--html"]);
    let page = page.exits(0).stdout;
    for part in [
        "Standard error",
        "no file",
        "hello from A",
        "B stopped the run",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn json_that_a_step_printed_is_data_in_views() {
    let world = World::new();
    run(&world, LOOP, "r").exits(0);
    let thread = thread_of(&world, "r");
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let expected = json!({"b": 1.0, "a": ["x", "y"]});
    assert_eq!(steps["steps"][1]["output"]["json"], expected);
    let step = steps["steps"][1]["hash"].as_str().unwrap();
    let shown = world.uwf(&["step", "show", step]).exits(0).json();
    assert_eq!(shown["output"]["json"], expected);
    let story = world.uwf(&[
        "thread", "read", &thread, "--quota", "100000", "--format", "json",
    ]);
    let story = story.exits(0).json();
    let of = |key: &str| {
        let steps = story["steps"].as_array().unwrap();
        steps.iter().find(|step| step["role"] == *key).unwrap()["visit"].clone()
    };
    assert_eq!(of("Each[1].Say")["captured"], "item y\n");
    assert_eq!(of("Each[1].Say")["logs"][1]["text"], "warning\n");
    let last = of("Last");
    assert_eq!(
        (&last["truncated"], &last["logs"][0]["text"]),
        (&json!(true), &Value::Null)
    );
    let document = text(&world, &["step", "read", step]);
    assert!(document.contains("\"b\": 1.0"), "{document}");
}

#[test]
fn a_graph_counts_the_visits_of_a_loop_and_marks_where_the_run_stands() {
    let world = World::new();
    run(&world, LOOP, "done").exits(0);
    run(&world, STOPS, "failed").exits(1);
    let graph = |id: &str| {
        let thread = thread_of(&world, id);
        world
            .uwf(&["workflow", "graph", "--thread", &thread])
            .exits(0)
            .json()
    };
    let done = graph("done");
    let node = |graph: &Value, name: &str| {
        let nodes = graph["nodes"].as_array().unwrap();
        nodes
            .iter()
            .find(|node| node["name"] == *name)
            .cloned()
            .unwrap()
    };
    assert_eq!(node(&done, "Each[].Say")["visits"], 2);
    assert_eq!(node(&done, "Each")["visits"], 1);
    assert_eq!(node(&done, "_end")["standing"], "done");
    assert_eq!(done["thread"]["path"].as_array().unwrap().len(), 6);
    let taken = |graph: &Value, from: &str, to: &str| {
        let mut edges = graph["edges"].as_array().unwrap().iter();
        let edge = edges.find(|edge| edge["from"] == *from && edge["to"] == *to);
        edge.unwrap_or_else(|| panic!("{from} {to}: {graph}"))["taken"].clone()
    };
    for (from, to, times) in [
        ("_start", "Data", 1),
        ("Data", "Each", 1),
        ("Each", "Each[].Say", 2),
        ("Each[].Say", "Each", 2),
        ("Each", "Last", 1),
        ("Last", "_end", 1),
    ] {
        assert_eq!(taken(&done, from, to), times, "{from} {to}");
    }
    let path = done["thread"]["path"].as_array().unwrap();
    let edges = path.iter().filter(|entry| entry["edge"].is_string());
    assert_eq!(edges.count(), path.len(), "{path:?}");
    let failed = graph("failed");
    assert_eq!(node(&failed, "B")["standing"], "failed");
    assert_eq!(
        (&node(&failed, "B")["visits"], &node(&failed, "C")["visits"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(taken(&failed, "A", "B"), 1);
    assert_eq!(taken(&failed, "B", "C"), 0);
    for format in ["text", "mermaid", "dot", "svg"] {
        let thread = thread_of(&world, "failed");
        let args = ["workflow", "graph", "--thread", &thread, "--format", format];
        assert!(world.uwf(&args).exits(0).stdout.contains('B'), "{format}");
    }
}

#[test]
fn a_fork_is_a_run_of_its_own_and_leaves_the_other_as_it_is() {
    let world = World::new();
    run(&world, STOPS, "parent").exits(1);
    let parent = thread_of(&world, "parent");
    let place = world.project().join(".orchestrate/runs/parent");
    let (before, shown) = (files(&place), world.show(&parent));
    let fork = world
        .uwf(&["thread", "fork", &format!("{parent}~1")])
        .exits(0)
        .json();
    let fork = fork["thread"].as_str().unwrap();
    fs::write(world.project().join("go"), "").unwrap();
    // It is listed and found before it has a folder.
    let listed = world
        .uwf(&["orchestrate", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed["runs"][0]["thread"], fork);
    assert_eq!(listed["runs"][0]["fork_of"], "parent");
    assert_eq!(listed["runs"][1]["run_id"], "parent");
    let id = listed["runs"][0]["run_id"].as_str().unwrap();
    assert_ne!(id, "parent");
    world.uwf(&["orchestrate", "status", id]).exits(0);
    let done = world
        .uwf(&["orchestrate", "resume", id, "--json"])
        .exits(0)
        .json();
    assert_eq!(done["run_id"], id);
    assert_eq!(thread_of(&world, id), fork);
    let picture = picture(&world, id);
    assert_eq!(picture["steps"]["A"]["output"], "hello from A\n");
    assert_eq!(picture["status"], "completed");
    let copy = world
        .project()
        .join(".orchestrate/runs")
        .join(id)
        .join("workflow.yaml");
    assert_eq!(fs::read_to_string(copy).unwrap(), STOPS);
    assert_eq!(files(&place), before);
    let now = world.show(&parent);
    assert_eq!(
        (&now["head"], &now["status"]),
        (&shown["head"], &shown["status"])
    );
}

#[test]
fn hooks_are_told_when_a_run_stops_and_of_single_steps() {
    let world = World::new();
    let log = world.dir().join("told");
    for event in ["step", "suspended", "completed"] {
        let command = format!("echo {event} >> {}", log.display());
        world.configure(&format!("hooks.{event}.command"), &command);
    }
    let told = || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    run(&world, STOPS, "r").exits(1);
    assert_eq!(told(), ["suspended"]);
    fs::write(world.project().join("go"), "").unwrap();
    world.uwf(&["orchestrate", "resume", "r"]).exits(0);
    assert_eq!(told(), ["completed"]);
    fs::remove_file(world.project().join("go")).unwrap();
    let engine = run_to_its_wait(&world, "w");
    end(engine, "-TERM");
    assert_eq!(told(), [""; 0]);
    fs::write(world.project().join("go"), "").unwrap();
    world.step(&thread_of(&world, "w")).exits(0);
    assert_eq!(told(), ["step"]);
    world.step(&thread_of(&world, "w")).exits(0);
    assert_eq!(told(), ["step", "completed"]);
}

#[test]
fn a_run_travels_and_is_removed_as_every_thread() {
    let world = World::new();
    run(&world, LOOP, "r").exits(0);
    let thread = thread_of(&world, "r");
    world
        .uwf(&["thread", "label", &thread, "kind=night"])
        .exits(0);
    world
        .uwf(&["thread", "export", &thread, "-o", "run.tar"])
        .exits(0);
    let elsewhere = world.dir().join("elsewhere");
    let there = elsewhere.to_str().unwrap();
    world
        .uwf(&["--root", there, "thread", "import", "run.tar"])
        .exits(0);
    let read = |root: &[&str]| {
        let args = [root, &["thread", "read", &thread, "--format", "json"]].concat();
        world.uwf(&args).exits(0).json()["steps"].clone()
    };
    assert_eq!(read(&["--root", there]), read(&[]));
    world.uwf(&["cas", "verify"]).exits(0);
    for root in [&[][..], &["--root", there]] {
        let health = world.uwf(&[root, &["doctor"]].concat()).exits(0).json();
        let checks = health["checks"].as_array().unwrap();
        let of = |name: &str| checks.iter().find(|it| it["check"] == name).unwrap();
        for name in ["state", "threads", "pending", "store"] {
            assert_eq!(of(name)["status"], "ok", "{root:?}: {health}");
        }
        assert_eq!(of("threads")["message"], "1 can be read");
    }
    world.uwf(&["thread", "rm", &thread]).exits(0);
    world.uwf(&["thread", "show", &thread]).exits(1);
    assert!(
        world
            .project()
            .join(".orchestrate/runs/r/state.json")
            .exists()
    );
}

#[test]
fn garbage_collection_keeps_all_nodes_of_runs() {
    let world = World::new();
    run(&world, LOOP, "done").exits(0);
    run(&world, STOPS, "failed").exits(1);
    let engine = run_to_its_wait(&world, "running");
    let garbage = put_text(&world, "nobody needs this");
    age_all(&world, 30 * DAY);
    let views = all_views(&world);
    let waits = thread_of(&world, "running");
    gc(&world, &["--older-than", "1h"]).exits(0);
    assert_eq!(all_views(&world), views);
    fs::write(world.project().join("go"), "").unwrap();
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(0));
    gc(&world, &["--older-than", "1h"]).exits(0);
    assert!(!has(&world, &garbage));
    world.uwf(&["cas", "verify"]).exits(0);
    let source = file_text(&world, "workflow.yaml", "failed");
    assert_eq!(source, STOPS);
    assert_eq!(world.show(&waits)["status"], "completed");
    world.uwf(&["orchestrate", "resume", "failed"]).exits(0);
}

fn file_text(world: &World, name: &str, id: &str) -> String {
    let runs = world.project().join(".orchestrate/runs");
    fs::read_to_string(runs.join(id).join(name)).unwrap()
}
