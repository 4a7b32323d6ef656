//! The acceptance tests of the specification, by their numbers: captured output, loops, variables and providers.

use serde_json::json;

use super::runs::{command, ran, run, text_of};
use crate::world::{World, binary, path_with};

/// A step that prints a JSON string of a little more than 1 MB.
const LARGE_JSON: &str = r#"
- name: Large
  command: [sh, -c, "printf '\"'; head -c 1100000 /dev/zero | tr '\\0' x; printf '\"'"]
  output_capture: json
"#;

#[test]
fn test_01_captured_lines_are_an_array() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: List
  command: [printf, "inbox/a.task\ninbox/b c.task\n"]
  output_capture: lines
- name: Use
  command: [printf, "%s", "${steps.List.lines}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    let list = ran.step("List");
    assert_eq!(list["lines"], json!(["inbox/a.task", "inbox/b c.task"]));
    assert_eq!(list["output_capture"], "lines");
    assert_eq!(list["truncated"], false);
    assert!(list.get("output").is_none(), "{list}");
    assert_eq!(ran.output("Use"), r#"["inbox/a.task","inbox/b c.task"]"#);
}

#[test]
fn test_02_captured_json_is_data() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Report
  command: [printf, '{"success": true, "files": ["a.py", "b.py"], "n": 1.0}']
  output_capture: json
- name: Use
  command: [printf, "%s ", "${steps.Report.json.files.1}", "${steps.Report.json.n}", "${steps.Report.json.files}"]
  when: {equals: {left: "${steps.Report.json.success}", right: "true"}}
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    let report = ran.step("Report");
    let data = json!({"success": true, "files": ["a.py", "b.py"], "n": 1.0});
    assert_eq!(report["json"], data);
    assert_eq!(report["output_capture"], "json");
    assert!(report.get("output").is_none(), "{report}");
    assert_eq!(ran.output("Use"), "b.py 1.0 [\"a.py\",\"b.py\"] ");
}

#[test]
fn test_03_a_loop_runs_over_the_lines_of_a_step() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: List
  command: [printf, "one\ntwo words\nthree\n"]
  output_capture: lines
- name: Each
  for_each:
    items_from: steps.List.lines
    as: thing
    steps:
    - name: Say
      command: [printf, "%s", "${loop.index}/${loop.total} ${thing} ${item}"]
"#;
    let flow = pipeline.replace(" ${item}", "");
    let ran = run(&world, &flow, &[]).exits(0);
    let said = ran.step("Each").as_array().unwrap().iter();
    let said: Vec<_> = said.map(|item| &item["Say"]["output"]).collect();
    assert_eq!(said, ["0/3 one", "1/3 two words", "2/3 three"]);
    let of_loop = &ran.state["for_each"]["Each"];
    assert_eq!(of_loop["items"], json!(["one", "two words", "three"]));
    assert_eq!(of_loop["completed_indices"], json!([0, 1, 2]));
    assert_eq!(of_loop["status"], "completed");
    // The usual name of an item is there beside one of the author's.
    run(&world, pipeline, &[]).exits(0);
}

#[test]
fn test_04_a_status_file_is_written_read_and_judged() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Write
  command:
  - printf
  - '{"schema": "status/v1", "run_id": "%s", "timestamp": "2026-11-23T10:30:00Z", "success": true, "exit_code": 0, "outputs": ["artifacts/a.py"]}'
  - ${run.id}
  output_file: artifacts/engineer/status.json
- name: Read
  command: [cat, artifacts/engineer/status.json]
  output_capture: json
- name: Judge
  command: [uwf, orchestrate, status-json, validate, artifacts/engineer/status.json]
  when: {equals: {left: "${steps.Read.json.success}", right: "true"}}
- name: Spoil
  command: [printf, '{"schema": "status/v2", "success": "yes", "outputs": ["/etc/passwd"]}']
  output_file: artifacts/engineer/status.json
- name: JudgeAgain
  command: [uwf, orchestrate, status-json, validate, artifacts/engineer/status.json]
