//! Loops: nesting, frozen items, failures, and the files of items.

use std::fs;

use serde_json::{Value, json};

use super::runs::{Ran, resume, run, text_of};
use crate::world::World;

/// Returns a field of a step of the body, for each item of a loop.
fn of_items(items: &Value, step: &str, field: &str) -> Vec<Value> {
    let items = items.as_array().unwrap().iter();
    items.map(|item| item[step][field].clone()).collect()
}

fn project_has(world: &World, name: &str) -> bool {
    world.project().join(name).exists()
}

#[test]
fn nested_loops_see_both_items_and_run_in_order() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: A
  for_each:
    items: [x, y]
    as: o
    steps:
    - name: Before
      command: [printf, "%s", "${o}"]
    - name: B
      for_each:
        items: [1, 2, 3]
        as: i
        steps:
        - name: C
          command: [sh, -c, 'printf "%s " "$0" | tee -a log', "${o}${i}-${loop.parent.index}.${loop.index}/${loop.total}-${steps.Before.output}-$ORCHESTRATE_STEP"]
"#;
    let with_key = pipeline
        .replace("\"$0\" | tee", "\"$0$ORCHESTRATE_STEP\" | tee")
        .replace("-$ORCHESTRATE_STEP\"]", "-\"]");
    let ran = run(&world, &with_key, &[]).exits(0);
    let expected = "x1-0.0/3-x-A[0].B[0].C x2-0.1/3-x-A[0].B[1].C x3-0.2/3-x-A[0].B[2].C \
                    y1-1.0/3-y-A[1].B[0].C y2-1.1/3-y-A[1].B[1].C y3-1.2/3-y-A[1].B[2].C ";
    assert_eq!(text_of(&world, "log"), expected);
    let last = of_items(&ran.step("A")[1]["B"], "C", "output");
    assert_eq!(last[2], "y3-1.2/3-y-A[1].B[2].C ");
    assert_eq!(
        ran.log("A%5B1%5D.B%5B2%5D.C.stdout"),
        b"y3-1.2/3-y-A[1].B[2].C "
    );
}

#[test]
fn a_step_of_a_body_hides_a_step_of_the_same_name_outside() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Same
  command: [printf, outer]
- name: Only
  command: [printf, seen]
- name: Each
  for_each:
    items: [1, 2]
    steps:
    - name: Same
      command: [printf, "inner ${item}"]
    - name: Use
      command: [printf, "%s", "${steps.Same.output}, ${steps.Only.output}"]
- name: After
  command: [printf, "%s", "${steps.Same.output}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    let used = of_items(ran.step("Each"), "Use", "output");
    assert_eq!(used, ["inner 1, seen", "inner 2, seen"]);
    assert_eq!(ran.output("After"), "outer");
}

#[test]
fn items_are_frozen_when_the_loop_starts() {
    let world = World::new();
    world.write("in/1", "");
    let pipeline = r#"
steps:
- name: List
  command: [ls, in]
  output_capture: lines
- name: Each
  for_each:
    items_from: steps.List.lines
    steps:
    - name: More
      command: [touch, "in/${item}1"]
- name: Count
  command: [printf, "%s %s %s", "${steps.Each.count}", "${steps.Each.failed}", "${steps.Each.exit_code}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("Count"), "1 0 0");
    assert_eq!(fs::read_dir(world.project().join("in")).unwrap().count(), 2);
}

#[test]
fn a_loop_over_nothing_is_completed() {
    let world = World::new();
    let pipeline = "steps:\n- name: Each\n  for_each: {items: [], steps: [{name: A, command: [touch, a]}]}\n- name: B\n  command: [printf, \"%s\", \"${steps.Each.count}\"]\n";
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.step("Each"), &json!([]));
    assert_eq!(ran.output("B"), "0");
    assert_eq!(ran.state["for_each"]["Each"]["status"], "completed");
    assert!(!project_has(&world, "a"));
}

