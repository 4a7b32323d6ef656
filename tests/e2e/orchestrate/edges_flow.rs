//! The order of execution: handlers, jumps, guards, conditions, and what a failure ends.

use serde_json::json;

use super::runs::{resume, run, text_of};
use crate::world::World;

/// Appends its argument to a file of the workspace.
const LOG: &str = r#"command: [sh, -c, 'printf "%s " "$0" >> log'"#;

#[test]
fn a_failed_step_ends_the_run_with_its_exit_code_and_state() {
    let world = World::new();
    let pipeline = "steps:\n- name: A\n  command: [sh, -c, 'echo out; echo err >&2; exit 44']\n- name: B\n  command: [touch, b]\n";
    let ran = run(&world, pipeline, &[]).exits(44);
    assert_eq!(ran.summary["status"], "failed");
    assert_eq!(ran.summary["failed_step"], "A");
    assert_eq!(ran.state["status"], "failed");
    assert_eq!(ran.step("A")["status"], "failed");
    assert_eq!(ran.failure("A"), (44, "command_failed"));
    let error = &ran.step("A")["error"];
    assert_eq!(error["stdout_tail"], json!(["out"]));
    assert_eq!(error["stderr_tail"], json!(["err"]));
    assert_eq!(ran.state["error"], *error);
    assert!(ran.state["steps"].get("B").is_none());
    assert!(!world.project().join("b").exists());
}

#[test]
fn without_strict_flow_the_run_goes_on_and_names_what_failed() {
    let world = World::new();
    let steps = format!("steps:\n- name: A\n  command: [\"false\"]\n- name: B\n  {LOG}, B]\n");
    for (pipeline, args) in [
        (format!("strict_flow: false\n{steps}"), vec![]),
        (steps.clone(), vec!["--on-error", "continue"]),
    ] {
        let ran = run(&world, &pipeline, &args).exits(0);
        assert_eq!(ran.summary["status"], "completed");
        assert_eq!(ran.summary["failed_steps"], json!(["A"]));
        assert_eq!(ran.state["status"], "completed");
        assert_eq!(ran.step("A")["status"], "failed");
    }
    assert_eq!(text_of(&world, "log"), "B B ");
    run(&world, &steps, &[]).exits(1);
}

#[test]
fn always_wins_over_success_and_failure() {
    let world = World::new();
    let pipeline = format!(
        r#"
steps:
- name: Fails
  command: ["false"]
  on: {{failure: {{goto: Wrong}}, always: {{goto: Works}}}}
- name: Wrong
  {LOG}, Wrong]
- name: Works
  command: ["true"]
  on: {{success: {{goto: Wrong}}, always: {{goto: Last}}}}
- name: Never
  {LOG}, Never]
- name: Last
  {LOG}, Last]
"#
    );
    run(&world, &pipeline, &[]).exits(0);
    assert_eq!(text_of(&world, "log"), "Last ");
}

#[test]
fn end_completes_the_run_also_after_a_failure() {
    let world = World::new();
    let pipeline = "steps:\n- name: A\n  command: [sh, -c, 'exit 9']\n  on: {failure: {goto: _end}}\n- name: B\n  command: [touch, b]\n";
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.state["status"], "completed");
    assert_eq!(ran.failure("A"), (9, "command_failed"));
    assert!(!world.project().join("b").exists());
}

#[test]
fn a_jump_back_runs_a_step_again_and_its_last_result_counts() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Try
  command: [sh, -c, 'echo x >> tries; printf %s $(wc -l < tries)']
- name: Enough
  command: [test, "${steps.Try.output}", -ge, "3"]
  on: {failure: {goto: Try}}
- name: Say
  command: [printf, "%s", "${steps.Try.output}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("Say"), "3");
    assert_eq!(ran.step("Try")["visit_count"], 3);
    assert_eq!(ran.state["step_visits"]["Try"], 3);
    // The jumps back count, the moves to the next step do not.
    assert_eq!(ran.state["transition_count"], 2);
    for (log, text) in [("Try", "1"), ("Try~2", "2"), ("Try~3", "3")] {
        assert_eq!(ran.log(&format!("{log}.stdout")), text.as_bytes());
    }
}

#[test]
fn a_cycle_ends_with_3_and_no_handler_is_asked() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Ping
  command: ["true"]
- name: Pong
  command: ["true"]
  on: {success: {goto: Ping}, failure: {goto: Rescue}}
