//! Steps that start workflows: a child thread does the step, and the run waits, fails and ends with it.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::crash::reader::Ledger;
use crate::crash::sweep::{kill_at, restore, save};
use crate::crash::tracer::Verdict;
use crate::gates::{at_work, close_gate, gated_agent, open_gate, runs};
use crate::processes::signal;
use crate::world::{REVIEW, Run, World, wait_until};

/// A workflow whose writer answers with a note.
const FLOW: &str = r#"
name: flow
roles:
  writer:
    goal: It is written.
    frontmatter: { type: object, required: [note], properties: { note: { type: string } } }
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { _: { role: $END, prompt: "" } }
"#;

/// A pipeline whose second step starts the workflow.
pub(super) const PIPELINE: &str = r#"
name: p
steps:
- name: Ticket
  command: [printf, '{"id": 7, "files": ["a", "b"]}']
  output_capture: json
- name: Solve
  workflow:
    name: ./flow.yaml
    task: "Solve ${steps.Ticket.json.id}"
    context: {files: "${steps.Ticket.json.files}"}
- name: Report
  command: [sh, -c, "echo \"$1\" >> report", sh, "${steps.Solve.json.note}"]
"#;

/// The answers of an agent that fails.
const FAILS: &str = "roles:\n  writer: [{ exit: 1, output: { note: n } }]\n";
pub(super) const ANSWERS: &str = "roles:\n  writer: [{ output: { note: n } }]\n";

/// Returns a world with a pipeline, the workflow that it starts, and agents that count their runs.
pub(super) fn world(pipeline: &str, answers: &str) -> World {
    let world = World::new();
    world.write("flow.yaml", FLOW);
    world.write("p.yaml", pipeline);
    gated_agent(&world, answers);
    world
}

fn orchestrate(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["orchestrate"], args].concat())
}

fn run(world: &World) -> Run {
    orchestrate(world, &["run", "p.yaml", "--json"])
}