#[test]
fn a_reference_that_leads_to_no_list_is_an_error_with_context() {
    let world = World::new();
    let broken = |json: &str| {
        let pipeline = format!(
            "steps:\n- name: Report\n  command: [printf, '{json}']\n  output_capture: json\n- name: Each\n  for_each: {{items_from: steps.Report.json.files, steps: [{{name: A, command: [touch, a]}}]}}\n"
        );
        let ran = run(&world, &pipeline, &[]).exits(2);
        assert_eq!(ran.state["error"]["type"], "invalid_reference");
        ran.state["error"].to_string()
    };
    for json in ["{}", r#"{"files": "a"}"#, r#"{"files": null}"#, "3"] {
        let error = broken(json);
        assert!(error.contains("steps.Report.json.files"), "{error}");
    }
    assert!(!project_has(&world, "a"));
}

/// A loop whose second item fails, and what a run does with that.
fn failing_loop(rest: &str) -> String {
    format!(
        r#"
steps:
- name: Each
  for_each:
    items: [a, b, c]
    steps:
    - name: Work
      command: [sh, -c, 'printf "%s " "$0" >> log; test "$0" != b || test -e mended || exit 7', "${{item}}"]
    - name: Then
      command: [sh, -c, 'printf "%s+ " "$0" >> log', "${{item}}"]
{rest}
"#
    )
}

#[test]
fn a_failure_in_a_loop_is_the_failure_of_the_run() {
    let world = World::new();
    let ran = run(
        &world,
        &failing_loop("- name: After\n  command: [touch, after]"),
        &[],
    )
    .exits(7);
    assert_eq!(text_of(&world, "log"), "a a+ b ");
    assert_eq!(ran.summary["failed_step"], "Each[1].Work");
    assert_eq!(of_items(ran.step("Each"), "Work", "exit_code"), [0, 7]);
    assert_eq!(
        ran.state["for_each"]["Each"]["completed_indices"],
        json!([0])
    );
    assert!(!project_has(&world, "after"));
    // Nothing was closed: the run goes on at the step that failed.
    world.write("mended", "");
    let ran = resume(&world, ran.id(), &[]).exits(0);
    assert_eq!(text_of(&world, "log"), "a a+ b b b+ c c+ ");
    assert!(project_has(&world, "after"));
    assert_eq!(ran.state["for_each"]["Each"]["failed"], 0);
}

#[test]
fn a_handler_of_the_loop_takes_the_failure_of_an_item() {
    let world = World::new();
    let rest = "  on: {failure: {goto: Rescue}}\n- name: Never\n  command: [touch, never]\n- name: Rescue\n  command: [printf, \"%s %s\", \"${steps.Each.exit_code}\", \"${steps.Each.failed}\"]";
    let ran = run(&world, &failing_loop(rest), &[]).exits(0);
    assert_eq!(ran.output("Rescue"), "7 1");
    assert_eq!(text_of(&world, "log"), "a a+ b ");
    let of_loop = &ran.state["for_each"]["Each"];
    assert_eq!(of_loop["exit_code"], 7);
    assert_eq!(of_loop["status"], "failed");
    assert!(!project_has(&world, "never"));
}

#[test]
fn a_handler_in_the_body_takes_the_failure_of_a_step() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Each
  for_each:
    items: [a, b]
    steps:
    - name: Work
      command: [test, "${item}", "=", b]
      on: {success: {goto: Good}, failure: {goto: Bad}}
    - name: Good
      command: [sh, -c, 'printf "good %s " "$0" >> log', "${item}"]
      on: {always: {goto: Last}}
    - name: Bad
      command: [sh, -c, 'printf "bad %s %s " "$0" "$1" >> log', "${item}", "${steps.Work.exit_code}"]
    - name: Last
      command: ["true"]
"#;
    run(&world, pipeline, &[]).exits(0);
    assert_eq!(text_of(&world, "log"), "bad a 1 good b ");
}

