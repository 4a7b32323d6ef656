//! The context of runs: what is missing is told before anything runs, and a run keeps what it was made with.

use serde_json::Value;

use super::messages::{failing, flow, orchestrate};
use crate::world::{Run, World};

const NEEDS: &str = "
context: {colour: red}
steps:
- name: A
  command: [echo, '${context.ticket}', '${context.colour}']
- name: B
  command: ['false']
";

fn output_of_a(world: &World, run: &str) -> String {
    let logs = orchestrate(world, &["logs", run, "A"]).exits(0);
    logs.stdout
}

/// Returns the id of the run that an object on stdout tells of.
fn id_of(run: &Run) -> String {
    run.json()["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_missing_value_of_the_context_is_told_before_anything_runs() {
    let world = flow(NEEDS);
    let place = "flow.yaml:5:19: V21: `${context.ticket}` has no value";
    let run = orchestrate(&world, &["run", "flow.yaml", "--json"]).exits(2);
    assert_eq!(run.json()["run_id"], Value::Null);
    run.says("`flow.yaml` lacks 1 value of the context")
        .says(place)
        .says("hint: add `--context ticket=…`, or give the file a usual value under `context`");
    orchestrate(&world, &["run", "flow.yaml", "--dry-run"])
        .exits(2)
        .says(place);
    orchestrate(&world, &["validate", "flow.yaml"]).exits(0);
    assert!(!world.project().join(".orchestrate").exists());
    // Of a step that runs alone, only what it names itself must be there.
    let alone = |step: &str| orchestrate(&world, &["run-step", step, "--workflow", "flow.yaml"]);
    alone("A").exits(2).says(place);
    alone("B").exits(1);
    // A provider that no step calls needs nothing, and a value that a step gives replaces a default.
    world.write(
        "p.yaml",
        "context: {deep: {a: 1}}
providers:
  unused: {command: [echo, '${context.none}']}
  used: {command: [echo, '${model}', '${context.mode}'], defaults: {model: '${context.model}'}}
steps:
- {name: A, provider: used, provider_params: {model: m}}
- {name: B, command: [echo, '${context.deep.b}', '${context.mode}'], when: {exists: nothing}}
",
    );
    let run = orchestrate(&world, &["run", "p.yaml"]).exits(2);
    let run = run
        .says("`p.yaml` lacks 2 values of the context")
        .says("p.yaml:4:")
        .says("`${context.mode}` has no value")
        .says("p.yaml:7:")
        .says("`${context.deep.b}` has no value")
        .says("`--context-file FILE` gives values with parts");
    for absent in ["context.none", "context.model"] {
        assert!(!run.stderr.contains(absent), "{}", run.stderr);
    }
    world.write("values.json", "{\"mode\": \"m\", \"deep\": {\"b\": null}}");
    orchestrate(&world, &["run", "p.yaml", "--context-file", "values.json"]).exits(0);
}

#[test]
fn a_file_that_has_come_to_need_a_value_of_the_context_needs_a_new_run() {
    let world = flow("steps: [{name: B, command: ['false']}]");
    failing(&world, 1, &[]);
    world.write("flow.yaml", NEEDS);
    let resume = |args: &[&str]| orchestrate(&world, &[&["resume", "r"], args].concat());
    resume(&["--accept-changed-workflow"])
        .exits(2)
        .says("`${context.ticket}` has no value")
        .says("`uwf orchestrate resume r --force-restart --context KEY=VALUE`");
    resume(&["--force-restart"])
        .exits(2)
        .says("add `--context ticket=…`");
    let given = resume(&["--force-restart", "--context", "ticket=7", "--json"]).exits(1);
    assert_eq!(output_of_a(&world, &id_of(&given)), "7 red\n");
}

#[test]
fn a_new_run_in_place_of_an_old_one_has_its_context_unless_it_is_given_anew() {
    let world = flow(NEEDS);
    failing(&world, 1, &["--context", "ticket=6"]);
    let again = ["resume", "r", "--force-restart", "--json"];
    let given = [&again[..], &["--context", "ticket=7"]].concat();
    let first = orchestrate(&world, &given).exits(1);
    let first = id_of(&first);
    assert_eq!(output_of_a(&world, &first), "7 red\n");
    // A new run has the context of the old one, whatever the file says now, unless it is given anew.
    world.write("flow.yaml", &NEEDS.replace("red", "blue"));
    let again = ["resume", &first, "--force-restart", "--json"];
    let second = orchestrate(&world, &again).exits(1);
    let second = second.says("`colour` of the context from the old one");
    assert_eq!(output_of_a(&world, &id_of(&second)), "7 red\n");
    let given = [&again[..], &["--context", "colour=green"]].concat();
    let third = orchestrate(&world, &given).exits(1);
    assert!(
        !third.stderr.contains("from the old one"),
        "{}",
        third.stderr
    );
    assert_eq!(output_of_a(&world, &id_of(&third)), "7 green\n");
}

#[test]
fn a_run_that_goes_on_keeps_its_context_and_says_so() {
    let world = flow(NEEDS);
    failing(&world, 1, &["--context", "ticket=7"]);
    orchestrate(&world, &["resume", "r", "--context", "colour=blue"])
        .exits(2)
        .says("`uwf orchestrate resume r --force-restart --context KEY=VALUE`");
    world.write("flow.yaml", &NEEDS.replace("red", "blue"));
    orchestrate(&world, &["resume", "r"])
        .exits(2)
        .says("`context` has changed");
    let accept = ["resume", "r", "--accept-changed-workflow", "--from", "A"];
    orchestrate(&world, &accept)
        .exits(1)
        .says("the run keeps the context that it was made with, although the file has changed `colour` of it");
    let output = output_of_a(&world, "r");
    assert!(output.ends_with("7 red\n"), "{output}");
    assert!(!output.contains("blue"), "{output}");
}