/// Returns the ids of the runs, sorted.
fn run_ids(world: &World) -> Vec<String> {
    let runs = fs::read_dir(world.project().join(".orchestrate/runs"));
    let names = runs.into_iter().flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns the id of the only run.
#[track_caller]
fn run_id(world: &World) -> String {
    let mut runs = run_ids(world);
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

fn resume(world: &World, args: &[&str]) -> Run {
    let run = run_id(world);
    orchestrate(world, &[&["resume", &run, "--json"], args].concat())
}

fn state(world: &World) -> Value {
    let file = format!(".orchestrate/runs/{}/state.json", run_id(world));
    let text = fs::read_to_string(world.project().join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn thread_of_run(world: &World) -> String {
    state(world)["thread"].as_str().unwrap().to_owned()
}

/// Returns all threads but the run, as `thread list` shows them, the oldest first.
fn children(world: &World) -> Vec<Value> {
    let list = world.uwf(&["thread", "list", "--all", "--children"]);
    let mut threads = list.exits(0).json().as_array().unwrap().clone();
    let run = thread_of_run(world);
    threads.retain(|thread| thread["thread"] != json!(run));
    threads.reverse();
    threads
}

/// Returns the id of the only child.
#[track_caller]
pub(super) fn child(world: &World) -> String {
    let children = children(world);
    assert_eq!(children.len(), 1, "{children:?}");
    children[0]["thread"].as_str().unwrap().to_owned()
}

fn report(world: &World) -> String {
    fs::read_to_string(world.project().join("report")).unwrap_or_default()
}

#[test]
fn a_step_is_done_by_a_thread_of_a_workflow_and_its_answer_is_json() {
    let world = world(PIPELINE, ANSWERS);
    let done = run(&world).exits(0);
    assert!(done.stderr.contains("Solve: thread "), "{}", done.stderr);
    assert_eq!(report(&world), "n\n");
    let solve = &state(&world)["steps"]["Solve"];
    assert_eq!(solve["json"], json!({ "note": "n" }));
    let child = child(&world);
    assert_eq!(solve["debug"]["thread"], json!(child));
    let steps = world.uwf(&["thread", "steps", &child]).exits(0).json();
    let task = "Solve 7\n\n```json\n{\n  \"files\": \"[\\\"a\\\",\\\"b\\\"]\"\n}\n```\n";
    assert_eq!(steps["steps"][0]["prompt"], json!(task), "{steps}");
    let parent = &world.show(&child)["parent"];
    assert_eq!(parent["thread"], json!(thread_of_run(&world)));
    assert_eq!(
        (&parent["role"], &parent["depth"]),
        (&json!("Solve"), &json!(1))
    );
    let steps = world.uwf(&["thread", "steps", &thread_of_run(&world)]);
    let played = &steps.exits(0).json()["steps"][2]["children"][0];
    assert_eq!(played["thread"], json!(child), "{played}");
    assert_eq!(played["steps"], json!(1));
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_run_waits_until_the_person_has_answered_whom_its_child_asks() {
    let pipeline = PIPELINE
        .replace("./flow.yaml", "review")
        .replace("json.note", "json.summary");
    let answers = "roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: ask, question: 'Which one?' } }, { output: { $status: approved, summary: s } }]\n";
    let world = world(&pipeline, answers);
    world.put(REVIEW);
    let waits = run(&world)
        .exits(1)
        .says("Solve: thread")
        .says("Need: Which one?");
    let summary = waits.json();
    assert_eq!(summary["status"], json!("interrupted"));
    let child = child(&world);
    assert_eq!(summary["child"], json!(child));
    assert!(
        waits.stderr.contains("Need: Which one?"),
        "{}",
        waits.stderr
    );
    let error = &state(&world)["error"];
    assert_eq!(error["type"], json!("workflow_stopped"));
    assert_eq!(error["context"]["thread"], json!(child));
    // Nothing changes before somebody answers.
    resume(&world, &[]).exits(1);
    assert_eq!(runs(&world), 2);
    let people = orchestrate(&world, &["resume", &run_id(&world)]).exits(1);
    let answer = format!("uwf thread resume {child}");
    assert!(people.stderr.contains(&answer), "{}", people.stderr);
    world
        .uwf(&["thread", "resume", &child, "-p", "This one."])
        .exits(0);
    resume(&world, &[]).exits(0);
    assert_eq!(report(&world), "s\n");
    assert_eq!(children(&world).len(), 1);
}

#[test]
fn a_child_that_was_killed_is_a_failed_step_that_a_resume_does_again() {
    let world = world(PIPELINE, FAILS);
    run(&world).exits(1);
    let first = child(&world);
    world.uwf(&["thread", "kill", &first]).exits(0);
    let failed = resume(&world, &[]).exits(1).json();
    assert_eq!(
        (&failed["status"], &failed["failed_step"]),
        (&json!("failed"), &json!("Solve"))
    );
    let solve = &state(&world)["steps"]["Solve"];
    assert_eq!(solve["exit_code"], json!(1));
    assert_eq!(solve["error"]["type"], json!("workflow_failed"));
    assert_eq!(solve["error"]["context"]["thread"], json!(first));
    world.write("answers.yaml", ANSWERS);
    resume(&world, &[]).exits(0);
    assert_eq!(children(&world).len(), 2);
    assert_eq!(report(&world), "n\n");
}

#[test]
fn a_handler_goes_on_after_a_child_that_was_killed() {
    let pipeline = format!(
        "{}\n- name: Sorry\n  command: [sh, -c, \"echo sorry ${{steps.Solve.exit_code}} > report\"]\n",
        PIPELINE
            .replace(
                "- name: Report",
                "  on: {failure: {goto: Sorry}}\n- name: Report"
            )
            .replace(
                "[sh, -c, \"echo \\\"$1\\\" >> report\", sh, \"${steps.Solve.json.note}\"]",
                "[\"true\"]\n  on: {success: {goto: _end}}"
            )
    );
    let world = world(&pipeline, FAILS);
    run(&world).exits(1);
    world.uwf(&["thread", "kill", &child(&world)]).exits(0);
    resume(&world, &[]).exits(0);
    assert_eq!(report(&world), "sorry 1\n");
}

#[test]
fn a_failed_agent_of_a_child_stops_the_run_and_settles_nothing() {
    let world = world(PIPELINE, FAILS);
    let stopped = run(&world).exits(1);
    stopped
        .says("step `Solve` has no result yet")
        .says("cause: `writer` failed");
    assert_eq!(state(&world)["status"], json!("interrupted"));
    let steps = world.uwf(&["thread", "steps", &thread_of_run(&world)]);
    assert_eq!(steps.exits(0).json()["steps"].as_array().unwrap().len(), 2);
    let first = child(&world);
    world.write("answers.yaml", ANSWERS);
    resume(&world, &[]).exits(0);
    assert_eq!(child(&world), first);
    assert_eq!((runs(&world), report(&world)), (2, "n\n".to_owned()));
}

#[test]
fn a_workflow_that_cannot_be_used_is_a_failed_step() {
    for (name, problem) in [
        ("./missing.yaml", "there is no file `./missing.yaml`"),
        ("unknown", "workflow `unknown` was not found"),
        ("out.yaml", "out.yaml"),
    ] {
        let world = world(&PIPELINE.replace("./flow.yaml", name), ANSWERS);
        fs::write(
            world.dir().join("out.yaml"),
            FLOW.replace("name: flow", "name: out"),
        )
        .unwrap();
        symlink("../out.yaml", world.project().join("out.yaml")).unwrap();
        let failed = run(&world).exits(2);
        assert_eq!(failed.json()["failed_step"], json!("Solve"), "{name}");
        let error = state(&world)["steps"]["Solve"]["error"].clone();
        assert!(
            error["message"].as_str().unwrap().contains(problem),
            "{error}"
        );
        assert_eq!((children(&world).len(), runs(&world)), (0, 0), "{name}");
        fs::remove_file(world.project().join("out.yaml")).unwrap();
        world.write("missing.yaml", &FLOW.replace("name: flow", "name: missing"));
        world.put(&FLOW.replace("name: flow", "name: unknown"));
        world.write("out.yaml", &FLOW.replace("name: flow", "name: out"));
        resume(&world, &[]).exits(0);
        assert_eq!(report(&world), "n\n", "{name}");
    }
}

#[test]
fn a_child_that_would_be_too_deep_is_never_made() {
    let world = world(&PIPELINE.replace("./flow.yaml", "./outer.yaml"), ANSWERS);
    world.write(
        "outer.yaml",
        "name: outer\nroles:\n  it: { goal: g, workflow: ./flow.yaml }\ngraph:\n  $START: { _: { role: it, prompt: Go. } }\n  it: [{ role: $END }]\n",
    );
    world.configure("maxDepth", "1");
    let failed = run(&world).exits(2);
    assert!(
        failed
            .stderr
            .contains("2 threads above it, and `maxDepth` in the config allows 1"),
        "{}",
        failed.stderr
    );
    assert_eq!(children(&world).len(), 0);
    world.configure("maxDepth", "2");
    resume(&world, &[]).exits(0);
    assert_eq!(children(&world).len(), 2);
    assert_eq!(report(&world), "n\n");
}

#[test]
fn the_answer_of_a_child_is_masked_and_of_limited_size() {
    let world = world(
        &PIPELINE.replace("steps:\n", "secrets: [TOKEN]\nsteps:\n"),
        "roles:\n  writer: [{ output: { note: 'it is s3cr3tvalue' } }]\n",
    );
    let mut command = world.command(&["orchestrate", "run", "p.yaml"]);
    command.env("TOKEN", "s3cr3tvalue");
    Run::from(command.output().unwrap()).exits(0);
    assert_eq!(
        state(&world)["steps"]["Solve"]["json"],
        json!({ "note": "it is ***" })
    );

    let long = "x".repeat(1 << 20);
    let world = self::world(
        PIPELINE,
        &format!("roles:\n  writer: [{{ output: {{ note: {long} }} }}]\n"),
    );
    run(&world).exits(2);
    let error = &state(&world)["steps"]["Solve"]["error"];
    assert_eq!(error["type"], json!("json_overflow"));
}

#[test]
fn each_item_of_a_loop_has_a_child_of_its_own() {
    let pipeline = r#"
steps:
- name: Each
  for_each:
    items: [a, b, c]
    steps:
    - name: Solve
      workflow: {name: ./flow.yaml, task: "Do ${item}"}
"#;
    let world = world(pipeline, ANSWERS);
    run(&world).exits(0);
    let tasks: Vec<Value> = children(&world)
        .iter()
        .map(|child| child["task"].clone())
        .collect();
    assert_eq!(tasks.len(), 3, "{tasks:?}");
    let each = &state(&world)["steps"]["Each"];
    assert_eq!(each[2]["Solve"]["json"], json!({ "note": "n" }), "{each}");
}

#[test]
fn a_signal_interrupts_the_agent_of_a_child_and_a_resume_goes_on_with_the_child() {
    let world = world(PIPELINE, ANSWERS);
    let engine = at_work(&world, &["orchestrate", "run", "p.yaml"]);
    let first = child(&world);
    signal("TERM", engine.id());
    let ended: Run = engine.wait_with_output().unwrap().into();
    ended.exits(143);
    open_gate(&world);
    assert_eq!(state(&world)["status"], json!("interrupted"));
    resume(&world, &[]).exits(0);
    assert_eq!(child(&world), first);
    assert_eq!(report(&world), "n\n");
}

#[test]
fn the_time_of_a_run_ends_the_agent_of_a_child_and_the_child() {
    let world = world(PIPELINE, ANSWERS);
    close_gate(&world);
    let ended = orchestrate(&world, &["run", "p.yaml", "--json", "--timeout", "1"]).exits(124);
    assert_eq!(ended.json()["failed_step"], json!("Solve"));
    let error = &state(&world)["steps"]["Solve"]["error"];
    assert_eq!(error["type"], json!("run_timeout"));
    assert_eq!(world.show(&child(&world))["status"], json!("cancelled"));
    open_gate(&world);
    resume(&world, &[]).exits(0);
    assert_eq!(children(&world).len(), 2);
}

#[test]
fn a_kill_of_a_run_ends_its_child_and_the_agent() {
    let world = world(PIPELINE, ANSWERS);
    let engine = at_work(&world, &["orchestrate", "run", "p.yaml"]);
    let (thread, child) = (thread_of_run(&world), child(&world));
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let ended: Run = engine.wait_with_output().unwrap().into();
    ended.exits(1);
    for one in [&thread, &child] {
        assert_eq!(world.show(one)["status"], json!("cancelled"), "{one}");
    }
    assert_eq!(state(&world)["error"]["type"], json!("cancelled"));
}

#[test]
fn a_kill_of_a_run_ends_a_child_that_waits() {
    let world = world(PIPELINE, FAILS);
    run(&world).exits(1);
    let child = child(&world);
    world
        .uwf(&["thread", "kill", &thread_of_run(&world)])
        .exits(0);
    assert_eq!(world.show(&child)["status"], json!("cancelled"));
}

#[test]
fn who_goes_back_in_a_run_ends_the_child_and_gets_another_one() {
    for from in ["Ticket", "Solve"] {
        let world = world(PIPELINE, FAILS);
        run(&world).exits(1);
        let first = child(&world);
        world.write("answers.yaml", ANSWERS);
        resume(&world, &["--from", from]).exits(0);
        assert_eq!(children(&world).len(), 2, "{from}");
        assert_eq!(world.show(&first)["status"], json!("cancelled"), "{from}");
        assert_eq!(report(&world), "n\n", "{from}");
    }
}

/// Which of the calls are killed: a sweep over all would take minutes.
const EVERY: usize = 12;

#[test]
fn a_run_that_is_killed_at_many_places_makes_one_child_and_one_step() {
    let world = world(PIPELINE, ANSWERS);
    let args = ["orchestrate", "run", "p.yaml"];
    let (mut kills, mut with_a_child) = (0, 0);
    save(&world);
    for number in (0..).step_by(EVERY) {
        let traced = kill_at(&world, &args, " orchestrate ", number, Verdict::Kill);
        // What comes after the last step has nothing to do with the child.
        if traced.killed().is_none() || !report(&world).is_empty() {
            break;
        }
        kills += 1;
        if let Some((id, thread)) = made_run(&world) {
            wait_until("the run is at its end", || {
                let code = orchestrate(&world, &["resume", &id]).code;
                assert!([0, 75].contains(&code), "{code} {:?}", traced.killed());
                world.show(&thread)["done"] == json!(true)
            });
            let ledger = Ledger::read(&world.root());
            assert_eq!(ledger.threads.len(), 2, "{:?}", traced.killed());
            assert_eq!(runs(&world), 1, "{:?}", traced.killed());
            assert_eq!(report(&world), "n\n");
            let solved = world.uwf(&["thread", "steps", &thread]).exits(0).json();
            let steps = solved["steps"].as_array().unwrap().iter();
            let solved = steps.filter(|step| step["role"] == json!("Solve")).count();
            assert_eq!(solved, 1, "{:?}", traced.killed());
            with_a_child += 1;
        }
        restore(&world);
    }
    assert!(kills > 20 && with_a_child > 10, "{kills} {with_a_child}");
}

/// Returns the only run whose thread exists, and the thread.
fn made_run(world: &World) -> Option<(String, String)> {
    let threads = world.state("threads.yaml") + &world.state("history.jsonl");
    run_ids(world).into_iter().find_map(|id| {
        let place = format!(".orchestrate/runs/{id}/thread");
        let place = fs::read_to_string(world.project().join(place)).ok()?;
        let place: Value = serde_json::from_str(&place).ok()?;
        let thread = place["thread"].as_str()?.to_owned();
        threads.contains(&thread).then_some((id, thread))
    })
}
