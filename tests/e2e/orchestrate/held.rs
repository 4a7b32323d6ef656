//! Runs that wait for a person: each command that is printed helps, in text and as data.

use std::fs;

use serde_json::{Value, json};

use crate::gates::{at_work, close_gate, gated_agent, open_gate};
use crate::world::{REVIEW, Run, World, wait_until};

/// A pipeline whose only step starts the workflow `review`.
const SOLVE: &str = "steps:\n- name: Solve\n  workflow: {name: review, task: t}\n- name: Last\n  command: ['true']\n";

/// The answers of agents of which the second asks once.
const ASKS: &str = "roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: ask, question: 'Which one?' } }, { output: { $status: approved, summary: s } }]\n";

fn orchestrate(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["orchestrate"], args].concat())
}

/// Returns a world with the run `r` of a pipeline whose child asks, and what the run said.
fn asking(pipeline: &str) -> (World, Run) {
    let world = World::new();
    world.put(REVIEW);
    world.write("solve.yaml", SOLVE);
    world.write("p.yaml", pipeline);
    gated_agent(&world, ASKS);
    let args = ["run", "p.yaml", "--run-id", "r", "--json", "--quiet"];
    let said = orchestrate(&world, &args).exits(1);
    (world, said)
}

/// Returns the words of a printed command after `uwf`, with an answer in place of the dots.
fn words(command: &str) -> Vec<String> {
    let command = command.strip_prefix("uwf ").expect("a command");
    let words = command.replace("\"…\"", "This.");
    words.split(' ').map(str::to_owned).collect()
}

