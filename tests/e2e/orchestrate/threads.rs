//! Runs of pipelines are threads: `uwf thread …` lists and shows them, lets them go on, and ends them.

use std::fs;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::gc::node_file;
use crate::world::{Run, World, wait_until};

/// Fails at `B` as long as there is no file `go`.
pub(super) const STOPS: &str = r#"
name: stops
steps:
  - name: A
    command: ["echo", "hello from A"]
  - name: B
    command: ["sh", "-c", "echo out; echo 'no file' >&2; test -e go"]
  - name: C
    command: ["echo", "C"]
"#;

/// Waits at `B` for a file `go`.
pub(super) const WAITS: &str = r#"
name: waits
steps:
  - name: A
    command: ["echo", "hello from A"]
  - name: B
    command: ["sh", "-c", "echo begin; touch at-B; while ! test -e go; do sleep 0.02; done"]
  - name: C
    command: ["echo", "C"]
"#;

/// Makes a run with an id of its own, to its end.
pub(super) fn run(world: &World, pipeline: &str, id: &str) -> Run {
    let file = format!("{id}.yaml");
    world.write(&file, pipeline);
    world.uwf(&["orchestrate", "run", &file, "--run-id", id, "--json"])
}

/// Makes a run that waits at `B`.
pub(super) fn run_to_its_wait(world: &World, id: &str) -> Child {
    world.write("waits.yaml", WAITS);
    let engine = world.spawn(&["orchestrate", "run", "waits.yaml", "--run-id", id]);
    wait_until("B is at work", || world.project().join("at-B").exists());
    wait_until("everybody sees that", || {
        let shown = world.show(&thread_of(world, id));
        shown["running"]["agentPid"].is_u64() && shown["steps"] == 1
    });
    engine
}

pub(super) fn file_of(world: &World, id: &str, name: &str) -> Value {
    let runs = world.project().join(".orchestrate/runs");
    let text = fs::read(runs.join(id).join(name)).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Returns the thread of a run.
pub(super) fn thread_of(world: &World, id: &str) -> String {
    let place = file_of(world, id, "thread");
    place["thread"].as_str().unwrap().to_owned()
}

pub(super) fn picture(world: &World, id: &str) -> Value {
    file_of(world, id, "state.json")
}

fn keys(world: &World, thread: &str) -> Vec<String> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap().clone();
    let roles = steps.iter().filter_map(|step| step["role"].as_str());
    roles.map(str::to_owned).collect()
}

pub(super) fn end(engine: Child, signal: &str) -> Option<i32> {
    let mut engine = engine;
    let pid = engine.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
    assert!(sent.success());
    engine.wait().unwrap().code()
}

#[test]
fn the_status_of_a_thread_tells_where_its_run_stands() {
    let world = World::new();
    run(&world, STOPS, "failed").exits(1);
    fs::write(world.project().join("go"), "").unwrap();
    run(&world, STOPS, "done").exits(0);
    fs::remove_file(world.project().join("go")).unwrap();
    let engine = run_to_its_wait(&world, "ended");
    let status = |id: &str| world.show(&thread_of(&world, id))["status"].clone();
    assert_eq!(status("ended"), "running");
    assert_eq!(end(engine, "-TERM"), Some(143));
    assert_eq!(status("ended"), "idle");
    assert_eq!(status("failed"), "suspended");
    assert_eq!(status("done"), "completed");

    let list = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    let line = |thread: String| {
        let lines = list.as_array().unwrap();
        lines.iter().find(|line| line["thread"] == *thread).cloned()
    };
    let failed = line(thread_of(&world, "failed")).unwrap();
    assert_eq!(failed["statusDisplay"], "suspended [failed step]");
    assert_eq!(failed["suspendedRole"], "B");
    assert!(
        failed["suspendMessage"]
            .as_str()
            .unwrap()
            .contains("exit code 1")
    );
    let ended = line(thread_of(&world, "ended")).unwrap();
    assert_eq!(
        (&ended["currentRole"], &ended["steps"]),
        (&json!("B"), &json!(1))
    );
    let done = line(thread_of(&world, "done")).unwrap();
    assert_eq!(
        (&done["status"], &done["steps"]),
        (&json!("completed"), &json!(3))
    );
}

