//! How runs go on: at the step that stopped them, under the file that they were made with, and not at all where that is unsafe.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::processes;
use crate::world::{Run, World, wait_until};

/// `B` fails until there is a file `ok`. Each step notes that it ran.
const FLOW: &str = "
steps:
- name: A
  command: [sh, -c, 'echo A >> log']
- name: B
  command: [sh, -c, 'echo B >> log; test -e ok']
- name: C
  command: [sh, -c, 'echo C ${context.who} >> log']
context: {who: nobody}
";

fn orchestrate(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["orchestrate"], args].concat())
}

fn resume(world: &World, args: &[&str]) -> Run {
    orchestrate(world, &[&["resume"], args].concat())
}

/// Returns a world with a run `r` that stopped at `B`.
fn stopped() -> World {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    orchestrate(&world, &["run", "flow.yaml", "--run-id", "r"]).exits(1);
    world
}

fn allow(world: &World) {
    world.write("ok", "");
}

/// Returns what ran, in order.
fn log(world: &World) -> String {
    let log = fs::read_to_string(world.project().join("log")).unwrap();
    log.lines().collect::<Vec<_>>().join(" ")
}

fn root(world: &World, run: &str) -> PathBuf {
    world.project().join(".orchestrate/runs").join(run)
}

fn state_text(world: &World, run: &str) -> String {
    fs::read_to_string(root(world, run).join("state.json")).unwrap()
}

fn state(world: &World, run: &str) -> Value {
    serde_json::from_str(&state_text(world, run)).unwrap()
}

#[test]
fn a_run_goes_on_at_the_step_that_stopped_it() {
    let world = stopped();
    assert_eq!(state(&world, "r")["status"], "failed");
    resume(&world, &["r"]).exits(1);
    allow(&world);
    let run = resume(&world, &["r", "--json"]).exits(0).says("run r");
    assert_eq!(run.json()["status"], "completed");
    assert_eq!(log(&world), "A B B B C nobody");
    let state = state(&world, "r");
    assert_eq!(state["status"], "completed");
    let entries: Vec<&Value> = state["executor_sessions"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    let entries: Vec<&Value> = entries.into_iter().map(|one| &one["entry"]).collect();
    assert_eq!(entries, ["run", "resume", "resume"]);
}

#[test]
fn a_completed_run_stays_as_it_is() {
    let world = stopped();
    allow(&world);
    resume(&world, &["r"]).exits(0);
    let (before, threads) = (state_text(&world, "r"), world.state("history.jsonl"));
    // Its file does not matter any more.
    world.write("flow.yaml", "steps: []");
    let run = resume(&world, &["r"])
        .exits(0)
        .says("nothing is left to do");
    assert_eq!(run.stdout, "");
    let data = resume(&world, &["r", "--json"]).exits(0).json();
    assert_eq!(data["status"], "completed");
    assert_eq!(data["exit_code"], 0);
    // Nothing was done, so a step to go back to is not ignored.
    resume(&world, &["r", "--from", "A"])
        .exits(2)
        .says("the run is completed, so it does not go back to step `A`")
        .says("`uwf orchestrate resume r --force-restart` starts a new run");
    assert_eq!(state_text(&world, "r"), before);
    assert_eq!(world.state("history.jsonl"), threads);
    assert_eq!(log(&world), "A B B C nobody");
}

#[test]
fn a_run_that_another_process_works_on_is_left_to_it() {
    let world = World::new();
    world.write(
        "flow.yaml",
        "steps:\n- name: A\n  command: [sh, -c, 'touch at-work; sleep 60']\n",
    );
    let mut engine = world.spawn(&["orchestrate", "run", "flow.yaml", "--run-id", "r"]);
    wait_until("the step runs", || world.project().join("at-work").exists());
    let refused = resume(&world, &["r"]).exits(75);
    let pid = engine.id();
    refused
        .says(&format!("another process works on run `r`: process {pid}"))
        .says(&format!("`kill {pid}` interrupts the run"));
    let refused = resume(&world, &["r", "--json"]).exits(75).json();
    let told = ["run_id", "status", "exit_code"].map(|key| refused[key].clone());
    assert_eq!(told, [json!("r"), json!("busy"), json!(75)]);
    let file = root(&world, "r").join("state.json").canonicalize();
    assert_eq!(refused["state_file"], json!(file.unwrap()));
    processes::signal("TERM", engine.id());
    assert_eq!(engine.wait().unwrap().code(), Some(143));
}

#[test]
fn a_lost_picture_is_made_again_on_demand_only() {
    let world = stopped();
    let file = root(&world, "r").join("state.json");
    let check = |what: &str| {
        let refused = resume(&world, &["r"]).exits(1).says(what);
        refused.says("hint: `uwf orchestrate resume r --repair`");
        assert_eq!(log(&world), "A B");
    };
    fs::write(&file, "{\"schema_version\": ").unwrap();
    check("state.json` cannot be read");
    fs::write(&file, "{}").unwrap();
    check("state.json` is no picture of a run");
    fs::remove_file(&file).unwrap();
    check("state.json` is missing");
    allow(&world);
    resume(&world, &["r", "--repair"])
        .exits(0)
        .says("it was made again");
    let whole = state(&world, "r");
    assert_eq!(whole["steps"]["A"]["status"], "completed");
    fs::remove_file(&file).unwrap();
    resume(&world, &["r"]).exits(1).says("is missing");
    resume(&world, &["r", "--repair"])
        .exits(0)
        .says("it was made again");
    assert_eq!(state(&world, "r")["steps"], whole["steps"]);
    assert_eq!(state(&world, "r")["status"], "completed");
    assert_eq!(log(&world), "A B B C nobody");
}

#[test]
fn the_picture_of_another_version_is_left_to_it() {
    let world = stopped();
    let file = root(&world, "r").join("state.json");
    let other = "{\"schema_version\": \"9.0\"}";
    fs::write(&file, other).unwrap();
    for args in [&["r"][..], &["r", "--repair"]] {
        resume(&world, args).exits(2).says("has the form `9.0`");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), other);
    assert_eq!(log(&world), "A B");
}

