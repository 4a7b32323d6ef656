//! One step of a pipeline in a run of its own.

use std::fs;

use serde_json::{Value, json};

use crate::world::{Run, World};

const FLOW: &str = r#"
context: {who: nobody}
steps:
- name: List
  command: [echo, '["a", "b"]']
  output_capture: json
- name: Show
  command: [echo, '${steps.List.json.0} ${context.who}']
- name: Fail
  command: [sh, -c, 'exit 7']
  on: {failure: {goto: List}}
- name: Never
  command: [echo, ran]
  when: {equals: {left: a, right: b}}
- name: Each
  for_each:
    items_from: steps.List.json
    as: file
    steps:
    - name: First
      command: [sh, -c, 'echo first $0 >> log', '${file}']
    - name: Second
      command: [sh, -c, 'echo second $0 >> log; test $0 != bad', '${file}']
- name: Each.Second
  command: [echo, of the pipeline]
- name: Other
  for_each: {items: [1, 2], steps: [{name: Second, command: [sh, -c, 'echo other $0 >> log', '${item}']}]}
"#;

fn world() -> World {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    world
}

fn run_step(world: &World, args: &[&str]) -> Run {
    let all = ["orchestrate", "run-step", "--workflow", "flow.yaml"];
    world.uwf(&[&all[..], args].concat())
}

/// Runs a step as the run `s`, and returns what its picture says of the steps.
fn steps(world: &World, args: &[&str], code: i32) -> Value {
    run_step(world, &[args, &["--run-id", "s"]].concat()).exits(code);
    let folder = world.project().join(".orchestrate/runs/s");
    let state = fs::read(folder.join("state.json")).unwrap();
    fs::remove_dir_all(folder).unwrap();
    let state: Value = serde_json::from_slice(&state).unwrap();
    state["steps"].clone()
}

fn log(world: &World) -> String {
    fs::read_to_string(world.project().join("log")).unwrap_or_default()
}

#[test]
fn a_step_runs_alone_with_its_exit_code_and_without_its_handlers() {
    let world = world();
    let steps = steps(&world, &["Fail"], 7);
    assert_eq!(steps["Fail"]["exit_code"], 7);
    assert_eq!(steps.as_object().unwrap().len(), 1);
}

#[test]
fn the_exit_code_is_that_of_the_step_even_where_failures_stop_no_run() {
    let world = World::new();
    let lenient = format!("strict_flow: false\n{FLOW}");
    world.write("flow.yaml", &lenient);
    run_step(&world, &["Fail"]).exits(7);
    run_step(&world, &["Other"]).exits(0);
    run_step(&world, &["Other", "--on-error", "continue"]).exits(0);
}

#[test]
fn a_condition_counts_on_demand_only() {
    let world = world();
    assert_eq!(steps(&world, &["Never"], 0)["Never"]["output"], "ran\n");
    let skipped = steps(&world, &["Never", "--respect-when"], 0);
    assert_eq!(skipped["Never"]["status"], "skipped");
}

#[test]
fn other_steps_are_seen_from_another_run_only() {
    let world = world();
    let undefined = steps(&world, &["Show"], 2);
    let error = &undefined["Show"]["error"];
    assert_eq!(error["type"], "undefined_variables");
    assert_eq!(
        error["context"]["undefined_vars"],
        json!(["steps.List.json.0"])
    );
    world.write("whole.yaml", &FLOW.replace("exit 7", "exit 0"));
    let args = ["orchestrate", "run", "whole.yaml", "--run-id", "full"];
    world.uwf(&args).exits(0);
    let before = fs::read(world.project().join(".orchestrate/runs/full/state.json")).unwrap();
    let args = ["Show", "--from-run", "full", "--context", "who=me"];
    assert_eq!(steps(&world, &args, 0)["Show"]["output"], "a me\n");
    let after = fs::read(world.project().join(".orchestrate/runs/full/state.json")).unwrap();
    assert_eq!(before, after);
    let run = run_step(&world, &["Show", "--from-run", "none"]).exits(2);
    run.says("there is no run `none`");
}

