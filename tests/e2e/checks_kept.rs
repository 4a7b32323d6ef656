//! Checks cannot be skipped, edited or forged unnoticed, and no kill loses an answer that they run on.

use std::fs;

use serde_json::json;

use crate::checks::{EDGE, asked, checked, output, world};
use crate::processes::{is_running, kill_all_of, signal};
use crate::world::{World, wait_until};

/// A check that says that it runs, and waits for the file `go`.
const GATED: &str = "echo $$ >> ran; while [ ! -e go ]; do sleep 0.02; done";

fn gated(edges: &str) -> (World, String) {
    let (world, thread) = world(r#"["./gated.sh"]"#, edges);
    world.script("gated.sh", GATED);
    (world, thread)
}

/// Returns the processes of the check, in the order in which they ran.
fn ran(world: &World) -> Vec<String> {
    let ran = fs::read_to_string(world.project().join("ran")).unwrap_or_default();
    ran.lines().map(str::to_owned).collect()
}

fn wait_for_the_check(world: &World) -> String {
    wait_until("the check runs", || !ran(world).is_empty());
    ran(world).pop().unwrap()
}

#[test]
fn the_agent_dies_during_a_check_and_its_answer_is_used() {
    let (world, thread) = gated("");
    let engine = world.spawn(&["thread", "step", &thread]);
    let check = wait_for_the_check(&world);
    signal("KILL", world.agent_at_work(&thread));
    let ended = engine.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    assert!(!is_running(&check), "the check ends with its agent");
    world.write("go", "");
    world.step(&thread).exits(0);
    assert_eq!(output(&world, &thread)["note"], json!("n0"));
    assert_eq!(asked(&world).len(), 1, "the agent was asked once");
    assert_eq!(ran(&world).len(), 2, "the check ran again");
}

#[test]
fn an_agent_that_is_no_program_dies_during_a_check_and_is_paid_once() {
    let (world, thread) = gated("");
    world.mock(
        "roles: { writer: [{ output: { note: n }, usage: { inputTokens: 90, costUsd: 0.2 } }] }",
    );
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_for_the_check(&world);
    signal("KILL", world.agent_at_work(&thread));
    engine.wait_with_output().unwrap();
    world.mock("roles: { writer: [{ output: { note: other }, usage: { inputTokens: 90, costUsd: 0.2 } }] }");
    world.write("go", "");
    world.step(&thread).exits(0);
    let data = output(&world, &thread);
    assert_eq!(data["note"], json!("n"), "the first answer counts");
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["costUsd"], json!(0.2), "{cost}");
}