#[test]
fn with_continue_the_next_item_runs_and_the_loop_has_code_1() {
    let world = World::new();
    let rest = "- name: After\n  command: [printf, \"%s %s %s\", \"${steps.Each.exit_code}\", \"${steps.Each.count}\", \"${steps.Each.failed}\"]";
    let ran = run(&world, &failing_loop(rest), &["--on-error", "continue"]).exits(0);
    assert_eq!(text_of(&world, "log"), "a a+ b c c+ ");
    assert_eq!(ran.output("After"), "1 3 1");
    assert_eq!(ran.summary["failed_steps"], json!(["Each"]));
}

#[test]
fn end_in_a_body_ends_the_run() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Each
  for_each:
    items: [a, b]
    steps:
    - name: Work
      command: [sh, -c, 'printf "%s " "$0" >> log', "${item}"]
      on: {success: {goto: _end}}
    - name: Never
      command: [touch, never]
- name: After
  command: [touch, after]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.state["status"], "completed");
    assert_eq!(text_of(&world, "log"), "a ");
    assert!(!project_has(&world, "never") && !project_has(&world, "after"));
}

#[test]
fn an_item_that_leaves_by_end_has_not_failed_whatever_comes_after_the_step() {
    for after in ["", "    - {name: Never, command: [touch, never]}\n"] {
        for (word, end) in [
            ("true", "success"),
            ("false", "failure"),
            ("false", "always"),
        ] {
            let world = World::new();
            world.write("x.task", "");
            let pipeline = format!(
                "steps:
- name: L
  for_each:
    items: [x.task, y.task]
    on_item_complete: {{success: {{move_to: good}}, failure: {{move_to: bad}}}}
    steps:
    - {{name: A, command: ['{word}'], on: {{{end}: {{goto: _end}}}}}}
{after}"
            );
            let ran = run(&world, &pipeline, &[]).exits(0);
            assert!(
                project_has(&world, "good/x.task"),
                "{word}, {end}, {after:?}"
            );
            ran.run
                .says("L[0]: the item succeeded, and `x.task` was moved to `good`");
        }
    }
}

/// Runs a loop over task files in which that of `bad` fails, and moves each where it belongs.
fn moving(world: &World, args: &[&str]) -> Ran {
    let pipeline = r#"
steps:
- name: Each
  for_each:
    items: [in/good.task, in/bad.task, in/missing.task, not a file, 7]
    steps:
    - name: Work
      command: [sh, -c, 'case "$0" in *bad*) test -e mended;; esac', "${item}"]
    on_item_complete:
      success: {move_to: "done/${loop.index}"}
      failure: {move_to: failed}
"#;
    run(world, pipeline, args)
}

#[test]
fn the_file_of_an_item_is_moved_and_the_move_is_recorded() {
    let world = World::new();
    world.write("in/good.task", "good");
    world.write("in/bad.task", "bad");
    world.write("failed/bad.task", "older");
    let ran = moving(&world, &["--on-error", "continue"]).exits(0);
    assert_eq!(text_of(&world, "done/0/good.task"), "good");
    assert_eq!(text_of(&world, "failed/bad.task"), "older");
    assert_eq!(text_of(&world, "failed/bad.task.1"), "bad");
    let lifecycle = |index: usize| ran.step("Each")[index]["lifecycle"].clone();
    assert_eq!(lifecycle(0)["result"], "success");
    assert_eq!(lifecycle(0)["action_applied"], true);
    assert_eq!(lifecycle(1)["result"], "failure");
    assert_eq!(lifecycle(4), Value::Null);
    for index in [2, 3] {
        let lifecycle = lifecycle(index);
        assert_eq!(lifecycle["result"], "success", "{lifecycle}");
        assert_eq!(lifecycle["action_applied"], false, "{lifecycle}");
        assert!(lifecycle["error"].is_string(), "{lifecycle}");
    }
    assert_eq!(ran.state["for_each"]["Each"]["failed"], 1);
}