"#;
    let mut command = command(&world, pipeline, &[]);
    command.env("PATH", path_with(binary().parent().unwrap()));
    let ran = ran(&mut command).exits(2);
    assert_eq!(ran.step("Read")["json"]["run_id"], ran.id());
    assert_eq!(ran.step("Judge")["status"], "completed");
    assert_eq!(ran.summary["failed_step"], "JudgeAgain");
    let told = ran.step("JudgeAgain")["error"]["stderr_tail"].to_string();
    for mistake in ["schema", "timestamp", "success", "exit_code", "outputs"] {
        assert!(told.contains(mistake), "{mistake}: {told}");
    }
}

#[test]
fn test_07_the_environment_is_no_namespace_anywhere() {
    let world = World::new();
    let step = |yaml: &str| format!("steps:\n- name: A\n  {yaml}\n");
    let provider = |yaml: &str| step(&format!("provider: claude\n  input_file: p\n  {yaml}"));
    let places = [
        step("command: [echo, \"${env.HOME}\"]"),
        step("command: [\"${env.SHELL}\"]"),
        step("command: echo ${env.HOME}"),
        step("command_override: [echo, \"${env.HOME}\"]"),
        step("wait_for: {glob: \"${env.HOME}/*\"}"),
        step("command: [a]\n  output_file: ${env.HOME}/x"),
        step("command: [a]\n  when: {exists: \"${env.HOME}\"}"),
        step("command: [a]\n  when: {not_exists: \"${env.HOME}\"}"),
        step("command: [a]\n  when: {equals: {left: \"${env.HOME}\", right: x}}"),
        step("command: [a]\n  when: {equals: {left: x, right: \"${env.HOME}\"}}"),
        step("command: [a]\n  depends_on: {required: [\"${env.HOME}\"]}"),
        step("command: [a]\n  depends_on: {optional: [\"${env.HOME}\"]}"),
        provider("provider_params: {model: \"${env.MODEL}\"}"),
        provider("provider_params: {deep: [{model: \"${env.MODEL}\"}]}"),
        step("provider: claude\n  input_file: ${env.HOME}/prompt"),
        step(
            "for_each:\n    items: [a]\n    steps:\n    - name: B\n      command: [echo, \"${env.HOME}\"]",
        ),
        step(
            "for_each:\n    items: [a]\n    steps: [{name: B, command: [a]}]\n    on_item_complete: {success: {move_to: \"${env.HOME}\"}}",
        ),
        format!(
            "providers: {{p: {{command: [\"${{env.HOME}}\"]}}}}\n{}",
            step("provider: p")
        ),
        format!(
            "providers: {{p: {{command: [p, \"${{m}}\"], defaults: {{m: \"${{env.HOME}}\"}}}}}}\n{}",
            step("provider: p")
        ),
    ];
    for pipeline in places {
        world.write("flow.yaml", &pipeline);
        for command in ["validate", "run"] {
            let run = world.uwf(&["orchestrate", command, "flow.yaml"]);
            assert_eq!(run.code, 2, "{command}: {pipeline}\n{}", run.stderr);
            assert!(run.stderr.contains(" V08: "), "{pipeline}\n{}", run.stderr);
        }
    }
    assert!(!world.project().join(".orchestrate").exists());
}

#[test]
fn test_08_template_defaults_and_parameters_compose_the_arguments() {
    let world = World::new();
    world.write("prompts/ask.md", "Look at ${context.topic}\n\"now\"\n");
    let pipeline = r#"
context: {topic: trees, model: large}
providers:
  fake:
    command: [printf, "<%s>", "${PROMPT}", --model, "${model}", "${mode}-${deep}", "${context.topic}", "${run.id}", "$HOME $${x}"]
    defaults: {model: small, mode: fast, deep: {a: 1, b: 2}}
steps:
- name: Usual
  provider: fake
  input_file: prompts/ask.md
- name: Chosen
  provider: fake
  provider_params: {model: "${context.model}", deep: {b: 3}, unused: 1}
  input_file: prompts/ask.md
  output_file: artifacts/answer.md
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    let id = ran.id();
    let prompt = "Look at ${context.topic}\n\"now\"\n";
    let usual =
        format!("<{prompt}><--model><small><fast-{{\"a\":1,\"b\":2}}><trees><{id}><$HOME ${{x}}>");
    assert_eq!(ran.output("Usual"), usual);
    let chosen = usual
        .replace("<small>", "<large>")
        .replace("\"b\":2", "\"b\":3");
    assert_eq!(ran.output("Chosen"), chosen);
    assert_eq!(text_of(&world, "artifacts/answer.md"), chosen);
}

