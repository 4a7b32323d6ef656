//! `orchestrate validate` and `orchestrate graph`: the files of pipelines, and the program of that name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::world::{Run, World, binary};

const FLOW: &str = "name: review
steps:
- name: Find
  command: [find, inbox, -name, '*.task']
  output_capture: lines
  on: {failure: {goto: _end}}
- name: Each
  for_each:
    items_from: steps.Find.lines
    steps:
    - name: Ask
      provider: claude
      input_file: ${item}
";

const BROKEN: &str = "steps:
- name: A
  comand: [x]
  on: {success: {goto: B}}
- name: A
  command: [echo, '${env.HOME}']
  output_file: ../out
";

/// The file of the specification's own example, word for word.
fn example() -> PathBuf {
    let file = "../pipeline/tests/files/multi_agent_feature_dev.yaml";
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn orchestrate(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["orchestrate"], args].concat())
}

#[test]
fn a_valid_file_is_told_with_its_steps() {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    let run = orchestrate(&world, &["validate", "flow.yaml"]).exits(0);
    assert_eq!(
        run.json(),
        json!({"name": "review", "valid": true, "steps": ["Find", "Each", "Each[].Ask"]})
    );
    let run = orchestrate(&world, &["validate", "flow.yaml", "--format", "text"]).exits(0);
    assert_eq!(
        run.stdout,
        "`review` is valid; its 3 steps: Find, Each, Each[].Ask\n"
    );
}

#[test]
fn all_mistakes_are_told_at_once_with_their_places() {
    let world = World::new();
    world.write("flow.yaml", BROKEN);
    let run = orchestrate(&world, &["validate", "flow.yaml", "--format", "text"]).exits(2);
    let causes: Vec<&str> = run
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("cause: "))
        .map(|line| line.split(": ").take(2).last().unwrap())
        .collect();
    assert_eq!(causes, ["V06", "V02", "V07", "V05", "V08", "V11"]);
    assert_eq!(run.stdout, "");
    let run = run.says("error: `flow.yaml` has 6 mistakes");
    run.says("flow.yaml:3:3: V02: unknown key `comand` in step `A` (did you mean `command`?)");
}

#[test]
fn mistakes_are_data_too() {
    let world = World::new();
    world.write("flow.yaml", BROKEN);
    let run = orchestrate(&world, &["validate", "flow.yaml"]).exits(2);
    let found = run.json();
    assert_eq!(found["valid"], json!(false));
    let expected = json!({"file": "flow.yaml", "line": 3, "column": 3, "code": "V02",
        "message": "unknown key `comand` in step `A`", "hint": "did you mean `command`?"});
    assert_eq!(found["problems"][1], expected);
}

#[test]
fn a_step_may_start_a_workflow() {
    let world = World::new();
    let flow = "steps:\n- {name: A, workflow: {name: flows/a.yaml, task: look}}\n- {name: B, command: [echo, '${steps.A.json.plan}']}\n";
    world.write("flow.yaml", flow);
    orchestrate(&world, &["validate", "flow.yaml"]).exits(0);
    let graph = orchestrate(&world, &["graph", "flow.yaml", "--format", "mermaid"]).exits(0);
    assert!(graph.stdout.contains("A (workflow flows/a.yaml)"));
    world.write("flow.yaml", &flow.replace("look}", "look}, retries: 2"));
    let run = orchestrate(&world, &["validate", "flow.yaml", "--format", "text"]).exits(2);
    run.says("V06: step `A` starts a workflow, so it has no `retries`");
}