#[test]
fn a_failed_run_says_what_goes_on_with_it_and_takes_no_message() {
    let world = World::new();
    run(&world, STOPS, "r").exits(1);
    let thread = thread_of(&world, "r");
    let shown = world
        .uwf(&["thread", "show", &thread, "--format", "text"])
        .exits(0);
    assert!(shown.stdout.contains("status    suspended, B failed"));
    assert!(
        shown
            .stdout
            .ends_with(&format!("next      uwf thread resume {thread}\n"))
    );
    world
        .step(&thread)
        .exits(6)
        .says("has failed: step `B` failed");
    world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(6);
    let told = world.uwf(&["thread", "resume", &thread, "-p", "hurry"]);
    told.exits(1).says("none of its steps takes a message");
    assert_eq!(keys(&world, &thread), ["A", "B"]);
    world
        .uwf(&["thread", "poke", &thread])
        .exits(1)
        .says("--from <step>");
    let migrated = world.uwf(&["thread", "migrate", &thread, "r.yaml"]);
    migrated.exits(1).says("--accept-changed-workflow");
    assert_eq!(keys(&world, &thread), ["A", "B"]);
}

#[test]
fn thread_resume_goes_on_with_a_failed_run_to_its_end() {
    let world = World::new();
    run(&world, STOPS, "r").exits(1);
    let thread = thread_of(&world, "r");
    let again = world.uwf(&["thread", "resume", &thread]).exits(0).json();
    assert_eq!(
        (&again["role"], &again["status"]),
        (&json!("B"), &json!("suspended"))
    );
    fs::write(world.project().join("go"), "").unwrap();
    let done = world.uwf(&["thread", "resume", &thread]).exits(0).json();
    assert_eq!(
        (&done["role"], &done["status"]),
        (&json!("C"), &json!("completed"))
    );
    let expected = ["A", "B", "_resume", "B", "_resume", "B", "C"];
    assert_eq!(keys(&world, &thread), expected);
    assert_eq!(picture(&world, "r")["status"], "completed");
    world.uwf(&["thread", "resume", &thread]).exits(7);
    world.step(&thread).exits(7);
}

#[test]
fn a_step_that_does_not_follow_the_head_of_a_run_is_kept_and_named() {
    let world = World::new();
    let [thread, other] = ["r", "other"].map(|id| {
        run(&world, STOPS, id).exits(1);
        thread_of(&world, id)
    });
    // As a process leaves it whose run was moved to another head by hand.
    let [head, step] = [&thread, &other].map(|thread| world.show(thread)["head"].clone());
    let pending = json!({ "step": step, "head": head, "atMs": 1 }).to_string();
    let record = world.root().join("runs").join(&thread).join("pending.json");
    fs::write(&record, pending).unwrap();
    fs::write(world.project().join("go"), "").unwrap();
    let resumed = world.uwf(&["thread", "resume", &thread]).exits(0);
    let command = format!("`uwf step read {}`", step.as_str().unwrap());
    assert!(resumed.stderr.contains(&command), "{}", resumed.stderr);
    let listed = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(listed["refusedSteps"][0]["step"], step, "{listed}");
    assert_eq!(listed["refusedSteps"][0]["role"], json!("B"), "{listed}");
    assert_eq!(keys(&world, &thread), ["A", "B", "_resume", "B", "C"]);
}

#[test]
fn a_step_that_is_gone_and_does_not_follow_the_head_of_a_run_is_not_said_to_be_kept() {
    let world = World::new();
    // Equal outputs would be one node.
    let theirs = STOPS.replace("echo out", "echo theirs");
    let [thread, other] = [("r", STOPS), ("other", &theirs)].map(|(id, pipeline)| {
        run(&world, pipeline, id).exits(1);
        thread_of(&world, id)
    });
    let head = world.show(&thread)["head"].clone();
    let steps = world.uwf(&["thread", "steps", &other]).exits(0).json();
    // The start comes first.
    let [before, step] = [1, 2].map(|at| steps["steps"][at]["hash"].clone());
    let output = world
        .uwf(&["cas", "get", step.as_str().unwrap()])
        .exits(0)
        .json()["payload"]["output"]
        .clone();
    fs::remove_file(node_file(&world, output.as_str().unwrap())).unwrap();
    assert_ne!(head, before);
    let pending = json!({ "step": step, "head": before, "atMs": 1 }).to_string();
    fs::write(world.pending_file(&thread), pending).unwrap();
    fs::write(world.project().join("go"), "").unwrap();
    let resumed = world.uwf(&["thread", "resume", &thread]).exits(0);
    let step = step.as_str().unwrap();
    assert!(!resumed.stderr.contains(step), "{}", resumed.stderr);
    assert_eq!(world.show(&thread)["refusedSteps"], json!(null));
    assert_eq!(world.pending(&thread), None);
}