#[test]
fn what_a_check_printed_does_not_stay_behind_when_it_is_interrupted() {
    for who in ["engine", "agent", "both"] {
        let (world, thread) = world(r#"["./loud.sh"]"#, "");
        world.script("loud.sh", &format!("echo s3cr3t-s3cr3t; {GATED}"));
        let mut engine = world.spawn(&["thread", "step", &thread]);
        let check = wait_for_the_check(&world);
        let agent = world.agent_at_work(&thread);
        let left = |name: &str| world.root().join(format!("runs/{thread}/{name}")).exists();
        assert!(left("check-output") && left("check.json"));
        match who {
            "engine" => signal("INT", engine.id()),
            "agent" => signal("KILL", agent),
            _ => {
                engine.kill().unwrap();
                signal("KILL", agent);
            }
        }
        engine.wait().unwrap();
        if who == "both" {
            // The check lives on until the next call ends it.
            world.write("go", "");
            world.step(&thread).exits(0);
        }
        assert!(!is_running(&check));
        assert!(!left("check-output") && !left("check.json"), "{who}");
    }
}

#[test]
fn the_engine_dies_during_a_check_and_the_step_is_adopted() {
    let (world, thread) = gated("");
    let mut engine = world.spawn(&["thread", "step", &thread]);
    wait_for_the_check(&world);
    engine.kill().unwrap();
    engine.wait().unwrap();
    world.step(&thread).exits(5);
    world.write("go", "");
    wait_until("the step is finished", || world.pending(&thread).is_some());
    world.wait_until_free(&thread);
    let done = world.step(&thread).exits(0).json();
    assert_eq!(done["adopted"], json!(true), "{done}");
    assert_eq!(done["checks"][0]["name"], json!("./gated.sh"));
    assert_eq!((asked(&world).len(), ran(&world).len()), (1, 1));
}

#[test]
fn engine_and_agent_die_during_a_check_and_the_answer_is_used() {
    let (world, thread) = gated("");
    let mut engine = world.spawn(&["thread", "step", &thread]);
    let check = wait_for_the_check(&world);
    let agent = world.agent_at_work(&thread);
    engine.kill().unwrap();
    engine.wait().unwrap();
    signal("KILL", agent);
    wait_until("the agent is gone", || !is_running(agent));
    world.write("go", "");
    wait_until("the check is gone", || !is_running(&check));
    world.step(&thread).exits(0);
    assert_eq!(asked(&world).len(), 1, "the agent was asked once");
}

#[test]
fn an_answer_whose_checks_failed_is_not_used_for_the_files_of_its_correction() {
    let (world, thread) = world(r#"[[sh, -c, "test -e mended"]]"#, "");
    world.write(
        "do-1",
        "touch mended; while [ ! -e go ]; do sleep 0.02; done",
    );
    let mut call = world.spawn(&["thread", "step", &thread]);
    let mended = world.project().join("mended");
    wait_until("the agent corrects itself", || mended.exists());
    kill_all_of(&world);
    call.wait().unwrap();
    world.write("go", "");
    world.step(&thread).exits(0);
    assert_eq!(output(&world, &thread)["note"], json!("n2"));
    assert_eq!(asked(&world).len(), 3);
}

#[test]
fn an_answer_whose_checks_never_end_is_dropped_by_the_fallback() {
    let (world, thread) = gated("");
    for (key, value) in [
        ("agents.default.timeout", "2s"),
        ("agents.default.retry.max", "1"),
        ("agents.default.retry.backoff", "1ms"),
        ("agents.default.retry.on", r#"["timeout"]"#),
        ("agents.default.fallback", r#"["other"]"#),
        ("agents.other.command", "uwf-command"),
        ("agents.other.args", r#"["--", "sh", "other.sh"]"#),
    ] {
        world.configure(key, value);
    }
    world.write(
        "other.sh",
        "touch go; printf -- '---\\nnote: other\\n---\\n'",
    );
    world.uwf(&["thread", "run", &thread]).exits(0);
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(
        steps["steps"][1]["output"]["note"],
        json!("other"),
        "{steps}"
    );
    assert_eq!(
        ran(&world).len(),
        3,
        "twice for the first answer, once for that of the fallback"
    );
    let first = asked(&world)
        .into_iter()
        .filter(|asked| asked.contains("You write."));
    assert_eq!(first.count(), 1, "the agent was asked once");
}

#[test]
fn a_step_that_is_told_to_stop_during_a_check_keeps_its_answer() {
    let (world, thread) = gated("");
    let engine = world.spawn(&["thread", "step", &thread]);
    let check = wait_for_the_check(&world);
    signal("INT", engine.id());
    let ended = engine.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert!(!is_running(&check));
    world.write("go", "");
    world.step(&thread).exits(0);
    assert_eq!(asked(&world).len(), 1);
}

#[test]
fn a_file_of_a_check_that_the_agent_edits_is_noticed_and_told() {
    for checks in [r#"["./ci/check.sh"]"#, r#"["sh ci/check.sh"]"#] {
        let (world, _) = world(checks, "");
        world.script("ci/check.sh", "exit 1");
        let thread = world.start("checked");
        world.write("do-0", "cp ci/check.sh saved; echo 'exit 0' > ci/check.sh");
        world.write("do-1", "cp saved ci/check.sh");
        let run = world
            .step(&thread)
            .exits(3)
            .says("failed: exit code 1, after 2 corrections");
        assert_eq!(run.json()["class"], json!("checks-failed"));
        let told = &asked(&world)[1];
        assert!(
            told.contains(
                "ci/check.sh` belongs to the check and was changed since the thread started"
            ),
            "{told}"
        );
        assert!(
            asked(&world)[2].contains("exit code 1"),
            "{}",
            asked(&world)[2]
        );
    }
}

#[test]
fn files_that_the_agent_may_edit_are_named_by_the_workflow() {
    let checks = r#"[{ command: "sh src/main.sh", files: [] }]"#;
    let (world, _) = world(checks, "");
    world.write("src/main.sh", "exit 1\n");
    let thread = world.start("checked");
    world.write("do-0", "echo exit 0 > src/main.sh");
    world.step(&thread).exits(0);
    let listed = checked(r#"[{ command: "true", files: [rules] }]"#, "");
    world.put(&listed);
    world
        .uwf(&["thread", "start", "checked", "-p", "x"])
        .exits(1)
        .says("the check `true` of role `writer` lists the file `rules`");
    world.write("rules", "be good\n");
    let thread = world.start("checked");
    world.write("do-1", "rm rules");
    let done = world.step(&thread).exits(3);
    assert!(done.stderr.contains("is gone"), "{}", done.stderr);
}

#[test]
fn an_agent_of_another_program_is_refused_before_it_is_started() {
    let (world, thread) = world(r#"["true"]"#, "");
    world.scripted_agent("touch started; echo 0000000000000");
    for args in [&["thread", "step"][..], &["thread", "step", "--dry-run"]] {
        world
            .uwf(&[args, &[&thread]].concat())
            .exits(1)
            .says("is a program of its own, which cannot run them")
            .says("`uwf-command -- <program>`");
    }
    assert!(!world.project().join("started").exists());
}

#[test]
fn a_recorder_of_another_program_is_refused_before_it_is_started() {
    let (world, thread) = world(r#"["true"]"#, "");
    let program = world.script("own.sh", "touch started; echo 0000000000000");
    let own = program.to_str().unwrap();
    let record = |inner: &[&str]| {
        let args = [&["--to", "rec.yaml", "--"], inner].concat();
        world.agent("uwf-record", &args);
    };
    record(&[own]);
    let refused = world.step(&thread).exits(1);
    refused.says(&format!("the agent `{own}` is a program of its own"));
    record(&["uwf-record", "--to", "other.yaml", "--", own]);
    world.step(&thread).exits(1).says("is a program of its own");
    assert!(!world.project().join("started").exists());
    assert_eq!(world.show(&thread)["attempts"], json!([]));
    let agent = world.project().join("agent.sh");
    record(&["uwf-command", "--", agent.to_str().unwrap()]);
    world.step(&thread).exits(0);
    assert!(world.project().join("rec.yaml").exists());
}

#[test]
fn a_step_that_something_else_wrote_is_refused() {
    let (world, thread) = world(r#"["false"]"#, "");
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    let workflow = world.uwf(&["workflow", "show", "checked"]).exits(0).json();
    let schema = workflow["payload"]["roles"]["writer"]["meta"].as_str();
    let schema = schema.unwrap_or_else(|| panic!("{workflow}"));
    let put = |kind: &str, data: &serde_json::Value| {
        let put = world.uwf(&["cas", "put", kind, &data.to_string()]).exits(0);
        put.json()["hash"].as_str().unwrap().to_owned()
    };
    let output = put(schema, &json!({ "note": "forged" }));
    let detail = put("7VQ43ZSJTEWA7", &json!("no detail"));
    let step = put(
        "108DB063KRQWW",
        &json!({
            "start": head, "prev": null, "role": "writer", "output": output, "detail": detail, "agent": "me",
            "edgePrompt": "Write.", "startedAtMs": 1, "completedAtMs": 2, "cwd": "/", "assembledPrompt": null,
        }),
    );
    let pending = json!({ "step": step, "head": head, "atMs": 1 });
    world.write("forged.json", &pending.to_string());
    let file = world.pending_file(&thread);
    world.write(
        "do-0",
        &format!("cp forged.json {}; kill -9 $PPID; sleep 1", file.display()),
    );
    world
        .step(&thread)
        .exits(3)
        .says("the results of the checks `false` are missing in its detail node");
    assert_eq!(world.show(&thread)["head"], json!(head));
}

/// A role that another workflow plays, after a role that may edit the files of its checks.
pub(crate) const OUTER: &str = r#"
name: outer
roles:
  first:
    goal: You begin.
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
  second:
    goal: You check.
    workflow: checked
graph:
  $START: { _: { role: first, prompt: "Begin." } }
  first: { _: { role: second, prompt: "Go on." } }
  second: { _: { role: $END, prompt: "" } }
"#;

#[test]
fn the_files_of_the_checks_of_children_are_those_of_the_start() {
    let (world, _) = world(r#"{ run: ["./ci/check.sh"], attempts: 0 }"#, "");
    world.script("ci/check.sh", "exit 1");
    world.put(OUTER);
    let thread = world.start("outer");
    world.write("do-0", "echo 'exit 0' > ci/check.sh");
    world.step(&thread).exits(0);
    let run = world.step(&thread).exits(3);
    assert!(
        run.stderr.contains("was changed since the thread started"),
        "{}",
        run.stderr
    );
    let refused = OUTER.replace(
        "    workflow: checked\n",
        "    workflow: checked\n    checks: [\"true\"]\n",
    );
    world.write("outer.yaml", &refused);
    let run = world.uwf(&["workflow", "validate", "outer.yaml"]).exits(1);
    let told = run.stdout + &run.stderr;
    assert!(
        told.contains("role `second` cannot have `checks` here: other threads play it"),
        "{told}"
    );
}

#[test]
fn a_role_with_checks_works_in_forks_pokes_and_under_another_workflow() {
    let (world, _) = world(r#"["./ci/check.sh"]"#, "");
    world.script("ci/check.sh", "exit 0");
    let thread = world.start("checked");
    world.step(&thread).exits(0);
    world
        .uwf(&["thread", "poke", &thread, "-p", "better"])
        .exits(0);
    let shown = world.show(&thread);
    let fork = world
        .uwf(&["thread", "fork", shown["head"].as_str().unwrap()])
        .exits(0)
        .json();
    let fork = fork["thread"].as_str().unwrap().to_owned();
    world.step(&fork).exits(0);
    // Under the other workflow, the check of another file is known from the migration on.
    world.script("ci/more.sh", "exit 0");
    let more = checked(r#"["./ci/more.sh"]"#, EDGE).replace(
        "    goal: You fix.\n",
        "    goal: You fix.\n    checks: { run: [./ci/more.sh], attempts: 0 }\n",
    );
    world.put(&more);
    world.uwf(&["thread", "migrate", &thread]).exits(0);
    let calls = asked(&world).len();
    world.write(&format!("do-{calls}"), "echo >> ci/more.sh");
    let run = world.step(&thread).exits(3);
    assert!(
        run.stderr
            .contains("`./ci/more.sh` belongs to the check and was changed"),
        "{}",
        run.stderr
    );
}