/// Types a printed command.
fn type_in(world: &World, command: &str) -> Run {
    let words = words(command);
    world.uwf(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn next(run: &Run) -> String {
    run.json()["next"].as_str().unwrap().to_owned()
}

fn status(world: &World) -> Value {
    orchestrate(world, &["status", "r", "--json"])
        .exits(0)
        .json()
}

fn thread(world: &World) -> String {
    status(world)["thread"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_whose_child_asks_names_the_command_that_answers() {
    let (world, said) = asking(SOLVE);
    let answer = next(&said);
    let child = said.json()["child"].as_str().unwrap().to_owned();
    assert_eq!(answer, format!("uwf thread resume {child} -p \"…\""));
    let hint = format!("hint: answer with `{answer}`; then `uwf orchestrate resume r` goes on");
    let said = said.says("step `Solve` has no result yet").says(&hint);
    assert!(said.stderr.contains("Need: Which one?"), "{}", said.stderr);
    // Every view of the run names the same.
    let status = status(&world);
    assert_eq!(status["next"], json!(answer));
    assert_eq!(status["child"]["message"], json!("Need: Which one?"));
    let page = orchestrate(&world, &["report", "r"]).exits(0).stdout;
    assert!(page.contains(&answer), "{page}");
    let run = thread(&world);
    let shown = world.uwf(&["thread", "show", &run]).exits(0).json();
    let hint = shown["hint"].as_str().unwrap();
    assert!(hint.contains(&answer), "{hint}");
    assert_eq!(shown["children"][0]["thread"], json!(child));
    for command in ["step", "resume"] {
        world.uwf(&["thread", command, &run]).exits(6).says(&answer);
    }
    let ran = world.uwf(&["thread", "run", &run]).exits(6);
    assert_eq!(next(&ran), answer);
    type_in(&world, &answer).exits(0);
    orchestrate(&world, &["resume", "r"]).exits(0);
    assert!(
        !self::status(&world)
            .as_object()
            .unwrap()
            .contains_key("child")
    );
}

#[test]
fn a_child_of_a_child_that_is_a_run_takes_the_answer_itself() {
    let outer = "steps: [{name: Outer, workflow: {name: ./solve.yaml, task: t}}]";
    let (world, said) = asking(outer);
    // The child is a run, and takes no message.
    let child = said.json()["child"].as_str().unwrap().to_owned();
    let answer = next(&said);
    assert!(!answer.contains(&child), "{answer}");
    type_in(&world, &answer).exits(0);
    orchestrate(&world, &["resume", "r"]).exits(0);
}

#[test]
fn a_child_that_is_a_failed_run_is_resumed_without_a_message() {
    let world = World::new();
    world.write("inner.yaml", "steps: [{name: A, command: [test, -e, ok]}]");
    world.write(
        "p.yaml",
        "steps: [{name: Outer, workflow: {name: ./roles.yaml, task: t}}]",
    );
    world.write(
        "roles.yaml",
        "name: roles\nroles:\n  it: { goal: g, workflow: ./inner.yaml }\ngraph:\n  $START: { _: { role: it, prompt: Go. } }\n  it: [{ role: $END }]\n",
    );
    let args = ["run", "p.yaml", "--run-id", "r", "--json", "--quiet"];
    let said = orchestrate(&world, &args).exits(1);
    let said = said.says("is a run of a pipeline that has failed: step `A` failed");
    let resume = next(&said);
    assert!(!resume.contains(" -p"), "{resume}");
    world.write("ok", "");
    type_in(&world, &resume).exits(0);
    orchestrate(&world, &["resume", "r"]).exits(0);
}

#[test]
fn a_paused_run_names_the_command_that_ends_the_pause() {
    let world = World::new();
    world.write(
        "p.yaml",
        "steps:\n- name: A\n  command: [sh, -c, 'touch began; while [ ! -e go ]; do sleep 0.02; done']\n- name: B\n  command: ['true']\n",
    );
    let args = ["orchestrate", "run", "p.yaml", "--run-id", "r", "--json"];
    let engine = world.spawn(&args);
    wait_until("the step works", || world.project().join("began").exists());
    let thread = thread(&world);
    world.uwf(&["thread", "pause", &thread]).exits(0);
    world.write("go", "");
    let said = Run::from(engine.wait_with_output().unwrap()).exits(1);
    let unpause = format!("uwf thread unpause {thread}");
    assert_eq!(next(&said), unpause);
    said.says(&format!(
        "hint: `{unpause}` ends the pause, then `uwf orchestrate resume r` goes on"
    ));
    let status = status(&world);
    assert_eq!(
        (&status["paused"], &status["next"]),
        (&json!(true), &json!(unpause))
    );
    orchestrate(&world, &["resume", "r"])
        .exits(1)
        .says(&unpause);
    type_in(&world, &unpause).exits(0);
    orchestrate(&world, &["resume", "r"]).exits(0);
}

#[test]
fn a_failed_agent_of_a_child_is_tried_again_by_a_resume_of_the_run() {
    let (world, _) = asking(SOLVE);
    let answers = "roles:\n  writer: [{ exit: 1, output: { plan: p } }]\n";
    world.write("answers.yaml", answers);
    world.write("p.yaml", SOLVE);
    let args = ["run", "p.yaml", "--run-id", "s", "--json", "--quiet"];
    let said = orchestrate(&world, &args).exits(1);
    assert_eq!(next(&said), "uwf orchestrate resume s");
    assert!(
        !said.stderr.contains("; then `uwf thread"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_command_that_helps_a_run_names_no_agent() {
    let world = World::new();
    world.write("p.yaml", "steps: [{name: A, command: [test, -e, ok]}]");
    orchestrate(&world, &["run", "p.yaml", "--run-id", "r"]).exits(1);
    let run = thread(&world);
    let args = ["--format", "text", "thread", "resume", &run, "--agent", "x"];
    let said = world.uwf(&args).exits(0).stdout;
    let next = said.lines().find_map(|line| line.strip_prefix("next"));
    assert_eq!(
        next.map(str::trim),
        Some(&*format!("uwf thread resume {run}")),
        "{said}"
    );
}

#[test]
fn who_kills_a_run_is_told_what_was_ended() {
    let world = World::new();
    world.write(
        "p.yaml",
        "steps: [{name: A, command: [sh, -c, 'touch began; sleep 60']}]",
    );
    let engine = world.spawn(&["orchestrate", "run", "p.yaml", "--run-id", "r"]);
    wait_until("the step works", || world.project().join("began").exists());
    let thread = thread(&world);
    let killed = world.uwf(&["--format", "text", "thread", "kill", &thread]);
    let said = killed.exits(0).stdout;
    assert_eq!(
        said,
        format!("{thread} is cancelled and archived; its step was ended\n")
    );
    let ended = Run::from(engine.wait_with_output().unwrap()).exits(1);
    ended.says("`uwf orchestrate resume r --force-restart` starts it again as a new run");
    // A thread of a workflow has an agent.
    world.put(REVIEW);
    gated_agent(&world, ASKS);
    close_gate(&world);
    let start = world
        .uwf(&["thread", "start", "review", "-p", "x"])
        .exits(0);
    let thread = start.json()["thread"].as_str().unwrap().to_owned();
    let mut engine = at_work(&world, &["thread", "step", &thread]);
    let killed = world.uwf(&["--format", "text", "thread", "kill", &thread]);
    let said = killed.exits(0).stdout;
    assert!(said.contains("; its agent was ended"), "{said}");
    engine.wait().unwrap();
    open_gate(&world);
}

#[test]
fn a_damaged_record_of_a_run_is_put_aside_without_a_word_of_roles() {
    let world = World::new();
    world.write(
        "p.yaml",
        "steps:\n- name: A\n  command: [echo, a]\n- name: B\n  command: [test, -e, ok]\n",
    );
    orchestrate(&world, &["run", "p.yaml", "--run-id", "r"]).exits(1);
    let record = world.root().join("runs").join(thread(&world));
    let record = record.join("pending.json");
    world.write("ok", "");
    for content in ["", "{\"thread\":"] {
        fs::write(&record, content).unwrap();
        let said = orchestrate(&world, &["resume", "r"]).exits(1);
        assert!(!said.stderr.contains("role"), "{}", said.stderr);
        assert!(!said.stderr.contains("`stdout`"), "{}", said.stderr);
        said.says(
            "puts the record aside, and what came after the last recorded step is done again",
        );
    }
    fs::rename(&record, record.with_extension("json.torn")).unwrap();
    orchestrate(&world, &["resume", "r"]).exits(0);
}