#[test]
fn a_loop_runs_with_all_items_or_one_and_its_steps_with_one() {
    let world = world();
    run_step(&world, &["Other"]).exits(0);
    assert_eq!(log(&world), "other 1\nother 2\n");
    fs::remove_file(world.project().join("log")).unwrap();
    run_step(&world, &["Each", "--item", "\"x\""]).exits(0);
    assert_eq!(log(&world), "first x\nsecond x\n");
    fs::remove_file(world.project().join("log")).unwrap();
    run_step(&world, &["Each.First", "--item", "\"bad\""]).exits(0);
    run_step(&world, &["Each", "--item", "\"bad\""]).exits(1);
    assert_eq!(log(&world), "first bad\nfirst bad\nsecond bad\n");
    // A step of the pipeline with that very name comes first.
    let steps = steps(&world, &["Each.Second"], 0);
    assert_eq!(steps["Each.Second"]["output"], "of the pipeline\n");
}

#[test]
fn what_cannot_run_alone_is_refused_and_makes_no_run() {
    let world = world();
    let check = |args: &[&str], what: &str, hint: &str| {
        run_step(&world, args).exits(2).says(what).says(hint);
    };
    check(
        &["Lst"],
        "the pipeline has no step `Lst`",
        "did you mean `List`?",
    );
    check(
        &["Each.First"],
        "is in a loop, so it needs an item",
        "add `--item JSON`",
    );
    check(
        &["List", "--item", "1"],
        "is no loop, so it takes no item",
        "leave `--item` out",
    );
    check(
        &["Each", "--item", "x"],
        "`--item x` is not JSON",
        "write a text with its quotes",
    );
    assert!(!world.project().join(".orchestrate").exists());
}

#[test]
fn a_run_of_one_step_is_resumed_as_any_other() {
    let world = World::new();
    world.write(
        "flow.yaml",
        "steps:\n- name: A\n  command: [echo, a]\n- name: B\n  command: [test, -e, ok]\n",
    );
    run_step(&world, &["B", "--run-id", "s"]).exits(1);
    world.write("ok", "");
    let run = world
        .uwf(&["orchestrate", "resume", "s", "--json"])
        .exits(0);
    assert_eq!(run.json()["status"], "completed");
    world
        .uwf(&["orchestrate", "resume", "s", "--force-restart"])
        .exits(0);
}

#[test]
fn a_run_of_one_step_is_marked_and_is_not_the_newest_run_while_there_is_a_whole_one() {
    let world = world();
    run_step(&world, &["Never", "--run-id", "alone"]).exits(0);
    let orchestrate = |args: &[&str]| world.uwf(&[&["orchestrate"], args].concat()).exits(0);
    let newest = || orchestrate(&["status", "--json"]).json()["run_id"].clone();
    assert_eq!(newest(), "alone");
    world.write("whole.yaml", "steps: [{name: A, command: ['true']}]");
    orchestrate(&["run", "whole.yaml", "--run-id", "whole"]);
    run_step(&world, &["Each.First", "--item", "1", "--run-id", "later"]).exits(0);
    assert_eq!(newest(), "whole");
    let page = orchestrate(&["report"]).stdout;
    assert!(page.contains("# Run whole"), "{page}");
    let runs = orchestrate(&["list", "--json"]).json()["runs"].clone();
    let of = |name: &str| {
        let mut runs = runs.as_array().unwrap().iter();
        runs.find(|run| run["run_id"] == name).unwrap()["only_step"].clone()
    };
    assert_eq!(
        [of("later"), of("whole")],
        [json!("Each.First"), Value::Null]
    );
    let list = orchestrate(&["list"]).stdout;
    assert!(list.contains("flow, only step Each.First\n"), "{list}");
    let status = orchestrate(&["status", "later"]).stdout;
    assert!(
        status.contains("only step") && status.contains("Each.First"),
        "{status}"
    );
    let page = orchestrate(&["report", "later"]).stdout;
    assert!(page.contains("| only step | Each.First |"), "{page}");
}

#[test]
fn a_step_of_a_loop_within_a_loop_is_refused_with_the_loop_that_can_be_run() {
    let world = World::new();
    world.write(
        "flow.yaml",
        "steps:\n- name: Outer\n  for_each:\n    items: [a]\n    steps:\n    - name: Inner\n      for_each:\n        items: [b]\n        steps: [{name: P, command: ['true']}]\n",
    );
    let alone = |step: &str| {
        let words = ["run-step", step, "--workflow", "flow.yaml", "--item", "1"];
        world.uwf(&[&["orchestrate"][..], &words].concat())
    };
    alone("Outer.Inner.P")
        .exits(2)
        .says("step `Outer.Inner.P` is in a loop within a loop, and is not run alone")
        .says("`run-step Outer.Inner --item JSON`");
    alone("Outer.Inner").exits(0);
    alone("Outer.Inner.Q")
        .exits(2)
        .says("the pipeline has no step");
}