#[test]
fn a_run_whose_head_was_moved_while_it_worked_names_the_step_that_it_keeps() {
    let world = World::new();
    run(&world, STOPS, "other").exits(1);
    let elsewhere = world.show(&thread_of(&world, "other"))["head"].clone();
    let engine = run_to_its_wait(&world, "r");
    let thread = thread_of(&world, "r");
    let head = world.show(&thread)["head"].clone();
    let [head, elsewhere] = [&head, &elsewhere].map(|hash| hash.as_str().unwrap());
    let heads = world.state("threads.yaml").replace(head, elsewhere);
    let heads = world.write("heads", &heads);
    fs::rename(heads, world.root().join("threads.yaml")).unwrap();
    fs::write(world.project().join("go"), "").unwrap();
    let ended = engine.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(75), "{told}");
    let refused = world.show(&thread)["refusedSteps"][0].clone();
    let step = refused["step"].as_str().unwrap();
    assert_eq!(refused["head"], json!(head));
    for named in [step, elsewhere, &format!("`uwf thread fork {step}`")] {
        assert!(told.contains(named), "{named} is not in: {told}");
    }
}

#[test]
fn thread_step_does_one_step_and_thread_run_the_rest() {
    let world = World::new();
    let engine = run_to_its_wait(&world, "r");
    let thread = thread_of(&world, "r");
    world.step(&thread).exits(5);
    end(engine, "-TERM");
    fs::write(world.project().join("go"), "").unwrap();
    let plan = world
        .uwf(&["thread", "step", &thread, "--dry-run"])
        .exits(0)
        .json();
    assert_eq!(
        (&plan["action"], &plan["key"]),
        (&json!("visit"), &json!("B"))
    );
    let step = world.step(&thread).exits(0).json();
    assert_eq!(
        (&step["role"], &step["status"]),
        (&json!("B"), &json!("idle"))
    );
    assert_eq!(picture(&world, "r")["status"], "interrupted");
    let rest = world
        .uwf(&["thread", "run", &thread, "--format", "text"])
        .exits(0);
    assert!(rest.stdout.contains("C by command"), "{}", rest.stdout);
    assert!(
        rest.stdout.contains("stopped  completed, after 1 step"),
        "{}",
        rest.stdout
    );
    assert_eq!(keys(&world, &thread), ["A", "_resume", "B", "C"]);
}

#[test]
fn a_signal_interrupts_thread_resume_and_the_run_can_be_resumed() {
    let world = World::new();
    end(run_to_its_wait(&world, "r"), "-TERM");
    let thread = thread_of(&world, "r");
    fs::remove_file(world.project().join("at-B")).unwrap();
    let resumed = world.spawn(&["thread", "resume", &thread]);
    wait_until("B is at work", || world.project().join("at-B").exists());
    let pid = resumed.id().to_string();
    Command::new("kill").args(["-INT", &pid]).status().unwrap();
    let stopped: Run = resumed.wait_with_output().unwrap().into();
    let stopped = stopped.exits(130).says("was interrupted by SIGINT");
    stopped.says(&format!("`uwf thread resume {thread}` goes on"));
    assert_eq!(world.show(&thread)["status"], "idle");
    let tail = world.uwf(&["thread", "tail", &thread, "--format", "text"]);
    let told = "A: $ echo 'hello from A' hello from A";
    assert!(tail.exits(0).stdout.contains(told));
    fs::write(world.project().join("go"), "").unwrap();
    world.uwf(&["thread", "resume", &thread]).exits(0);
}