#[test]
fn comments_are_no_change_of_the_workflow() {
    let world = stopped();
    allow(&world);
    world.write("flow.yaml", &format!("# Reviewed.\n{FLOW}"));
    resume(&world, &["r"]).exits(0);
}

#[test]
fn a_changed_workflow_is_refused_with_what_differs_and_accepted_on_demand() {
    let world = stopped();
    let threads = world.state("threads.yaml");
    let before = state(&world, "r")["workflow_checksum"].clone();
    world.write("flow.yaml", &FLOW.replace("test -e ok", "true"));
    let refused = resume(&world, &["r"]).exits(2);
    refused
        .says("cause: step `B` has changed: `command`")
        .says("`uwf orchestrate resume r --accept-changed-workflow`");
    assert_eq!(world.state("threads.yaml"), threads);
    resume(&world, &["r", "--accept-changed-workflow"]).exits(0);
    assert_eq!(log(&world), "A B B C nobody");
    assert_ne!(state(&world, "r")["workflow_checksum"], before);
}

#[test]
fn an_accepted_workflow_is_the_one_that_counts_from_then_on() {
    let world = stopped();
    let changed = FLOW.replace("name: C", "name: D");
    world.write("flow.yaml", &changed);
    resume(&world, &["r", "--accept-changed-workflow"]).exits(1);
    resume(&world, &["r"]).exits(1);
    world.write("flow.yaml", FLOW);
    resume(&world, &["r"])
        .exits(2)
        .says("cause: step `C` is new");
    allow(&world);
    world.write("flow.yaml", &changed);
    resume(&world, &["r"]).exits(0);
    assert_eq!(state(&world, "r")["steps"]["D"]["exit_code"], 0);
}

#[test]
fn a_completed_step_that_changed_runs_again() {
    let world = stopped();
    allow(&world);
    world.write("flow.yaml", &FLOW.replace("echo A", "echo A2"));
    let run = resume(&world, &["r", "--accept-changed-workflow"]).exits(0);
    run.says("the run goes on at step `A`");
    assert_eq!(log(&world), "A B A2 B C nobody");
}