- name: Rescue
  command: [touch, rescued]
"#;
    let ran = run(&world, pipeline, &["--max-transitions", "5"]).exits(3);
    assert_eq!(ran.state["status"], "failed");
    let error = &ran.step("Ping")["error"];
    assert_eq!(error["type"], "cycle_guard_exceeded");
    let context = json!({"guard": "max_transitions", "limit": 5, "observed": 6, "step": "Ping"});
    assert_eq!(error["context"], context);
    assert_eq!(ran.state["transition_count"], 5);
    assert!(!world.project().join("rescued").exists());
    // The counter survives a resume: the guard still holds.
    let again = resume(&world, ran.id(), &[]).exits(3);
    // No change of the file helps.
    let hint = "the limit of `--max-transitions` holds for all of this run";
    let told = &again.run.stderr;
    assert!(told.contains(hint) && !told.contains("--accept"), "{told}");
    assert_eq!(again.summary["next"], json!(null));
    assert_eq!(again.state["transition_count"], 5);

    let visits = pipeline.replace(
        "name: Ping",
        "name: Ping\n  max_visits: 2\n  on: {failure: {goto: Rescue}}",
    );
    let ran = run(&world, &visits, &[]).exits(3);
    let context = json!({"guard": "max_visits", "limit": 2, "observed": 3, "step": "Ping"});
    assert_eq!(ran.step("Ping")["error"]["context"], context);
    assert!(!world.project().join("rescued").exists());
}

