//! `thread tail`: the newest turns of recorded steps and of the running one, and what comes after them.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout};

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::processes::kill;
use crate::world::{ONE_STEP, REVIEW, World, path_with, wait_until};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"some-model"}"#;
const CALL: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"session_id":"s1"}"#;
const ANSWER: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a b"}]},"session_id":"s1"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"---\nnote: n\n---\n","session_id":"s1","usage":{"input_tokens":5,"output_tokens":2}}"#;

/// A thread whose agent takes a turn, and waits until there is a file `go` before it goes on.
fn waiting_tool() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    for (name, text) in [
        ("init", INIT),
        ("call", CALL),
        ("answer", ANSWER),
        ("result", RESULT),
    ] {
        world.write(name, &format!("{text}\n"));
    }
    let wait = "while [ ! -e go ]; do sleep 0.02; done";
    let script = format!("cat > /dev/null; cat init call; {wait}; cat answer result");
    world.script("bin/claude", &script);
    world.agent("uwf-claude-code", &[]);
    let thread = world.start("one");
    (world, thread)
}

fn step(world: &World, thread: &str) -> Child {
    let mut step = world.command(&["thread", "step", thread]);
    step.env("PATH", path_with(&world.project().join("bin")));
    step.stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// A `thread tail -f` whose events are read one by one.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(world: &World, thread: &str) -> Self {
        let mut child = world.spawn(&["thread", "tail", "-f", thread]);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next event; `None` if there is none any more.
    fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.unwrap();
        Some(serde_json::from_str(&line).unwrap())
    }

    #[track_caller]
    fn expect(&mut self, kind: &str) -> Value {
        let event = self.next().unwrap();
        assert_eq!(event["kind"], json!(kind), "{event}");
        event
    }

    #[track_caller]
    fn ends_well(mut self) {
        assert_eq!(self.next(), None);
        assert!(self.child.wait().unwrap().success());
    }
}

fn kinds(events: &str) -> Vec<String> {
    let kind = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["kind"].as_str().unwrap().to_owned()
    };
    events.lines().map(kind).collect()
}

#[test]
fn turns_are_followed_from_the_running_step_to_the_end_of_the_thread() {
    let (world, thread) = waiting_tool();
    let mut step = step(&world, &thread);
    let live = format!("runs/{thread}/live.jsonl");
    wait_until("a turn is taken", || world.state(&live).contains("I look."));
    let mut follower = Follower::start(&world, &thread);
    assert_eq!(follower.expect("working")["role"], json!("writer"));
    let turn = follower.expect("turn");
    assert_eq!(turn["turn"]["toolCalls"][0]["name"], json!("Bash"));
    assert_eq!(
        (&turn["step"], &turn["turn"]["content"]),
        (&json!(null), &json!("I look."))
    );
    world.write("go", "");
    let answer = follower.expect("turn");
    assert_eq!(answer["turn"]["answers"]["tool"], json!("Bash"));
    // No turn is told a second time when the step is recorded.
    let event = follower.expect("step");
    assert_eq!(event["usage"]["inputTokens"], json!(5));
    assert_eq!(follower.expect("stopped")["status"], json!("completed"));
    follower.ends_well();
    assert!(step.wait().unwrap().success());

    let tail = |more: &[&str]| {
        world
            .uwf(&[&["thread", "tail", &thread], more].concat())
            .exits(0)
            .stdout
    };
    let text = tail(&["--format", "text"]);
    assert!(
        text.contains("writer: I look.\nwriter → Bash {\"command\":\"ls\"}\nwriter ← Bash: a b\n"),
        "{text}"
    );
    assert!(text.contains("-- writer is done after "), "{text}");
    assert_eq!(kinds(&tail(&["-n", "1"])), ["turn", "step"]);
    assert_eq!(tail(&["-n", "0"]), "");
}