#[test]
fn a_new_step_before_the_place_where_a_run_goes_on_is_named() {
    let world = stopped();
    allow(&world);
    let new = "- name: New\n  command: [sh, -c, 'echo new >> log']\n- name: B";
    world.write("flow.yaml", &FLOW.replacen("- name: B", new, 1));
    let accept = ["r", "--accept-changed-workflow"];
    let run = resume(&world, &accept).exits(0);
    run.says(
        "step `New` is new and comes before the place where the run goes on, so it is not done",
    )
    .says("`--from New` goes back to it");
    assert_eq!(log(&world), "A B B C nobody");
    let world = stopped();
    allow(&world);
    world.write("flow.yaml", &FLOW.replacen("- name: B", new, 1));
    let run = resume(&world, &[&accept[..], &["--from", "New"]].concat()).exits(0);
    assert!(!run.stderr.contains("so it is not done"), "{}", run.stderr);
    assert_eq!(log(&world), "A B new B C nobody");
}

#[test]
fn a_completed_step_may_not_be_gone() {
    let world = stopped();
    let threads = world.state("threads.yaml");
    world.write("flow.yaml", &FLOW.replace("name: A", "name: Z"));
    resume(&world, &["r", "--accept-changed-workflow"])
        .exits(2)
        .says("the workflow no longer has `A`, which the run has completed")
        .says("--force-restart");
    assert_eq!(world.state("threads.yaml"), threads);
}

#[test]
fn a_workflow_file_with_mistakes_is_refused_and_one_that_is_gone_is_not_needed() {
    let world = stopped();
    allow(&world);
    world.write("flow.yaml", "steps: 5");
    let run = resume(&world, &["r", "--accept-changed-workflow"]).exits(2);
    run.says("flow.yaml` has 1 mistake")
        .says("V03")
        .says("workflow.yaml");
    fs::remove_file(world.project().join("flow.yaml")).unwrap();
    resume(&world, &["r"])
        .exits(0)
        .says("is gone: the run goes on as it was made");
}

#[test]
fn a_forced_restart_is_a_new_run_with_the_same_context() {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    let args = ["run", "flow.yaml", "--run-id", "r", "--context", "who=me"];
    orchestrate(&world, &args).exits(1);
    let before = state_text(&world, "r");
    allow(&world);
    let run = resume(&world, &["r", "--force-restart", "--json"]).exits(0);
    let id = run.json()["run_id"].as_str().unwrap().to_owned();
    assert_ne!(id, "r");
    assert_eq!(log(&world), "A B A B C me");
    assert_eq!(state_text(&world, "r"), before);
    assert_eq!(state(&world, &id)["context"], json!({"who": "me"}));
    // The old one can still go on.
    resume(&world, &["r"]).exits(0);
}

#[test]
fn a_run_goes_on_at_any_step_of_the_pipeline() {
    let world = stopped();
    let threads = world.state("threads.yaml");
    let run = resume(&world, &["r", "--from", "Cc"]).exits(2);
    run.says("the pipeline has no step `Cc`")
        .says("hint: did you mean `C`?");
    assert_eq!(world.state("threads.yaml"), threads);
    resume(&world, &["r", "--from", "C"]).exits(0);
    assert_eq!(log(&world), "A B C nobody");
}

#[test]
fn the_context_of_a_run_cannot_be_changed() {
    let world = stopped();
    for args in [["r", "--context", "a=b"], ["r", "--context-file", "x"]] {
        let run = resume(&world, &args).exits(2);
        run.says("the context of a run is that which it was made with");
    }
}

#[test]
fn what_a_failure_does_can_be_changed() {
    let world = stopped();
    let run = resume(&world, &["r", "--on-error", "continue", "--json"]).exits(0);
    assert_eq!(run.json()["failed_steps"], json!(["B"]));
    assert_eq!(log(&world), "A B B C nobody");
}

#[test]
fn a_run_is_named_by_the_beginning_of_its_id_or_by_its_thread() {
    let world = stopped();
    orchestrate(&world, &["run", "flow.yaml", "--run-id", "one-a"]).exits(1);
    orchestrate(&world, &["run", "flow.yaml", "--run-id", "one-b"]).exits(1);
    let run = resume(&world, &["one"]).exits(2);
    run.says("`one` is the beginning of several runs")
        .says("cause: `one-a`\ncause: `one-b`");
    resume(&world, &["two"])
        .exits(2)
        .says("there is no run `two`");
    allow(&world);
    resume(&world, &["one-a"]).exits(0);
    let thread = state(&world, "one-b")["thread"]
        .as_str()
        .unwrap()
        .to_owned();
    resume(&world, &[&thread]).exits(0).says("run one-b");
    resume(&world, &["on", "--json"]).exits(2);
}

