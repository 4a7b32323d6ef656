//! What the options of `orchestrate run` change: what is said and kept, how long a run may take, and what it waits for.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::processes::signal;
use crate::pty::Terminal;
use crate::world::{Run, World, wait_until};

fn orchestrate(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["orchestrate"], args].concat())
}

/// Runs the flow as the run `r`.
fn run(world: &World, args: &[&str]) -> Run {
    orchestrate(
        world,
        &[&["run", "flow.yaml", "--run-id", "r"], args].concat(),
    )
}

fn flow(steps: &str) -> World {
    let world = World::new();
    world.write("flow.yaml", steps);
    world
}

fn root(world: &World) -> PathBuf {
    world.project().join(".orchestrate/runs/r")
}

fn state(world: &World) -> Value {
    serde_json::from_slice(&fs::read(root(world).join("state.json")).unwrap()).unwrap()
}

const TWO: &str = "
steps:
- name: A
  command: [echo, a]
- name: B
  command: [sh, -c, 'exit 4']
";

#[test]
fn the_log_of_a_run_says_what_its_processes_did() {
    let world = flow(TWO);
    run(&world, &["--log-level", "error"]).exits(4);
    orchestrate(&world, &["resume", "r", "--quiet"]).exits(4);
    let log = fs::read_to_string(root(&world).join("logs/orchestrator.log")).unwrap();
    let form = regex::Regex::new(r"^20\d\d-\d\d-\d\dT\S+Z (debug|info|error|warning) ").unwrap();
    let lines: Vec<&str> = log
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    assert!(log.lines().all(|line| form.is_match(line)), "{log}");
    assert!(
        lines[0].starts_with("info run r: run, by process "),
        "{log}"
    );
    assert_eq!(lines[1], "debug A: attempt 1 begins");
    assert!(
        lines[2].starts_with("info A: completed, exit code 0, "),
        "{log}"
    );
    assert_eq!(lines[3], "debug B: attempt 1 begins");
    assert!(
        lines[4].starts_with("error B: failed, exit code 4, "),
        "{log}"
    );
    assert_eq!(lines[5], "info run r: failed");
    assert!(
        lines[6].starts_with("info run r: resume, by process "),
        "{log}"
    );
    assert_eq!(lines.len(), 10, "{log}");
}

#[test]
fn a_level_tells_what_is_said_of_a_run() {
    let says = |args: &[&str], yes: &[&str], no: &[&str]| {
        let world = flow(TWO);
        let said = run(&world, args).exits(4).stderr;
        for text in yes {
            assert!(said.contains(text), "{args:?} {text}: {said}");
        }
        for text in no {
            assert!(!said.contains(text), "{args:?} {text}: {said}");
        }
    };
    // Why the run failed is never left out.
    let failure = ["error: run r failed after ", "step `B` failed", "hint: "];
    for quiet in [
        &["--log-level", "error"][..],
        &["--log-level", "warn"],
        &["--quiet"],
        &["--quiet", "--json"],
    ] {
        says(quiet, &failure, &["note", "A"]);
    }
    says(
        &[],
        &["run r", "A: completed", "B: failed (4)"],
        &["begins"],
    );
    says(&["--log-level", "info"], &["A: completed"], &["begins"]);
    says(
        &["--log-level", "debug"],
        &["A: begins", "A: completed"],
        &[],
    );
    says(&["--verbose"], &["A: begins", "A: completed"], &[]);
    says(&["--progress"], &["A: begins", "A: completed"], &[]);
    let world = flow(TWO);
    run(&world, &["--log-level", "debug", "--quiet"]).exits(2);
}

#[test]
fn progress_is_a_line_on_a_terminal() {
    let world = flow("steps: [{name: A, command: ['true']}, {name: Build, command: [sleep, 3]}]");
    let args = ["orchestrate", "run", "flow.yaml", "--progress"];
    let mut terminal = Terminal::start(&world, &args, &[]);
    terminal
        .shows("Build by command")
        .shows("0:01")
        .shows("step 2 of 2");
    terminal.end().exits(0);
    world.write(
        "flow.yaml",
        "steps: [{name: Reply, wait_for: {glob: none, timeout_sec: 2.5}}]",
    );
    let mut terminal = Terminal::start(&world, &args, &[]);
    terminal.shows("Reply by wait").shows("step 1 of 1");
    terminal.end().exits(124);
}

