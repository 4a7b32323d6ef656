//! Looking at runs: `list`, `status`, `report` and `logs` tell what the chain has, change nothing, and show no secret.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

use serde_json::{Value, json};

use crate::processes::signal;
use crate::world::{Run, World, wait_until};

/// A pipeline with a loop that catches a failure, and a last step that fails.
const FLOW: &str = r#"
name: demo
secrets: [TOK]
context: {note: "it is s3cr3tvalue"}
steps:
- name: List
  command: [bash, -c, 'printf "a\nb\n"; echo "$TOK" >&2']
  output_capture: lines
- name: Each
  for_each:
    items_from: steps.List.lines
    steps:
    - name: Say
      command: [bash, -c, 'echo "say ${item}"; test "${item}" = a']
      output_file: out/${item}.txt
      on: {failure: {goto: Sorry}}
    - name: Sorry
      command: [echo, "sorry, ${item} | ```"]
- name: Bad
  command: [bash, -c, 'echo "bad $TOK" >&2; exit 7']
- name: Never
  command: ["true"]
"#;

/// A pipeline whose second step goes on until there is a file `go`.
const WAITS: &str = r#"
steps:
- name: Quick
  command: [echo, quick]
- name: Slow
  command: [bash, -c, 'echo one; echo two >&2; while ! [ -e go ]; do sleep 0.02; done; echo three']
"#;

pub(super) fn orchestrate(world: &World, args: &[&str]) -> Run {
    let mut command = world.command(&[&["orchestrate"], args].concat());
    command.env("TOK", "s3cr3tvalue").output().unwrap().into()
}

/// Starts a run and returns its call when a step of it runs.
pub(super) fn running(world: &World, flow: &str, step: &str) -> Child {
    world.write("flow.yaml", flow);
    let child = world.spawn(&["orchestrate", "run", "flow.yaml", "--run-id", "live"]);
    wait_until("the step runs", || {
        let status = orchestrate(world, &["status", "live", "--json"]);
        let current = || status.json()["current_step"].clone();
        status.code == 0 && current()["key"] == step && current()["pid"].is_u64()
    });
    child
}

fn failed_run(world: &World) -> Value {
    world.write("demo.yaml", FLOW);
    orchestrate(world, &["run", "demo.yaml", "--run-id", "r1", "--quiet"]).exits(7);
    status(world, "r1")
}

pub(super) fn status(world: &World, run: &str) -> Value {
    orchestrate(world, &["status", run, "--json"])
        .exits(0)
        .json()
}

/// Returns the content of every file below a folder.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn the_status_of_a_failed_run_says_which_step_stopped_it_and_how_to_go_on() {
    let world = World::new();
    let status = failed_run(&world);
    assert_eq!(status["status"], "failed");
    assert_eq!(status["exit_code"], 7);
    assert_eq!(status["failed_step"], "Bad");
    assert_eq!(status["failed_steps"], json!(["Bad"]));
    assert_eq!(status["error"]["stderr_tail"], json!(["bad ***"]));
    let steps: Vec<Value> = status["steps"].as_array().unwrap().clone();
    let of = |key: &str| {
        steps
            .iter()
            .map(|step| step[key].clone())
            .collect::<Value>()
    };
    assert_eq!(of("name"), json!(["List", "Each", "Bad", "Never"]));
    assert_eq!(
        of("status"),
        json!(["completed", "completed", "failed", "pending"])
    );
    assert_eq!(of("visits"), json!([1, 1, 1, 0]));
    assert_eq!(steps[1]["items"], json!({"count": 2, "failed": 0}));
    // Without an id, it is the newest run.
    let text = orchestrate(&world, &["status"]).exits(0).stdout;
    assert!(text.contains("failed at Bad, exit code 7"), "{text}");
    assert!(text.contains("uwf orchestrate resume r1"), "{text}");
}