#[test]
fn test_08_a_parameter_without_a_value_starts_nothing() {
    let world = World::new();
    let pipeline = r#"
providers:
  fake: {command: [touch, started, "${model}", "${mode}"]}
steps:
- name: Ask
  provider: fake
"#;
    let ran = run(&world, pipeline, &[]).exits(2);
    let missing = &ran.step("Ask")["error"]["context"]["missing_placeholders"];
    assert_eq!(missing, &json!(["mode", "model"]));
    assert!(!world.project().join("started").exists());
}

#[test]
fn test_09_an_override_replaces_the_template_entirely() {
    let world = World::new();
    world.write("p.md", "the prompt");
    let pipeline = r#"
providers:
  fake: {command: ["false", "${PROMPT}"], defaults: {model: small}}
steps:
- name: Bare
  command_override: [printf, "%s|", special, "${run.timestamp_utc}"]
- name: OfProvider
  provider: fake
  provider_params: {mode: fast}
  input_file: p.md
  command_override: [printf, "%s|", "${PROMPT}", "${mode}"]
- name: NoDefaults
  provider: fake
  input_file: p.md
  command_override: [printf, "${model}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(2);
    let time = ran.id().split_once('-').unwrap().0;
    assert_eq!(ran.output("Bare"), format!("special|{time}|"));
    assert_eq!(ran.output("OfProvider"), "the prompt|fast|");
    assert_eq!(ran.summary["failed_step"], "NoDefaults");
    let warning = "W02: ";
    assert_eq!(
        ran.run.stderr.matches(warning).count(),
        3,
        "{}",
        ran.run.stderr
    );
}

#[test]
fn test_12_a_pointer_leads_to_a_nested_array() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Report
  command: [printf, '{"files": ["a.py", {"b": 1}, null], "deep": {"list": [[7], [8, 9]]}}']
  output_capture: json
- name: Files
  for_each:
    items_from: steps.Report.json.files
    steps:
    - name: Say
      command: [printf, "%s", "${item}"]
- name: Deep
  for_each:
    items_from: steps.Report.json.deep.list.1
    steps:
    - name: Say
      command: [printf, "%s", "${item}"]
- name: Wrong
  for_each:
    items_from: steps.Report.json.deep
    steps:
    - name: Say
      command: ["true"]
"#;
    let ran = run(&world, pipeline, &[]).exits(2);
    let said = |name: &str| {
        let items = ran.step(name).as_array().unwrap().iter();
        items
            .map(|item| item["Say"]["output"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(said("Files"), ["a.py", "{\"b\":1}", "null"]);
    assert_eq!(said("Deep"), ["8", "9"]);
    assert_eq!(ran.state["error"]["type"], "invalid_reference");
    assert_eq!(ran.summary["failed_step"], "Wrong");
}

#[test]
fn test_13_json_of_more_than_1_mb_fails_with_exit_code_2() {
    let world = World::new();
    let ran = run(&world, &format!("steps:{LARGE_JSON}"), &[]).exits(2);
    assert_eq!(ran.failure("Large"), (2, "json_overflow"));
    assert_eq!(ran.step("Large")["status"], "failed");
    assert_eq!(ran.state["status"], "failed");
}

#[test]
fn test_14_the_same_step_succeeds_if_it_may_be_no_json() {
    let world = World::new();
    let allowed = format!("steps:{LARGE_JSON}  allow_parse_error: true\n");
    let ran = run(&world, &allowed, &[]).exits(0);
    let large = ran.step("Large");
    assert_eq!(large["status"], "completed");
    assert_eq!(large["truncated"], true);
    assert_eq!(ran.output("Large").len(), 8192);
    assert!(large.get("json").is_none());
    assert_eq!(large["debug"]["json_parse_error"]["reason"], "overflow");
    assert_eq!(ran.log("Large.stdout").len(), 1_100_002);
}