#[test]
fn the_output_of_an_agent_that_records_no_turns_is_followed_into_the_next_steps() {
    let world = World::new();
    world.put(REVIEW);
    gated_agent(
        &world,
        "roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: ask, question: Which? } }]\n",
    );
    let agent = world.project().join("agent.sh");
    let script = std::fs::read_to_string(&agent).unwrap();
    std::fs::write(
        &agent,
        script.replace("while", "echo hello from $2 >&2\nwhile"),
    )
    .unwrap();
    let mut engine = at_work(
        &world,
        &["thread", "step", &world.start("review"), "-c", "2"],
    );
    let thread = world.uwf(&["thread", "list"]).json()[0]["thread"].clone();
    let mut follower = Follower::start(&world, thread.as_str().unwrap());
    follower.expect("working");
    let line = follower.expect("line");
    assert_eq!(line["text"], json!("hello from writer"));
    assert_eq!(line["stream"], json!("stderr"));
    open_gate(&world);
    let mut roles = Vec::new();
    let stopped = loop {
        let event = follower.next().unwrap();
        match event["kind"].as_str().unwrap() {
            "stopped" => break event,
            "step" => roles.push(event["role"].clone()),
            _ => {}
        }
    };
    assert_eq!(roles, [json!("writer"), json!("reviewer")]);
    assert_eq!(stopped["suspendMessage"], json!("Need: Which?"));
    follower.ends_well();
    assert!(engine.wait().unwrap().success());
}

#[test]
fn a_failed_attempt_is_told_and_the_next_one_is_followed() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer: [{ exit: 3, stderr: \"out of luck\\n\" }]\n");
    let thread = world.start("one");
    world.step(&thread).exits(3);
    let mut follower = Follower::start(&world, &thread);
    assert_eq!(follower.expect("line")["text"], json!("out of luck"));
    let said = follower.expect("line")["text"].clone();
    assert!(said.as_str().unwrap().contains("the script says"), "{said}");
    assert_eq!(follower.expect("failed")["number"], json!(1));
    world.mock(NOTE);
    world.step(&thread).exits(0);
    loop {
        let event = follower.next().unwrap();
        if event["kind"] == json!("stopped") {
            break;
        }
        assert_ne!(event["kind"], json!("failed"), "{event}");
    }
    follower.ends_well();
}

#[test]
fn following_keeps_nobody_out_and_ends_when_nobody_reads() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    let mut follower = Follower::start(&world, &thread);
    follower.expect("working");
    kill(engine);
    open_gate(&world);
    // The orphan finishes, and the next call adopts its step, though somebody follows.
    wait_until("the step is done", || world.step(&thread).code == 0);
    let Follower { mut child, lines } = follower;
    drop(lines);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_step_that_is_done_again_is_told_without_the_steps_before_it() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: rejected, reason: r } }]\n");
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let mut follower = Follower::start(&world, &thread);
    let steps = |event: &Value| event["kind"] == json!("step");
    let mut told = 0;
    while told < 2 {
        told += usize::from(steps(&follower.next().unwrap()));
    }
    let poke = ["thread", "poke", &thread, "-p", "again"];
    let done = world.uwf(&poke).exits(0).json();
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let mut new = Vec::new();
    let stopped = loop {
        let event = follower.next().unwrap();
        if event["kind"] == json!("stopped") {
            break event;
        }
        new.push(event);
    };
    let new: Vec<&Value> = new.iter().filter(|event| steps(event)).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    assert_eq!(new[0]["step"], done["step"]);
    assert_eq!(stopped["status"], json!("cancelled"));
    follower.ends_well();
}

#[test]
fn what_a_migration_copied_is_no_news() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: approved, summary: s } }]\n",
    );
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let mut follower = Follower::start(&world, &thread);
    assert_eq!(follower.expect("turn")["role"], json!("writer"));
    follower.expect("step");
    world.put(&REVIEW.replace("Begin writing", "Begin to write"));
    world.uwf(&["thread", "migrate", &thread]).exits(0);
    world.step(&thread).exits(0);
    let mut roles = Vec::new();
    while let Some(event) = follower.next() {
        if event["kind"] == "turn" || event["kind"] == "step" {
            roles.push(event["role"].clone());
        }
    }
    assert_eq!(roles, [json!("reviewer"), json!("reviewer")]);
    follower.ends_well();
}