#[test]
fn the_list_has_the_newest_run_first() {
    let world = World::new();
    let empty = orchestrate(&world, &["list"])
        .exits(0)
        .says("there is no run in");
    assert_eq!(empty.stdout, "");
    failed_run(&world);
    world.write("fine.yaml", "steps:\n- name: A\n  command: ['true']\n");
    orchestrate(&world, &["run", "fine.yaml", "--run-id", "a2"]).exits(0);
    let list = orchestrate(&world, &["list", "--json"]).exits(0).json();
    let of = |key: &str| {
        let runs = list["runs"].as_array().unwrap().iter();
        runs.map(|run| run[key].clone()).collect::<Value>()
    };
    assert_eq!(of("run_id"), json!(["a2", "r1"]));
    assert_eq!(of("status"), json!(["completed", "failed"]));
    assert_eq!(of("workflow"), json!(["fine", "demo"]));
    let text = orchestrate(&world, &["list"]).exits(0).stdout;
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[test]
fn the_report_is_a_page_about_everything_that_happened() {
    let world = World::new();
    failed_run(&world);
    let page = orchestrate(&world, &["report", "r1"]).exits(0).stdout;
    for part in [
        "# Run r1\n",
        "| status | failed at Bad, exit code 7 |",
        "| context | `{\"note\":\"it is ***\"}` |",
        "| 1 | List | completed | 0 |",
        "| 4 | Each[1].Say | failed | 1 |",
        "- Each: 2 items, 0 failed; failed steps: Each[1].Say\n",
        "### Bad (exit code 7)\n",
        "end of stderr:\n\n```\nbad ***\n```\n",
        "````\nsorry, b | ```\n````\n",
        "- `out/a.txt` by Each[0].Say\n",
    ] {
        assert!(page.contains(part), "the page lacks {part:?}:\n{page}");
    }
    let data = orchestrate(&world, &["report", "r1", "--format", "json"]);
    let data = data.exits(0).json();
    let entries = data["entries"].as_array().unwrap();
    let keys: Vec<&Value> = entries.iter().map(|entry| &entry["key"]).collect();
    let expected = [
        "List",
        "Each[0].Say",
        "Each[0].Sorry",
        "Each[1].Say",
        "Each[1].Sorry",
        "Each",
        "Bad",
    ];
    assert_eq!(json!(keys), json!(expected));
    assert_eq!(entries[1]["writes"], json!(["out/a.txt"]));
    assert_eq!(
        entries[0]["output"],
        json!({"capture": "lines", "text": "a\nb", "cut": false})
    );
    assert_eq!(entries[6]["attempts"][0]["exit_code"], 7);
}

#[test]
fn nothing_shows_a_secret_and_nothing_is_changed() {
    let world = World::new();
    failed_run(&world);
    let before = contents(world.dir());
    for args in [
        &["status", "r1"][..],
        &["status", "r1", "--json"],
        &["list", "--json"],
        &["report", "r1"],
        &["report", "r1", "--format", "json"],
        &["logs", "r1"],
        &["logs", "r1", "--json"],
        &["logs", "r1", "-f"],
    ] {
        let run = orchestrate(&world, args).exits(0);
        let all = run.stdout + &run.stderr;
        assert!(!all.contains("s3cr3tvalue"), "{args:?}: {all}");
    }
    let after = contents(world.dir());
    // The log of the program itself is the one thing that every command writes.
    let own = world.root().join("logs");
    let paths = before.keys().chain(after.keys());
    for path in paths.filter(|path| !path.starts_with(&own)) {
        assert_eq!(before.get(path), after.get(path), "{}", path.display());
    }
    let log = Path::new("logs/Bad.stderr");
    assert!(after.keys().any(|path| path.ends_with(log)));
}

#[test]
fn logs_are_those_of_one_step_of_all_items_or_of_everything() {
    let world = World::new();
    failed_run(&world);
    let logs = |step: &[&str]| {
        let args = [&["logs", "r1"], step].concat();
        orchestrate(&world, &args).exits(0).stdout
    };
    assert_eq!(logs(&["Each[1].Say"]), "say b\n");
    assert_eq!(
        logs(&["Each[].Say"]),
        "==> Each[0].Say stdout <==\nsay a\n==> Each[1].Say stdout <==\nsay b\n"
    );
    assert_eq!(logs(&["Each[0]"]).lines().count(), 4);
    assert_eq!(logs(&["Each"]).lines().count(), 8);
    assert_eq!(logs(&[]).matches("==>").count(), 7);
    assert_eq!(logs(&["Never"]), "");
    let unknown = orchestrate(&world, &["logs", "r1", "Eech"]).exits(2);
    unknown
        .says("the run has no step `Eech`")
        .says("`Each[].Say`");
}

#[test]
fn short_logs_and_the_report_survive_the_folder_of_the_run() {
    let world = World::new();
    let thread = failed_run(&world)["thread"].as_str().unwrap().to_owned();
    fs::remove_dir_all(world.project().join(".orchestrate")).unwrap();
    let logs = orchestrate(&world, &["logs", &thread, "Each[1].Say"]).exits(0);
    assert_eq!(logs.stdout, "say b\n");
    let page = orchestrate(&world, &["report", &thread]).exits(0).stdout;
    assert!(page.contains("### Bad (exit code 7)"), "{page}");
    // It can go on, so its id still finds it.
    let status = orchestrate(&world, &["status", "r1", "--json"]).exits(0);
    assert_eq!(status.json()["thread"], thread.as_str());
}

#[test]
fn a_call_without_a_run_or_with_an_unknown_one_exits_with_2() {
    let world = World::new();
    orchestrate(&world, &["status"])
        .exits(2)
        .says("there is no run in");
    orchestrate(&world, &["report", "nope"])
        .exits(2)
        .says("there is no run `nope`");
    orchestrate(&world, &["logs", "nope"])
        .exits(2)
        .says("there is no run `nope`");
    world.write("fine.yaml", "steps:\n- name: A\n  command: ['true']\n");
    for id in ["r-1", "r-2"] {
        orchestrate(&world, &["run", "fine.yaml", "--run-id", id]).exits(0);
    }
    let several = orchestrate(&world, &["status", "r-"]).exits(2);
    several.says("`r-1`").says("`r-2`");
}

#[test]
fn a_live_run_shows_its_step_and_its_logs_are_followed_to_the_end() {
    let world = World::new();
    let mut run = running(&world, WAITS, "Slow");
    let live = status(&world, "live");
    assert_eq!(live["status"], "running");
    assert_eq!(live["steps"][0]["status"], "completed", "{live}");
    assert_eq!(live["steps"][1]["status"], "running");
    let follower = world.spawn(&["orchestrate", "logs", "live", "-f"]);
    // What is there already is printed before the end.
    std::thread::sleep(std::time::Duration::from_millis(600));
    world.write("go", "");
    assert!(run.wait().unwrap().success());
    let followed: Run = follower.wait_with_output().unwrap().into();
    let followed = followed.exits(0).stdout;
    for line in ["quick", "one", "two", "three"] {
        assert_eq!(followed.matches(line).count(), 1, "{line}:\n{followed}");
    }
    assert!(
        followed.contains("==> Slow stderr <==\ntwo\n"),
        "{followed}"
    );
    assert_eq!(status(&world, "live")["status"], "completed");
}

#[test]
fn a_run_whose_process_was_killed_is_interrupted_and_keeps_its_quick_steps() {
    let world = World::new();
    let mut run = running(&world, WAITS, "Slow");
    let pid = status(&world, "live")["current_step"]["pid"]
        .as_u64()
        .unwrap();
    signal("KILL", run.id());
    run.wait().unwrap();
    let killed = status(&world, "live");
    assert_eq!(killed["status"], "interrupted");
    assert_eq!(killed["current_step"], Value::Null);
    assert_eq!(killed["steps"][0]["status"], "completed", "{killed}");
    signal("KILL", pid);
    world.write("go", "");
    orchestrate(&world, &["resume", "live"]).exits(0);
    let page = orchestrate(&world, &["report", "live"]).exits(0).stdout;
    let resumed = "| 2 | *resumed; attempt 1 of Slow was lost* |";
    assert!(page.contains(resumed), "{page}");
}

#[test]
fn a_loop_shows_the_item_it_is_at_and_where_it_stopped() {
    let world = World::new();
    let flow = r#"
steps:
- name: Each
  for_each:
    items: [a, b, c]
    steps:
    - name: In
      command: [bash, -c, 'echo ${item}; test ${item} != b || while ! [ -e go ]; do sleep 0.02; done; test ${item} != b']
"#;
    let mut run = running(&world, flow, "Each[1].In");
    let live = status(&world, "live");
    let at = json!([{"key": "Each", "index": 1, "total": 3, "failed": 0}]);
    assert_eq!(live["loops"], at);
    assert_eq!(live["steps"][0]["status"], "running");
    let text = orchestrate(&world, &["status"]).exits(0).stdout;
    assert!(text.contains("loop      Each: item 2 of 3\n"), "{text}");
    world.write("go", "");
    assert_eq!(run.wait().unwrap().code(), Some(1));
    let failed = status(&world, "live");
    assert_eq!(failed["failed_step"], "Each[1].In");
    assert_eq!(failed["steps"][0]["status"], "failed");
    let page = orchestrate(&world, &["report"]).exits(0).stdout;
    let loops = "- Each: at item 2 of 3, 0 failed so far; failed steps: Each[1].In\n";
    assert!(page.contains(loops), "{page}");
}

#[test]
fn a_wait_lies_within_the_time_that_the_report_gives() {
    let world = World::new();
    let waits = "steps:\n- {name: W, wait_for: {glob: none, timeout_sec: 1}, on: {failure: {goto: _end}}}\n";
    super::runs::run(&world, waits, &["--run-id", "r1"]).exits(0);
    let report = orchestrate(&world, &["report", "r1", "--format", "json"]);
    let step = &report.exits(0).json()["entries"][0];
    let attempt = &step["attempts"][0];
    assert_eq!(attempt["started_at"], step["started_at"], "{step}");
    assert!(attempt["duration_ms"].as_u64().unwrap() >= 1000, "{step}");
}

#[test]
fn the_status_of_an_interrupted_run_names_the_step_where_it_stands() {
    let world = World::new();
    let pipeline = "steps:\n- {name: A, command: ['true']}\n- name: L\n  for_each:\n    items: [a, b]\n    steps:\n    - {name: S, command: [sh, -c, 'test $0 = a || kill -INT $PPID; sleep 0.3', '${item}']}\n";
    let ran = super::runs::run(&world, pipeline, &[]);
    assert_eq!(ran.summary["status"], "interrupted", "{}", ran.summary);
    let status = |more: &[&str]| {
        world
            .uwf(&[&["orchestrate", "status", ran.id()], more].concat())
            .exits(0)
    };
    assert_eq!(status(&["--json"]).json()["next_step"], "L[1].S");
    let text = status(&[]).stdout;
    let line = text.lines().find(|line| line.starts_with("stands at"));
    assert!(line.is_some_and(|line| line.ends_with("L[1].S")), "{text}");
}