#[test]
fn thread_kill_ends_a_run_and_its_program_even_without_an_engine() {
    let world = World::new();
    let mut engine = run_to_its_wait(&world, "live");
    let thread = thread_of(&world, "live");
    world.uwf(&["thread", "kill", &thread]).exits(0);
    assert_eq!(engine.wait().unwrap().code(), Some(1));
    let check = |id: &str| {
        let picture = picture(&world, id);
        assert_eq!(picture["status"], "failed");
        assert_eq!(picture["error"]["type"], "cancelled");
        let shown = world.show(&thread_of(&world, id));
        assert_eq!(
            (&shown["status"], &shown["attempts"]),
            (&json!("cancelled"), &json!([]))
        );
    };
    check("live");

    fs::remove_file(world.project().join("at-B")).unwrap();
    let engine = run_to_its_wait(&world, "dead");
    let thread = thread_of(&world, "dead");
    let program = world.show(&thread)["running"]["agentPid"].as_u64().unwrap();
    end(engine, "-KILL");
    world.uwf(&["thread", "kill", &thread]).exits(0);
    check("dead");
    let stat = fs::read_to_string(format!("/proc/{program}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    world.uwf(&["orchestrate", "resume", "dead"]).exits(2);
}

#[test]
fn a_paused_run_stops_after_its_step_until_it_is_unpaused() {
    let world = World::new();
    let engine = run_to_its_wait(&world, "r");
    let thread = thread_of(&world, "r");
    world.uwf(&["thread", "pause", &thread]).exits(0);
    fs::write(world.project().join("go"), "").unwrap();
    let stopped: Run = engine.wait_with_output().unwrap().into();
    let stopped = stopped.exits(1);
    assert!(
        stopped
            .stderr
            .contains(&format!("uwf thread unpause {thread}")),
        "{}",
        stopped.stderr
    );
    assert_eq!(world.show(&thread)["status"], "paused");
    world
        .uwf(&["orchestrate", "resume", "r"])
        .exits(1)
        .says("is paused");
    world.uwf(&["thread", "resume", &thread]).exits(6);
    assert_eq!(keys(&world, &thread), ["A", "B"]);
    world.uwf(&["thread", "unpause", &thread]).exits(0);
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(keys(&world, &thread), ["A", "B", "C"]);
}

#[test]
fn a_lost_attempt_of_a_run_is_no_failed_attempt_of_an_agent() {
    let world = World::new();
    let engine = run_to_its_wait(&world, "r");
    let thread = thread_of(&world, "r");
    end(engine, "-KILL");
    fs::write(world.project().join("go"), "").unwrap();
    wait_until("the program ends", || {
        world.show(&thread)["status"] == "idle"
    });
    world.uwf(&["thread", "resume", &thread]).exits(0);
    let shown = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(shown["attempts"], json!([]));
    assert_eq!(
        shown["steps"][2]["output"]["lost"],
        json!({"key": "B", "attempt": 1})
    );
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["costUnknown"], 0, "{cost}");
}

#[test]
fn a_list_needs_no_chain_of_a_run_that_stopped_and_no_records_if_it_has_the_chain() {
    let world = World::new();
    run(&world, STOPS, "r").exits(1);
    let thread = thread_of(&world, "r");
    let listed = || {
        let list = world.uwf(&["thread", "list"]).exits(0).json();
        let shown = world.show(&thread);
        (
            list,
            shown["steps"].clone(),
            shown["suspendMessage"].clone(),
        )
    };
    let known = listed();
    assert_eq!(known.0[0]["status"], "suspended");
    let records = world.root().join("runs").join(&thread);
    for name in ["standing.json", "chain.json", "used.json"] {
        let (record, aside) = (records.join(name), records.join("aside"));
        fs::rename(&record, &aside).unwrap();
        assert_eq!(listed(), known, "{name}");
        fs::rename(&aside, &record).unwrap();
    }
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let first = steps["steps"][1]["hash"].as_str().unwrap();
    fs::remove_file(node_file(&world, first)).unwrap();
    assert_eq!(listed(), known);
}

#[test]
fn thread_show_names_the_run_and_its_folder() {
    let world = World::new();
    run(&world, STOPS, "r").exits(1);
    let thread = thread_of(&world, "r");
    let folder = world.project().canonicalize().unwrap();
    let folder = folder.join(".orchestrate/runs/r");
    let expected = json!({"id": "r", "folder": folder});
    assert_eq!(world.show(&thread)["run"], expected);
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let row = format!("run       r, in {}\n", folder.display());
    assert!(text.exits(0).stdout.contains(&row));
    world.uwf(&["thread", "kill", &thread]).exits(0);
    assert_eq!(world.show(&thread)["run"], expected);
}