#[test]
fn nothing_is_made_by_looking_at_a_file() {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    let before = fs::read_dir(world.project()).unwrap().count();
    orchestrate(&world, &["validate", "flow.yaml"]).exits(0);
    orchestrate(&world, &["graph", "flow.yaml"]).exits(0);
    assert_eq!(fs::read_dir(world.project()).unwrap().count(), before);
    assert!(!world.root().exists());
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let world = World::new();
    let validate = |file: &str| orchestrate(&world, &["validate", file, "--format", "text"]);
    validate("nowhere.yaml")
        .exits(2)
        .says("there is no such file");
    fs::create_dir(world.project().join("folder")).unwrap();
    validate("folder").exits(2).says("cannot read `folder`");
    world.write("large.yaml", &"# x\n".repeat(5 << 18));
    validate("large.yaml")
        .exits(2)
        .says("large.yaml:1:1: V01: the file is larger than 4 MiB");
    fs::write(world.project().join("latin1.yaml"), b"name: caf\xe9\n").unwrap();
    validate("latin1.yaml")
        .exits(2)
        .says("latin1.yaml:1:10: V01: the file is not UTF-8");
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    let world = World::new();
    world.write("flow.yaml", "steps:\n- name: A\n  command: ls | wc\n");
    let run = orchestrate(&world, &["validate", "flow.yaml"]).exits(0);
    assert_eq!(run.json()["warnings"][0]["code"], json!("W01"));
    run.says("warning: flow.yaml:3:12: W01:");
}

#[test]
fn mistakes_and_warnings_are_counted_by_themselves() {
    let world = World::new();
    const WARNED: &str = "  env: {A: '${run.id}'}\n";
    const WRONG: &str = "  on: {success: {goto: Nowhere}}\n";
    let step =
        |name: &str, more: &[&str]| format!("- name: {name}\n  command: [a]\n{}", more.concat());
    let check = |steps: &[String], code: i32, said: &str| {
        world.write("flow.yaml", &format!("steps:\n{}", steps.concat()));
        let text = orchestrate(&world, &["validate", "flow.yaml", "--format", "text"]).exits(code);
        let shown = format!("{}{}", text.stdout, text.stderr);
        assert!(shown.lines().any(|line| line == said), "{said}\n{shown}");
        let data = orchestrate(&world, &["validate", "flow.yaml"])
            .exits(code)
            .json();
        let codes = |kind: &str| {
            let found = data[kind].as_array().into_iter().flatten();
            let codes = found.map(|one| one["code"].as_str().unwrap().to_owned());
            codes.collect::<Vec<_>>()
        };
        let lines = text.stderr.lines();
        let warned = lines.filter(|line| line.starts_with("warning: ")).count();
        assert_eq!(warned, codes("warnings").len(), "{}", text.stderr);
        (codes("problems"), codes("warnings"))
    };
    let (none, v07, w07) = (Vec::<String>::new(), "V07", "W07");
    let valid = "`flow` is valid; its";
    let one = [step("A", &[])];
    assert_eq!(
        check(&one, 0, &format!("{valid} step: A")),
        (none.clone(), none.clone())
    );
    let one = [step("A", &[WARNED])];
    let said = "`flow` is valid, with 1 warning; its step: A";
    assert_eq!(check(&one, 0, said), (none.clone(), vec![w07.to_owned()]));
    let two = [step("A", &[WARNED]), step("B", &[WARNED])];
    let said = "`flow` is valid, with 2 warnings; its 2 steps: A, B";
    assert_eq!(check(&two, 0, said).1.len(), 2);
    let wrong = [step("A", &[WRONG])];
    let said = "error: `flow.yaml` has 1 mistake";
    assert_eq!(check(&wrong, 2, said), (vec![v07.to_owned()], none));
    let both = [step("A", &[WRONG, WARNED])];
    let said = "error: `flow.yaml` has 1 mistake and 1 warning";
    assert_eq!(
        check(&both, 2, said),
        (vec![v07.to_owned()], vec![w07.to_owned()])
    );
    let more = [step("A", &[WRONG, WARNED]), step("B", &[WRONG, WARNED])];
    let said = "error: `flow.yaml` has 2 mistakes and 2 warnings";
    let found = check(&more, 2, said);
    assert_eq!((found.0.len(), found.1.len()), (2, 2));
}