#[test]
fn a_skipped_step_has_code_0_runs_nothing_and_asks_no_handler() {
    let world = World::new();
    let pipeline = r#"
context: {mode: dry}
steps:
- name: Work
  command: [touch, worked]
  when: {equals: {left: "${context.mode}", right: wet}}
  on: {success: {goto: _end}, always: {goto: _end}}
- name: Say
  command: [printf, "%s %s", "${steps.Work.status}", "${steps.Work.exit_code}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("Say"), "skipped 0");
    assert_eq!(ran.step("Work")["status"], "skipped");
    assert!(!world.project().join("worked").exists());
    assert_eq!(ran.state["step_visits"].get("Work"), None);
}

#[test]
fn texts_are_compared_byte_by_byte() {
    let world = World::new();
    let holds = |left: &str, right: &str| {
        let pipeline = format!(
            "context: {{t: true, one: 1.0, n: null, list: [1, {{a: b}}]}}\nsteps:\n- name: Out\n  command: [echo, x]\n- name: A\n  command: [\"true\"]\n  when: {{equals: {{left: {left}, right: {right}}}}}\n"
        );
        run(&world, &pipeline, &[]).exits(0).step("A")["status"] == "completed"
    };
    for (left, right) in [
        ("true", "\"true\""),
        ("\"${context.t}\"", "true"),
        ("\"${context.one}\"", "\"1.0\""),
        ("\"${context.n}\"", "\"null\""),
        ("\"${context.list}\"", "'[1,{\"a\":\"b\"}]'"),
        ("\"${steps.Out.output}\"", "\"x\\n\""),
    ] {
        assert!(holds(left, right), "{left} {right}");
    }
    for (left, right) in [
        ("\"${context.one}\"", "\"1\""),
        ("\"${steps.Out.output}\"", "x"),
        ("a", "A"),
        ("\"a \"", "a"),
    ] {
        assert!(!holds(left, right), "{left} {right}");
    }
}

#[test]
fn an_undefined_name_stops_a_step_before_it_starts_also_in_a_condition() {
    let world = World::new();
    let skipped = "steps:\n- {name: N, command: [touch, n], when: {equals: {left: a, right: b}}}\n";
    let step = format!(
        "{skipped}- name: A\n  command: [touch, \"${{steps.N.truncated}}\", started, \"${{steps.N.output}}\"]\n"
    );
    let ran = run(&world, &step, &[]).exits(2);
    assert_eq!(ran.failure("A"), (2, "undefined_variables"));
    let context = &ran.step("A")["error"]["context"];
    assert_eq!(
        context["undefined_vars"],
        json!(["steps.N.output", "steps.N.truncated"])
    );
    assert!(context["substituted_command"].is_array(), "{context}");
    let condition = format!(
        "{skipped}- name: A\n  command: [touch, started]\n  when: {{equals: {{left: \"${{steps.N.output}}\", right: x}}}}\n"
    );
    run(&world, &condition, &[]).exits(2);
    assert!(!world.project().join("started").exists());
    // A failure like any other: its handler is asked.
    let handled = format!(
        "{condition}  on: {{failure: {{goto: B}}}}\n- name: B\n  command: [touch, rescued]\n"
    );
    run(&world, &handled, &[]).exits(0);
    assert!(world.project().join("rescued").exists());
}

#[test]
fn a_condition_on_files_looks_at_the_workspace_only() {
    let world = World::new();
    world.write("in/1.task", "");
    world.write("in/.hidden", "");
    std::fs::write(world.dir().join("outside"), "").unwrap();
    std::os::unix::fs::symlink("../outside", world.project().join("out")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.project().join("dangling")).unwrap();
    let status = |when: &str| {
        let pipeline = format!(
            "context: {{dir: in}}\nsteps:\n- name: A\n  command: [\"true\"]\n  when: {when}\n"
        );
        let ran = run(&world, &pipeline, &[]).exits(0);
        ran.step("A")["status"].as_str().unwrap().to_owned()
    };
    for glob in [
        "in/?.task",
        "${context.dir}/[0-9].task",
        "in",
        "in/.h*",
        "*/1.task",
    ] {
        assert_eq!(
            status(&format!("{{exists: \"{glob}\"}}")),
            "completed",
            "{glob}"
        );
        assert_eq!(
            status(&format!("{{not_exists: \"{glob}\"}}")),
            "skipped",
            "{glob}"
        );
    }
    for glob in ["in/*.job", "out", "in/*hidden", "**/1.task/x"] {
        assert_eq!(
            status(&format!("{{exists: \"{glob}\"}}")),
            "skipped",
            "{glob}"
        );
        assert_eq!(
            status(&format!("{{not_exists: \"{glob}\"}}")),
            "completed",
            "{glob}"
        );
    }
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_its_step() {
    let world = World::new();
    let pipeline = r#"
context: {dir: ../outside}
steps:
- name: A
  command: [touch, started]
  when: {exists: "${context.dir}/*"}
  on: {failure: {goto: B}}
- name: B
  command: [printf, "%s", "${steps.A.exit_code}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("B"), "2");
    assert_eq!(ran.step("A")["status"], "failed");
    assert!(!world.project().join("started").exists());
}

#[test]
fn dollars_and_braces_are_escaped_by_dollars() {
    let world = World::new();
    let pipeline = r#"
context: {a: 1, data: "${context.a} $$", "with-dash": d}
steps:
- name: A
  command: [printf, "%s|", "$HOME $ $${x} $$${context.a}", "${ context.a }", "${context.data}", "$(cmd)", "${context.with-dash}"]
- name: "a b.c"
  command: [printf, x]
- name: B
  command: [printf, "%s", "${steps.\"a b.c\".output}"]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(
        ran.output("A"),
        "$HOME $ ${x} $1|1|${context.a} $$|$(cmd)|d|"
    );
    assert_eq!(ran.output("B"), "x");
}

#[test]
fn the_context_comes_from_workflow_file_and_options_the_later_wins() {
    let world = World::new();
    world.write(
        "c.json",
        r#"{"a": "file", "b": {"x": [1.0, null]}, "f": 2}"#,
    );
    let pipeline = r#"
context: {a: wf, b: wf, w: true}
steps:
- name: A
  command: [printf, "%s|", "${context.a}", "${context.b}", "${context.f}", "${context.w}", "${context.e}"]
"#;
    let args = [
        "--context-file",
        "c.json",
        "--context",
        "a=cli=x",
        "--context",
        "e=",
    ];
    let ran = run(&world, pipeline, &args).exits(0);
    assert_eq!(ran.output("A"), "cli=x|{\"x\":[1.0,null]}|2|true||");
    let context = json!({"a": "cli=x", "b": {"x": [1.0, null]}, "f": 2, "w": true, "e": ""});
    assert_eq!(ran.state["context"], context);
    world.write("list.json", "[1]");
    world.write("broken.json", "{");
    for args in [
        ["--context", "novalue"],
        ["--context", "=x"],
        ["--context-file", "list.json"],
        ["--context-file", "broken.json"],
        ["--context-file", "missing.json"],
    ] {
        let words = ["orchestrate", "run", "flow.yaml"];
        world.uwf(&[&words[..], &args].concat()).exits(2);
    }
    let runs = std::fs::read_dir(world.project().join(".orchestrate/runs")).unwrap();
    assert_eq!(runs.count(), 1);
}
