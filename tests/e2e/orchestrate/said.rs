//! What is said of limits, items, loops and ids.

use serde_json::{Value, json};

use super::messages::{FAILS, commands, flow, orchestrate};

#[test]
fn what_is_over_time_names_its_limit_and_where_it_was_given() {
    let world = flow(
        "steps:
- {name: A, command: [sleep, '60'], timeout_sec: 0.2, on: {failure: {goto: B}}}
- {name: B, wait_for: {glob: 'x/*', timeout_sec: 0.1, poll_ms: 10}, on: {failure: {goto: C}}}
- {name: C, command: [sleep, '60']}
",
    );
    orchestrate(&world, &["run", "flow.yaml", "--timeout", "1.5"])
        .exits(124)
        .says("the time of the step was over: the `timeout_sec` of the step is 0.2")
        .says("and 1 must: the `timeout_sec` of the step is 0.1")
        .says("the time of the run was over: the `--timeout` of the run is 1.5");
}

#[test]
fn an_option_that_changes_nothing_is_a_warning() {
    let world = flow("strict_flow: false\nsteps: [{name: A, command: ['false']}]");
    let run = orchestrate(&world, &["run", "flow.yaml", "--on-error", "stop"]).exits(0);
    let run = run.says("warning: `--on-error stop` changes nothing: `strict_flow: false`");
    assert!(run.stderr.starts_with("note: run "), "{}", run.stderr);
    assert_eq!(
        run.stderr.matches("note: run ").count(),
        2,
        "it begins and ends"
    );
    let run = orchestrate(&world, &["run", "flow.yaml"]).exits(0);
    assert!(!run.stderr.contains("--on-error"), "{}", run.stderr);
}

#[test]
fn the_end_of_an_item_says_whether_it_failed_and_where_its_file_is() {
    let world = flow(
        "strict_flow: false
steps:
- name: L
  for_each:
    items: [in/good, in/bad]
    steps: [{name: Do, command: [grep, -q, good, '${item}']}]
    on_item_complete: {success: {move_to: done}, failure: {move_to: failed}}
",
    );
    world.write("in/good", "good");
    world.write("in/bad", "bad");
    let run = orchestrate(&world, &["run", "flow.yaml", "--run-id", "r"]).exits(0);
    let run = run
        .says("L[0]: the item succeeded, and `in/good` was moved to `done`")
        .says("L[1]: the item failed, and `in/bad` was moved to `failed`");
    assert!(!run.stderr.contains("L[1]: completed"), "{}", run.stderr);
}

#[test]
fn an_id_that_is_taken_is_refused_with_what_its_run_can_be_asked() {
    let world = flow(FAILS);
    let args = [
        "run",
        "flow.yaml",
        "--run-id",
        "r",
        "--state-dir",
        "my runs",
    ];
    orchestrate(&world, &args).exits(4);
    let said = orchestrate(&world, &args).exits(2);
    let said = said.says("there is a run `r` already");
    let expected = ["status", "resume"]
        .map(|command| format!("uwf orchestrate {command} r --state-dir 'my runs'"));
    assert_eq!(commands(&said.stderr), expected);
}

#[test]
fn a_loop_takes_from_its_first_item_to_its_end() {
    let world = flow(
        "steps:
- name: Outer
  for_each:
    items: [1, 2]
    steps:
    - name: Inner
      for_each: {items: [a, b], steps: [{name: Do, command: [sleep, '0.1']}]}
- {name: Nothing, for_each: {items: [], steps: [{name: Do, command: ['true']}]}}
- {name: Last, command: [test, -e, go]}
",
    );
    let said = orchestrate(&world, &["run", "flow.yaml", "--run-id", "r"]).exits(1);
    for line in ["Outer: completed, 0ms", "Outer[1].Inner: completed, 0ms"] {
        assert!(!said.stderr.contains(line), "{}", said.stderr);
    }
    world.write("go", "");
    orchestrate(&world, &["resume", "r"]).exits(0);
    let status = orchestrate(&world, &["status", "r", "--json"])
        .exits(0)
        .json();
    let took = |entry: &Value| entry["duration_ms"].as_u64().unwrap();
    assert!(took(&status["steps"][0]) >= 400, "{status}");
    assert!(
        took(&status["steps"][1]) < took(&status["steps"][0]),
        "{status}"
    );
    let report = ["report", "r", "--format", "json"];
    let report = orchestrate(&world, &report).exits(0).json();
    let of = |key: &str| {
        let mut entries = report["entries"].as_array().unwrap().iter();
        took(entries.find(|entry| entry["key"] == key).unwrap())
    };
    let [outer, inner] = ["Outer", "Outer[1].Inner"].map(of);
    // The other round of `Outer` took 200 ms at least.
    assert!(
        (200..=outer.saturating_sub(200)).contains(&inner),
        "{report}"
    );
    assert!(outer >= 400, "{report}");
    // A step that was done again has the same number everywhere.
    assert_eq!(status["steps"][2]["visits"], json!(2));
    let last = report["entries"].as_array().unwrap().last().unwrap();
    assert_eq!(last["visit"], json!(2));
    let logs = orchestrate(&world, &["status", "r"]).exits(0).stdout;
    let row = logs.lines().find(|line| line.starts_with("Outer")).unwrap();
    assert!(!row.contains(" 0ms"), "{logs}");
}

#[test]
fn the_time_of_a_run_may_have_a_unit() {
    let world = flow("steps: [{name: A, command: [sleep, '20']}]");
    orchestrate(&world, &["run", "flow.yaml", "--timeout", "300ms"]).exits(124);
    orchestrate(&world, &["run", "flow.yaml", "--timeout", "soon"])
        .exits(2)
        .says("a time such as 90s, 10m or 2h, is expected");
}

#[test]
fn an_argument_that_is_too_long_names_what_helps_and_not_only_the_same_again() {
    let world = flow("steps: [{name: A, command: [echo, '${context.long}']}]");
    world.write(
        "long.json",
        &format!("{{\"long\": \"{}\"}}", "x".repeat(200_000)),
    );
    orchestrate(&world, &["run", "flow.yaml", "--context-file", "long.json"])
        .exits(2)
        .says("`input_mode: stdin`")
        .says("--accept-changed-workflow` goes on");
}