#[test]
fn the_example_of_the_specification_is_valid() {
    let world = World::new();
    let file = example();
    let run = orchestrate(&world, &["validate", file.to_str().unwrap()]).exits(0);
    assert_eq!(run.json()["name"], json!("multi_agent_feature_dev"));
}

#[test]
fn a_graph_has_three_languages() {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    let graph = |format: &str| orchestrate(&world, &["graph", "flow.yaml", "--format", format]);
    let mermaid = graph("mermaid").exits(0).stdout;
    assert!(
        mermaid.starts_with("flowchart TD\n  n0([\"start\"])\n"),
        "{mermaid}"
    );
    assert_eq!(
        orchestrate(&world, &["graph", "flow.yaml"]).exits(0).stdout,
        mermaid
    );
    let dot = graph("dot").exits(0).stdout;
    assert!(
        dot.contains("\"Each\" -> \"Each[].Ask\" [label=\"each item\"];"),
        "{dot}"
    );
    let data = graph("json").exits(0).json();
    let expected = json!({"from": "Find", "to": "_end", "on": ["failure"]});
    assert!(
        data["edges"].as_array().unwrap().contains(&expected),
        "{data}"
    );
    graph("svg").exits(2);
    world.write("flow.yaml", BROKEN);
    graph("dot").exits(2).says("V02");
}

#[test]
fn a_status_file_is_judged() {
    let world = World::new();
    let judge = |format: &str| {
        let args = ["status-json", "validate", "status.json", "--format", format];
        orchestrate(&world, &args)
    };
    world.write(
        "status.json",
        r#"{"schema": "status/v1", "timestamp": "2026-11-23T10:30:00Z", "success": true, "exit_code": 0}"#,
    );
    assert_eq!(
        judge("json").exits(0).json(),
        json!({"file": "status.json", "valid": true})
    );
    world.write(
        "status.json",
        r#"{"schema": "status/v1", "timestamp": "now", "success": true, "outputs": ["../x"]}"#,
    );
    let run = judge("text").exits(2);
    for problem in [
        "exit_code: it is required",
        "timestamp: it must be",
        "outputs[0]: it must be a path",
    ] {
        assert!(
            run.stderr.contains(&format!("cause: {problem}")),
            "{}",
            run.stderr
        );
    }
    assert_eq!(
        judge("json").exits(2).json()["problems"][0]["path"],
        json!("exit_code")
    );
    fs::remove_file(world.project().join("status.json")).unwrap();
    judge("text").exits(2).says("there is no such file");
}

#[test]
fn the_binary_is_orchestrate_when_it_is_called_so() {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    let program = world.project().join("orchestrate");
    std::os::unix::fs::symlink(binary(), &program).unwrap();
    let run = |args: &[&str]| -> Run {
        let mut command = Command::new(&program);
        command
            .args(args)
            .current_dir(world.project())
            .env_clear()
            .envs(world.environment())
            .stdin(Stdio::null());
        command.output().unwrap().into()
    };
    for args in [
        &["validate", "flow.yaml"][..],
        &["graph", "flow.yaml", "--format", "dot"],
        &["validate", "nowhere.yaml"],
    ] {
        let (ours, theirs) = (orchestrate(&world, args), run(args));
        assert_eq!(ours.stdout, theirs.stdout, "{args:?}");
        assert_eq!((ours.code, &ours.stderr), (theirs.code, &theirs.stderr));
    }
    run(&["thread", "list"]).exits(2);
    run(&[]).exits(2).says("Usage: orchestrate");
}