#[test]
fn the_last_three_pictures_before_steps_are_kept_on_demand() {
    let steps = "
steps:
- {name: A, command: ['true']}
- {name: b b, command: ['true']}
- {name: C, command: ['true']}
- {name: D, command: [echo, d]}
- {name: E, command: [echo, e]}
";
    let world = flow(steps);
    run(&world, &["--backup-state"]).exits(0);
    let names = |world: &World| {
        let names = fs::read_dir(root(world)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.contains(".bak")).collect();
        names.sort();
        names
    };
    let kept = ["C", "D", "E"].map(|step| format!("state.json.step_{step}.bak"));
    assert_eq!(names(&world), kept);
    let before = fs::read(root(&world).join(&kept[2])).unwrap();
    let before: Value = serde_json::from_slice(&before).unwrap();
    assert_eq!(before["steps"]["D"]["output"], "d\n");
    assert_eq!(before["steps"]["E"], json!(null));
    fs::remove_dir_all(root(&world)).unwrap();
    run(&world, &["--debug"]).exits(0);
    assert_eq!(names(&world).len(), 3);
    fs::remove_dir_all(root(&world)).unwrap();
    run(&world, &[]).exits(0);
    assert!(names(&world).is_empty());
}

#[test]
fn a_record_says_how_many_variables_the_program_got() {
    let world = flow("steps: [{name: A, command: [env], output_capture: lines, env: {X: y}}]");
    run(&world, &[]).exits(0);
    let record = &state(&world)["steps"]["A"];
    let variables = record["lines"].as_array().unwrap().len();
    assert_eq!(record["debug"]["env_count"], variables);
}

#[test]
fn finished_tasks_are_not_removed_while_another_run_may_need_them() {
    let world = flow("steps: [{name: A, command: ['true']}]");
    world.write("processed/1.task", "");
    world.write(
        "slow.yaml",
        "steps: [{name: A, command: [sh, -c, 'touch at-work; sleep 60']}]",
    );
    let mut other = world.spawn(&["orchestrate", "run", "slow.yaml", "--run-id", "other"]);
    wait_until("the step runs", || world.project().join("at-work").exists());
    let task = world.project().join("processed/1.task");
    run(&world, &["--clean-processed"])
        .exits(75)
        .says(&format!("cause: run `other`, process {}", other.id()))
        .says("hint: wait until it ends; `--force`");
    assert!(task.exists());
    assert!(!root(&world).exists());
    run(&world, &["--clean-processed", "--force"]).exits(0);
    assert!(!task.exists());
    // A run in another workspace does not count.
    fs::create_dir(world.project().join("sub")).unwrap();
    let args = [
        "run",
        "flow.yaml",
        "--workspace",
        "sub",
        "--clean-processed",
    ];
    orchestrate(&world, &args).exits(0);
    signal("TERM", other.id());
    assert_eq!(other.wait().unwrap().code(), Some(143));
    fs::remove_dir_all(root(&world)).unwrap();
    run(&world, &["--clean-processed"]).exits(0);
}

#[test]
fn a_run_that_takes_too_long_is_ended_without_asking_handlers() {
    let check = |step: &str| {
        let world = flow(&format!(
            "steps:\n- {step}\n- {{name: H, command: [touch, handled]}}\n"
        ));
        let began = Instant::now();
        let run = run(&world, &["--timeout", "1", "--json"]).exits(124);
        assert!(began.elapsed() < Duration::from_secs(9), "{step}");
        assert_eq!(run.json()["status"], "failed", "{step}");
        assert_eq!(state(&world)["error"]["type"], "run_timeout", "{step}");
        assert!(!world.project().join("handled").exists(), "{step}");
    };
    check("{name: A, command: [sleep, 60], on: {always: {goto: H}}}");
    check("{name: A, wait_for: {glob: none, timeout_sec: 60}, on: {failure: {goto: H}}}");
    check(
        "{name: A, command: ['false'], retries: {max: 5, delay_ms: 60000}, on: {failure: {goto: H}}}",
    );
}