#[test]
fn nothing_is_moved_of_an_item_that_stops_the_run() {
    let world = World::new();
    world.write("in/good.task", "good");
    world.write("in/bad.task", "bad");
    let ran = moving(&world, &[]).exits(1);
    assert!(project_has(&world, "done/0/good.task"));
    assert!(project_has(&world, "in/bad.task"));
    world.write("mended", "");
    let ran = resume(&world, ran.id(), &[]).exits(0);
    assert!(project_has(&world, "done/1/bad.task"));
    assert!(!project_has(&world, "failed"));
    assert_eq!(ran.state["for_each"]["Each"]["failed"], 0);
}

#[test]
fn an_item_reaches_the_program_as_it_is() {
    let world = World::new();
    let nasty = [
        "a'b\"c",
        "$(rm -rf x) `id`",
        "two\nlines",
        "-n",
        "--",
        "*",
        "",
        "ü\u{1b}[2J",
        "${context.a}",
        "$$ \\",
    ];
    world.write("items.json", &json!(nasty).to_string());
    let pipeline = r#"
steps:
- name: Items
  command: [cat, items.json]
  output_capture: json
- name: Each
  for_each:
    items_from: steps.Items.json
    steps:
    - name: Say
      command: [printf, "<%s>", "${item}", "x${item}y"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    let said = of_items(ran.step("Each"), "Say", "output");
    let expected: Vec<String> = nasty
        .iter()
        .map(|item| format!("<{item}><x{item}y>"))
        .collect();
    assert_eq!(said, expected);
    let written = "steps:\n- name: A\n  for_each:\n    items: [x]\n    steps:\n    - name: WriteStatus\n      command: [echo, '{\"task\": \"${item}\"}']\n";
    let ran = run(&world, written, &[]).exits(0);
    assert!(ran.run.stderr.contains(" W03: "), "{}", ran.run.stderr);
}

#[test]
fn a_loop_nests_to_depth_8_and_no_deeper() {
    let world = World::new();
    let nested = |depth: usize| {
        let mut step = json!({"name": "Leaf", "command": ["printf", "%s", "${loop.index}"]});
        for level in (0..depth).rev() {
            step =
                json!({"name": format!("L{level}"), "for_each": {"items": [1], "steps": [step]}});
        }
        json!({"steps": [step]}).to_string()
    };
    let ran = run(&world, &nested(8), &[]).exits(0);
    assert!(ran.step("L0").to_string().contains("\"output\":\"0\""));
    world.write("flow.yaml", &nested(9));
    world
        .uwf(&["orchestrate", "run", "flow.yaml"])
        .exits(2)
        .says(" V17: ");
}

#[test]
fn a_loop_under_way_says_that_it_keeps_its_items_and_how_it_gets_new_ones() {
    let flow = |items: &str| {
        format!(
            "steps:\n- name: L\n  for_each:\n    items: {items}\n    steps:\n    - {{name: S, command: [sh, -c, 'test -e ready || test $0 = 1 && echo $0 >> log', '${{item}}']}}\n"
        )
    };
    let log_after = |from: &[&str]| {
        let world = World::new();
        let ran = run(&world, &flow("[1, 2, 3]"), &[]).exits(1);
        world.write("flow.yaml", &flow("[1, 3]"));
        world.write("ready", "");
        let resume =
            |more: &[&str]| world.uwf(&[&["orchestrate", "resume", ran.id()], more].concat());
        resume(&[])
            .exits(2)
            .says("loop `L` keeps its items then, and `uwf orchestrate resume")
            .says("--accept-changed-workflow --from L` begins it anew");
        let resumed = resume(&[&["--accept-changed-workflow"], from].concat()).exits(0);
        (text_of(&world, "log").replace('\n', " "), resumed.stderr)
    };
    let kept = "loop `L` keeps the items that it began with, although the file has changed them: `--from L` begins it anew";
    let (log, said) = log_after(&[]);
    assert!(log == "1 2 3 " && said.contains(kept), "{log}: {said}");
    let (log, said) = log_after(&["--from", "L"]);
    assert!(log == "1 1 3 " && !said.contains(kept), "{log}: {said}");
}