#[test]
fn a_thread_of_a_workflow_is_no_run() {
    let world = World::new();
    world.put(crate::world::ONE_STEP);
    let thread = world.start("one");
    let run = resume(&world, &[&thread]).exits(2);
    run.says("is no run of a pipeline");
}

#[test]
fn a_run_under_another_root_is_refused_with_the_way_to_it() {
    let world = stopped();
    let mut command = world.command(&["orchestrate", "resume", "r"]);
    command.env("UWF_STORAGE_ROOT", world.dir().join("other"));
    let run: Run = command.output().unwrap().into();
    run.exits(2).says("under another root").says("add `--root ");
    allow(&world);
    let link = world.dir().join("link");
    std::os::unix::fs::symlink(world.root(), &link).unwrap();
    let mut command = world.command(&["orchestrate", "resume", "r"]);
    command.env("UWF_STORAGE_ROOT", link);
    let run: Run = command.output().unwrap().into();
    run.exits(0);
}

#[test]
fn a_run_goes_on_where_it_was_made() {
    let world = stopped();
    let elsewhere = world.dir().join("elsewhere");
    fs::rename(world.project(), &elsewhere).unwrap();
    fs::create_dir(world.project()).unwrap();
    fs::remove_dir(world.project()).unwrap();
    let mut command = world.command(&["orchestrate", "resume", "r"]);
    let run: Run = command.current_dir(&elsewhere).output().unwrap().into();
    run.exits(2)
        .says("the workspace of the run, `")
        .says("move the folder back");
    assert!(!world.project().exists());
    fs::rename(&elsewhere, world.project()).unwrap();
    allow(&world);
    fs::create_dir(&elsewhere).unwrap();
    let project = world.project();
    let mut command = world.command(&["orchestrate", "resume", "r", "--workspace"]);
    command.arg(&project).current_dir(&elsewhere);
    let run: Run = command.output().unwrap().into();
    run.exits(0);
}

#[test]
fn another_workspace_than_that_of_the_run_is_refused() {
    let world = stopped();
    let thread = state(&world, "r")["thread"].as_str().unwrap().to_owned();
    fs::create_dir(world.project().join("sub")).unwrap();
    resume(&world, &[&thread, "--workspace", "sub"])
        .exits(2)
        .says("the workspace of the run is `");
}

/// The file is found again wherever the next command is called.
#[test]
fn the_workflow_file_is_recorded_by_its_place_in_the_workspace() {
    let world = World::new();
    world.write("flows/flow.yaml", FLOW);
    let project = world.project();
    let mut command = world.command(&["orchestrate", "run", "flow.yaml", "--run-id", "r"]);
    command.args(["--workspace".as_ref(), project.as_os_str()]);
    command.current_dir(project.join("flows"));
    let run: Run = command.output().unwrap().into();
    run.exits(1);
    assert_eq!(state(&world, "r")["workflow_file"], "flows/flow.yaml");
    world.write("flows/flow.yaml", &FLOW.replace("name: C", "name: D"));
    resume(&world, &["r"]).exits(2).says("has changed");
}

#[test]
fn a_lost_attempt_is_named_by_the_resume_that_follows_it_and_by_no_refused_one() {
    let world = World::new();
    let slow = FLOW.replace("test -e ok", "touch at-work; test -e ok || sleep 60");
    world.write("flow.yaml", &slow);
    let mut engine = world.spawn(&["orchestrate", "run", "flow.yaml", "--run-id", "r"]);
    wait_until("the step runs", || world.project().join("at-work").exists());
    engine.kill().unwrap();
    engine.wait().unwrap();
    resume(&world, &["r", "--from", "X"]).exits(2);
    allow(&world);
    let run = resume(&world, &["r"]).exits(0);
    run.says("attempt 1 of step `B` was lost");
    assert_eq!(log(&world), "A B B C nobody");
}
