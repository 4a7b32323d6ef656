//! The files of a run: `state.json` is whole at every moment, and what stands beside it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::runs::{root_of_only_run, run, start};
use crate::world::World;

#[test]
fn every_reader_of_the_state_finds_it_whole_during_a_long_loop() {
    const ITEMS: usize = 300;
    let world = World::new();
    let pipeline = format!(
        "steps:\n- name: List\n  command: [seq, '{ITEMS}']\n  output_capture: lines\n- name: Each\n  for_each:\n    items_from: steps.List.lines\n    steps:\n    - {{name: Say, command: [echo, '${{item}}']}}\n"
    );
    let mut running = start(&world, &pipeline, &[]);
    let file = root_of_only_run(&world).join("state.json");
    let (mut heads, mut done) = (BTreeSet::new(), 0);
    while !running.is_over() {
        let text = fs::read(&file).unwrap();
        let state: Value = serde_json::from_slice(&text).unwrap();
        let of_loop = &state["for_each"]["Each"];
        let finished = of_loop["completed_indices"].as_array();
        let finished = finished.map_or(0, Vec::len);
        assert!(finished >= done, "{finished} after {done}");
        done = finished;
        // What the file shows fits together: a finished item has its results.
        let items = state["steps"]["Each"].as_array().map_or(0, Vec::len);
        assert!(items >= finished, "{items} of {finished}");
        heads.insert(state["head"].to_string());
    }
    let ran = running.wait().exits(0);
    assert!(heads.len() > 3, "{heads:?}");
    let each = ran.step("Each").as_array().unwrap();
    assert_eq!(each.len(), ITEMS);
    assert_eq!(each[ITEMS - 1]["Say"]["output"], format!("{ITEMS}\n"));
    assert_eq!(ran.state["current_step"], Value::Null);
}

#[test]
fn the_files_of_a_run_have_their_names_and_fields() {
    let world = World::new();
    let pipeline = "context: {ticket: T-17}\nsteps:\n- name: Compile\n  command: [printf, 'ok\\n']\n- name: Skip\n  command: ['true']\n  when: {exists: nowhere}\n- name: PerFile\n  for_each:\n    items: [a.rs, b.rs]\n    steps:\n    - {name: Lint, command: [printf, x]}\n";
    let ran = run(&world, pipeline, &[]).exits(0);
    let state = &ran.state;
    let time = regex::Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$").unwrap();
    let is_time = |value: &Value| time.is_match(value.as_str().unwrap());
    assert_eq!(state["schema_version"], "1.1.1");
    assert_eq!(state["run_id"], ran.id());
    assert_eq!(state["workflow_file"], "flow.yaml");
    assert!(
        state["workflow_checksum"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    assert!(is_time(&state["started_at"]) && is_time(&state["updated_at"]));
    assert_eq!(state["context"], json!({"ticket": "T-17"}));
    assert_eq!(state["step_visits"], json!({"Compile": 1, "PerFile": 1}));
    let compile = ran.step("Compile");
    assert!(is_time(&compile["started_at"]) && is_time(&compile["completed_at"]));
    assert_eq!(compile["duration"], compile["duration_ms"]);
    assert_eq!(
        (&compile["attempts"], &compile["visit_count"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(compile["debug"]["command"], json!(["printf", "ok\\n"]));
    assert_eq!(compile["debug"]["cwd"], ".");
    assert_eq!(ran.step("Skip")["status"], "skipped");
    let of_loop = &state["for_each"]["PerFile"];
    assert_eq!(of_loop["items"], json!(["a.rs", "b.rs"]));
    assert_eq!(
        (&of_loop["exit_code"], &of_loop["failed"]),
        (&json!(0), &json!(0))
    );
    let session = &state["executor_sessions"][0];
    assert_eq!(session["entry"], "run");
    assert!(is_time(&session["started_at"]) && is_time(&session["ended_at"]));
    assert_eq!(state["error"], Value::Null);
    let read = |name: &str| fs::read_to_string(ran.root().join(name)).unwrap();
    assert_eq!(read("workflow.yaml"), pipeline);
    assert!(read("thread").contains(ran.summary["thread"].as_str().unwrap()));
    assert_eq!(ran.log("PerFile%5B1%5D.Lint.stdout"), b"x");
    let runs = world.project().join(".orchestrate/runs");
    assert_eq!(
        ran.root().parent(),
        Some(runs.canonicalize().unwrap().as_path())
    );
    let id = regex::Regex::new(r"^\d{8}T\d{6}Z-[a-z0-9]{6}$").unwrap();
    assert!(id.is_match(ran.id()));
}

#[test]
fn runs_may_be_kept_elsewhere_and_under_a_chosen_id() {
    let world = World::new();
    let pipeline = "steps:\n- name: A\n  command: [printf, '%s %s', '${run.id}', '${run.root}']\n";
    let elsewhere = world.dir().join("runs of all");
    let dir = [
        "--state-dir",
        elsewhere.to_str().unwrap(),
        "--run-id",
        "mine.1",
    ];
    let ran = run(&world, pipeline, &dir).exits(0);
    assert_eq!(ran.id(), "mine.1");
    assert_eq!(ran.root(), elsewhere.canonicalize().unwrap().join("mine.1"));
    assert_eq!(ran.output("A"), format!("mine.1 {}", ran.root().display()));
    assert!(!world.project().join(".orchestrate").exists());
    let words = ["orchestrate", "run", "flow.yaml"];
    world
        .uwf(&[&words[..], &dir].concat())
        .exits(2)
        .says("mine.1");
    for id in ["../x", "a/b", "", "."] {
        let named = ["--run-id", id];
        world.uwf(&[&words[..], &named].concat()).exits(2);
    }
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(
        ran.output("A"),
        format!("{0} .orchestrate/runs/{0}", ran.id())
    );
}