#[test]
fn every_pipeline_of_the_manual_is_valid() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/orchestrate.md");
    let manual = fs::read_to_string(manual).unwrap();
    let blocks = manual.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split("\n```").next().unwrap());
    let whole: Vec<&str> = blocks.filter(|block| block.contains("steps:\n")).collect();
    assert!(whole.len() >= 2, "{}", whole.len());
    for block in whole {
        let world = World::new();
        world.write("flow.yaml", block);
        let run = orchestrate(&world, &["validate", "flow.yaml"]).exits(0);
        assert_eq!(run.stderr, "", "{block}");
    }
}

/// Returns files with a key that is not ours, and what is said of each. The function makes a file with more keys of its step.
fn cases(step: &dyn Fn(&str) -> String) -> Vec<(String, &'static str)> {
    vec![
        (
            step("depends: [B]"),
            "write `depends_on: {required: [FILE]}`",
        ),
        (
            step("depends_on: [B]"),
            "its keys are `required`, `optional`, `inject`",
        ),
        (
            step("script: ls"),
            "write `command: [\"bash\", \"-c\", \"…\"]`",
        ),
        (
            step("run: ls"),
            "write `command: [\"bash\", \"-c\", \"…\"]`",
        ),
        (step("stdout: f"), "write `output_file: FILE`"),
        (step("capture: json"), "write `output_capture: text`"),
        (
            step("max_retries: 2"),
            "write `retries: {max: 2, delay_ms: 1000}`",
        ),
        (step("timeout: 5"), "write `timeout_sec: SECONDS`"),
        (step("when: always"), "a step without `when` is always done"),
        (step("when: failure()"), "on: {failure: {goto: STEP}}"),
        (step("when: a == b"), "write `equals: {left: …, right: …}`"),
        (step("if: x"), "write `when: {equals: {left: …, right: …}}`"),
        (
            step("goto: B"),
            "`goto` is a key of `on.success`, `on.failure` and `on.always`",
        ),
        (step("on: {failure: B}"), "its keys are `goto`"),
        (
            step("items: [1]"),
            "`items` is a key of `for_each` of a step",
        ),
        (
            step("strict_flow: false"),
            "`strict_flow` is a key of the file, beside `steps`",
        ),
        (
            format!("retries: 3\n{}", step("agent: a")),
            "`retries` is a key of a step",
        ),
        (
            format!("env: {{A: b}}\n{}", step("agent: a")),
            "each step has an `env` of its own",
        ),
        (
            "jobs: [a]\nsteps: [{name: A, command: [a]}]".to_owned(),
            "write `steps`",
        ),
        (step("comand: [a]"), "did you mean `command`?"),
    ]
}

#[test]
fn keys_of_other_programs_and_of_other_places_lead_to_ours() {
    let world = World::new();
    let step = |rest: &str| format!("steps:\n- {{name: A, command: [a], {rest}}}\n");
    for (flow, hint) in cases(&step) {
        world.write("flow.yaml", &flow);
        let run = orchestrate(&world, &["validate", "flow.yaml", "--format", "text"]).exits(2);
        assert!(run.stderr.contains(hint), "{flow}{hint}\n{}", run.stderr);
    }
}

#[test]
fn of_very_many_mistakes_the_first_hundred_and_their_number_are_told() {
    let world = World::new();
    let keys: String = (0..250).map(|n| format!("unknown{n}: 1\n")).collect();
    world.write(
        "p.yaml",
        &format!("{keys}steps: [{{name: A, command: [a]}}]\n"),
    );
    let validate = |more: &[&str]| {
        let words = ["orchestrate", "validate", "p.yaml"];
        world.uwf(&[&words[..], more].concat()).exits(2)
    };
    let said = validate(&[])
        .says("`p.yaml` has 250 mistakes")
        .says("and 150 more mistakes");
    assert_eq!(said.stderr.matches("V02").count(), 100);
    let data: serde_json::Value =
        serde_json::from_str(&validate(&["--format", "json"]).stdout).unwrap();
    assert_eq!(data["problems"].as_array().unwrap().len(), 100);
    assert_eq!(data["more"], 150);
}