#[test]
fn a_run_that_took_too_long_can_go_on() {
    let world = flow("steps: [{name: A, command: [sh, -c, 'test -e ok || sleep 60']}]");
    run(&world, &["--timeout", "0.5"]).exits(124);
    world.write("ok", "");
    orchestrate(&world, &["resume", "r"]).exits(0);
    run(&world, &["--timeout", "0"]).exits(2).says("is no time");
}

#[test]
fn a_second_signal_kills_at_once() {
    let stubborn = "trap \"\" TERM; touch at-work; while :; do sleep 0.1; done";
    let world = flow(&format!(
        "steps: [{{name: A, command: [sh, -c, '{stubborn}']}}]"
    ));
    let args = ["orchestrate", "run", "flow.yaml", "--run-id", "r"];
    let mut engine = world.spawn(&args);
    wait_until("the step runs", || world.project().join("at-work").exists());
    let began = Instant::now();
    signal("TERM", engine.id());
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(engine.try_wait().unwrap(), None);
    signal("TERM", engine.id());
    assert_eq!(engine.wait().unwrap().code(), Some(143));
    assert!(began.elapsed() < Duration::from_secs(8));
    assert_eq!(state(&world)["status"], "interrupted");
}

/// A flow whose provider notes when it begins and ends.
const PROVIDER: &str = "
providers:
  fake: {command: [sh, -c, 'echo in >> log; until test -e go; do sleep 0.05; done; echo out >> log']}
steps:
- {name: C, command: ['true']}
- {name: P, provider: fake}
";

#[test]
fn a_provider_waits_for_a_slot_as_an_agent_does() {
    let world = flow(PROVIDER);
    world.configure("concurrency.maxRunning", "1");
    let start = |id: &str| world.spawn(&["orchestrate", "run", "flow.yaml", "--run-id", id]);
    let log = || fs::read_to_string(world.project().join("log")).unwrap_or_default();
    let mut first = start("first");
    wait_until("the first provider runs", || log() == "in\n");
    // The step before the provider has ended.
    let waits = |id: &str| {
        let folder = world.project().join(".orchestrate/runs").join(id);
        let text = fs::read(folder.join("state.json")).unwrap_or_default();
        let state: Value = serde_json::from_slice(&text).unwrap_or_default();
        state["steps"]["C"]["status"] == "completed"
    };
    let second = start("r");
    wait_until("the second run waits", || waits("r"));
    let mut third = start("third");
    wait_until("the third run waits", || waits("third"));
    signal("TERM", third.id());
    assert_eq!(third.wait().unwrap().code(), Some(143));
    assert_eq!(log(), "in\n");
    world.write("go", "");
    assert!(first.wait().unwrap().success());
    let second: Run = second.wait_with_output().unwrap().into();
    second
        .exits(0)
        .says("waiting for a free slot: at most 1 agent");
    assert_eq!(log(), "in\nout\nin\nout\n");
    orchestrate(&world, &["resume", "third"]).exits(0);
}

#[test]
fn a_wait_for_a_slot_counts_for_the_time_of_a_run() {
    let world = flow(PROVIDER);
    world.configure("concurrency.maxRunning", "1");
    let mut first = world.spawn(&["orchestrate", "run", "flow.yaml"]);
    wait_until("the provider runs", || world.project().join("log").exists());
    run(&world, &["--timeout", "1"]).exits(124);
    assert_eq!(state(&world)["error"]["type"], "run_timeout");
    world.write("go", "");
    assert!(first.wait().unwrap().success());
}

/// The exit code alone does not tell: a step may end with 2, too.
#[test]
fn data_of_a_call_that_made_no_run_has_no_run() {
    let world = flow("steps: [{name: A, command: [sh, -c, 'exit 2']}]");
    let data = run(&world, &["--json"]).exits(2).json();
    assert_eq!(
        (&data["run_id"], &data["failed_step"]),
        (&json!("r"), &json!("A"))
    );
    let check = |args: &[&str], code: i32| {
        let data = orchestrate(&world, &[args, &["--json"]].concat())
            .exits(code)
            .json();
        assert_eq!(data["run_id"], json!(null), "{args:?}");
        assert_eq!(data["exit_code"], code, "{args:?}");
        assert_eq!(data["status"], "failed", "{args:?}");
    };
    check(&["run", "none.yaml"], 2);
    check(&["run", "flow.yaml", "--context", "x"], 2);
    check(&["run", "flow.yaml", "--run-id", "r"], 2);
    check(&["run-step", "B", "--workflow", "flow.yaml"], 2);
    check(&["resume", "none"], 2);
    check(&["resume", "r", "--from", "B"], 2);
    world.write("flow.yaml", "steps: 5");
    check(&["run", "flow.yaml"], 2);
}

#[test]
fn a_time_or_a_context_that_is_too_large_is_refused_before_anything_is_made() {
    let world = flow("steps: [{name: A, command: ['true']}]\n");
    for time in ["1e19", "1e308", "2678401"] {
        let refused = run(&world, &["--timeout", time]).exits(2);
        refused.says("is no time that a run may take");
    }
    world.write(
        "big.json",
        &format!("{{\"a\": \"{}\"}}", "x".repeat(4 << 20)),
    );
    let refused = run(&world, &["--context-file", "big.json"]).exits(2);
    refused.says("it is larger than 4 MiB");
    assert!(!world.project().join(".orchestrate").exists());
}

#[test]
fn a_folder_that_a_killed_process_left_before_its_run_was_made_does_not_take_the_id() {
    let world = flow("steps: [{name: A, command: ['true']}]\n");
    let folder = world.project().join(".orchestrate/runs/r");
    fs::create_dir_all(folder.join("logs")).unwrap();
    fs::write(folder.join("notes"), "mine").unwrap();
    run(&world, &[]).exits(2).says("there is a run `r` already");
    fs::remove_file(folder.join("notes")).unwrap();
    let lost = json!({"thread": "01M84CY8AGVR2ASBGJFSVM7TDB", "root": world.root()});
    fs::write(folder.join("thread"), lost.to_string()).unwrap();
    fs::write(folder.join("workflow.yaml"), "steps: []").unwrap();
    run(&world, &[]).exits(0);
    let text = fs::read_to_string(folder.join("workflow.yaml")).unwrap();
    assert!(text.contains("name: A") && !folder.join(".making").exists());
    run(&world, &[]).exits(2).says("there is a run `r` already");
}

#[test]
fn a_run_of_another_root_that_works_in_the_workspace_keeps_finished_tasks_where_they_are() {
    let world = flow(
        "steps: [{name: A, command: [sh, -c, 'touch begun; while [ ! -e end ]; do sleep 0.02; done']}]\n",
    );
    world.write("processed/1.task", "");
    let other = world.dir().join("other");
    let mut command = world.command(&["orchestrate", "run", "flow.yaml", "--run-id", "o"]);
    let mut first = command.env("UWF_STORAGE_ROOT", other).spawn().unwrap();
    wait_until("the step has begun", || {
        world.project().join("begun").exists()
    });
    let refused = run(&world, &["--clean-processed"]).exits(75);
    refused.says("run `o`");
    assert!(world.project().join("processed/1.task").exists());
    world.write("end", "");
    assert!(first.wait().unwrap().success());
}

#[test]
fn output_that_a_terminal_would_obey_is_spelled_out_on_one() {
    let world = flow("steps: [{name: A, command: [printf, '\\033]0;pwn\\007shown\\n']}]\n");
    let args = ["orchestrate", "run", "flow.yaml", "--stream-output"];
    let mut terminal = Terminal::start(&world, &args, &[]);
    terminal
        .shows("\\u{1b}]0;pwn\\u{7}shown")
        .shows("completed");
    let mut raw = world.command(&args);
    let said = raw.output().unwrap().stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("\u{1b}]0;pwn\u{7}shown\n"), "{said}");
}

#[test]
fn what_is_not_all_that_it_seems_is_a_warning_also_in_a_quiet_run() {
    let world = flow(
        "steps:
- {name: Lines, command: [seq, '10001'], output_capture: lines}
- {name: Leaves, command: [sh, -c, 'sleep 44 & exit 0']}
- name: Each
  for_each:
    items: [in/a]
    steps: [{name: Do, command: ['true']}]
    on_item_complete: {success: {move_to: '${context.away}'}}
",
    );
    world.write("in/a", "");
    let run = run(&world, &["--quiet", "--context", "away=../out"]).exits(0);
    let said = run.says("warning: Lines: only the first 10000 lines are kept");
    let said = said.says("warning: Leaves: the program left processes");
    said.says("warning: Each[0]: the file of the item was not moved: ");
}
