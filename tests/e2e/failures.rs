//! What a failed step tells: to people, on record, and to programs.

use std::io::{Read as _, Write as _};
use std::process::Command;

use serde_json::{Value, json};

use crate::processes::signal;
use crate::world::{ONE_STEP, Run, World, path_with, wait_until};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}"#;
/// Two events of one message, then another one: what they used up is told with each event.
const MESSAGES: &str = r#"{"type":"assistant","session_id":"s1","message":{"id":"m1","usage":{"input_tokens":100,"output_tokens":10},"content":[{"type":"text","text":"I look."}]}}
{"type":"assistant","session_id":"s1","message":{"id":"m1","usage":{"input_tokens":100,"output_tokens":10},"content":[{"type":"tool_use","name":"Bash","input":{}}]}}
{"type":"assistant","session_id":"s1","message":{"id":"m2","usage":{"input_tokens":200,"output_tokens":20},"content":[{"type":"text","text":"I work."}]}}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"---\n$status: more\nnote: n\n---\n","session_id":"s1","total_cost_usd":0.25,"usage":{"input_tokens":5,"output_tokens":2}}"#;

/// Returns the event by which the tool says that it failed.
fn failed(how: &str, more: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":true,"result":"{how}","session_id":"s1"{more}}}"#
    )
}

/// One role that works on and on.
pub(crate) const AGAIN: &str = r#"
name: again
description: Again and again
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter: { type: object, properties: { $status: { enum: [more, done] }, note: { type: string } }, required: [$status, note] }
graph:
  $START: { _: { role: writer, prompt: "Write a note." } }
  writer:
    more: { role: writer, prompt: "Go on after {{note}}." }
    done: { role: $END, prompt: "Done." }
"#;

/// A world whose agent is Claude Code, played by a script that keeps its arguments in `args` and its prompt in `asked`.
fn claude(workflow: &str, script: &str) -> World {
    let world = World::new();
    world.put(workflow);
    for (name, text) in [("init", INIT), ("messages", MESSAGES), ("result", RESULT)] {
        world.write(name, &format!("{text}\n"));
    }
    tool(&world, script);
    world.agent("uwf-claude-code", &[]);
    world
}

fn tool(world: &World, script: &str) {
    let keep = "echo \"$*\" > args; cat > asked";
    world.script("bin/claude", &format!("{keep}\n{script}"));
}

fn command(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("PATH", path_with(&world.project().join("bin")));
    command
}

fn step(world: &World, thread: &str) -> Run {
    run(world, &["thread", "step", thread])
}

fn run(world: &World, args: &[&str]) -> Run {
    command(world, args).output().unwrap().into()
}

fn noted(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.project().join(name)).unwrap()
}

/// Interrupts a step once the tool is at work, and returns what it told.
fn interrupted(world: &World, thread: &str) -> Run {
    stopped(world, thread, "INT")
}

/// Stops a step by a signal once the tool is at work, and returns what it told.
fn stopped(world: &World, thread: &str, by: &str) -> Run {
    let live = format!("runs/{thread}/live.jsonl");
    let _ = std::fs::remove_file(world.root().join(&live));
    let mut child = command(world, &["thread", "step", thread]);
    child.stdout(std::process::Stdio::piped());
    child.stderr(std::process::Stdio::piped());
    let child = child.spawn().unwrap();
    wait_until("the tool is at work", || {
        world.state(&live).contains("I work.")
    });
    signal(by, child.id());
    child.wait_with_output().unwrap().into()
}

/// Asserts that a step fails with a class, and that everybody is told.
#[track_caller]
fn fails(world: &World, thread: &str, class: &str, hint: &str) -> Value {
    let run = step(world, thread).exits(3);
    let told = run.json();
    assert_eq!(told["class"], json!(class), "{told}");
    assert_eq!(told["thread"], json!(thread));
    assert_eq!(told["role"], json!("writer"));
    assert_eq!(told["agent"], json!("default"));
    let place = world.project().canonicalize().unwrap();
    assert_eq!(told["directory"], json!(place));
    assert!(told["hint"].as_str().unwrap().contains(hint), "{told}");
    let error = told["message"].as_str().unwrap();
    let note = format!(
        "of thread {thread}: {class}, agent `default` in `{}`",
        place.display()
    );
    let run = run.says(&format!(
        "error: `writer` failed: {}",
        error.lines().next().unwrap()
    ));
    run.says(&note).says(hint);
    let attempts = &world.show(thread)["attempts"];
    let last = attempts.as_array().unwrap().last().unwrap();
    for (key, of_record) in [
        ("attempt", "number"),
        ("class", "class"),
        ("message", "error"),
        ("hint", "hint"),
        ("directory", "directory"),
        ("exitCode", "exitCode"),
        ("raw", "raw"),
    ] {
        assert_eq!(told[key], last[of_record], "{key}: {told} {last}");
    }
    told
}

#[test]
fn the_class_of_a_failure_is_told_to_people_programs_and_the_record() {
    let world = World::new();
    world.put(ONE_STEP);
    let thread = world.start("one");
    let retry = format!("`uwf thread step {thread}` tries again");
    let check = |body: &str, class: &str, hint: &str| {
        world.scripted_agent(body);
        fails(&world, &thread, class, hint)
    };
    let told = check("exit 9", "crash", &retry);
    assert_eq!(told["exitCode"], json!(9));
    check(
        "exec nowhere-to-be-found",
        "not-installed",
        "install the program",
    );
    check("exit 0", "no-answer", &retry);
    check("echo Done.", "bad-answer", "`uwf-command`");
    check("kill -9 $$", "crash", &retry);
    check("kill -15 $$", "cancelled", "goes on");
    let by_hand = format!(
        "echo '{{\"phase\":\"agent\",\"error\":\"slow down\",\"class\":\"rate-limit\"}}' > {}; exit 1",
        world
            .root()
            .join("runs")
            .join(&thread)
            .join("failure.json")
            .display()
    );
    check(&by_hand, "rate-limit", "--agent <agent>");
    world.configure("agents.default.timeout", "300ms");
    check("sleep 5", "timeout", "raise the limit");

    let answers = |answer: &str, class: &str, hint: &str| {
        let script = world.script("agent.sh", answer);
        world.agent("uwf-command", &["--", script.to_str().unwrap()]);
        fails(&world, &thread, class, hint)
    };
    world
        .uwf(&["config", "unset", "agents.default.timeout"])
        .exits(0);
    let told = answers("echo nothing of the kind", "bad-answer", "uwf cas get ");
    assert!(told["raw"].is_string(), "{told}");
    answers("true", "no-answer", "tries again");
    world.agent("uwf-command", &["--timeout", "200ms", "--", "sleep", "5"]);
    fails(&world, &thread, "timeout", "raise the limit");
    world.agent("uwf-command", &["--", "./nowhere"]);
    fails(&world, &thread, "not-installed", "install it");
    world.agent("./nowhere", &[]);
    fails(&world, &thread, "not-installed", "install it");
}

#[test]
fn the_class_is_got_from_what_a_tool_tells() {
    let world = claude(ONE_STEP, "");
    let thread = world.start("one");
    let check = |event: &str, class: &str, hint: &str| {
        world.write("event", event);
        tool(&world, "cat init event; exit 1");
        fails(&world, &thread, class, hint);
    };
    check(&failed("Not logged in", ""), "auth", "claude auth login");
    check(
        &failed("no", r#","api_error_status":401"#),
        "auth",
        "claude auth login",
    );
    check(
        &failed("API Error: Request rejected (429)", ""),
        "rate-limit",
        "--agent <agent>",
    );
    check(
        &failed("slow down", r#","api_error_status":429"#),
        "rate-limit",
        "wait",
    );
    check(
        &failed("Repeated 529 Overloaded errors", ""),
        "overloaded",
        "wait",
    );
    check(
        &failed("Prompt is too long", ""),
        "context-too-long",
        "new session",
    );
    check(
        &failed(
            "compaction failed",
            r#","terminal_reason":"prompt_too_long""#,
        ),
        "context-too-long",
        "new session",
    );
    check(&failed("something else", ""), "crash", "tries again");
    check("", "crash", "tries again");
    tool(&world, "cat init");
    fails(&world, &thread, "no-answer", "tries again");
}

#[test]
fn a_failed_step_is_one_object_on_stdout_for_programs_and_nothing_for_people() {
    let world = World::new();
    world.put(ONE_STEP);
    world.scripted_agent("exit 9");
    let thread = world.start("one");
    let run = |args: &[&str]| {
        world
            .uwf(&[&["thread", "step", &thread], args].concat())
            .exits(3)
    };
    let told = run(&["--format", "json", "--count", "5"]).stdout;
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(run(&["--format", "yaml"]).stdout.contains("class: crash\n"));
    assert_eq!(run(&["--format", "text"]).stdout, "");
    let text = world
        .uwf(&["thread", "show", &thread, "--format", "text"])
        .exits(0)
        .stdout;
    assert!(text.contains("attempt 3: writer by "), "{text}");
    assert!(
        text.contains(", crash: the agent exited with code 9"),
        "{text}"
    );
}

#[test]
fn neither_escape_sequences_nor_stack_traces_are_told_as_the_error() {
    let world = World::new();
    world.put(ONE_STEP);
    let noise = r"printf '\033[91m\033[1mError: \033[0mno key\n    at main (file:///x/cli.js:1:2)\n' >&2; exit 1";
    let script = world.script("tool.sh", noise);
    let script = script.to_str().unwrap();
    let thread = world.start("one");
    world.agent("uwf-command", &["--", script]);
    let told = fails(&world, &thread, "crash", "tries again");
    let message = format!("`{script}` exited with code 1: Error: no key");
    assert_eq!(told["message"], json!(message));
    // The record has it already: the same is not told once more.
    let run = step(&world, &thread).exits(3);
    assert!(!run.stderr.contains("cause:"), "{}", run.stderr);
    world.agent(script, &[]);
    let run = step(&world, &thread)
        .exits(3)
        .says("cause: stderr: Error: no key");
    assert!(!run.stderr.contains("[91m"), "{}", run.stderr);
}

#[test]
fn an_interrupted_attempt_is_seen_and_the_thread_has_not_failed() {
    let world = claude(ONE_STEP, "cat init messages; exec sleep 60");
    let thread = world.start("one");
    let run = interrupted(&world, &thread).exits(130);
    let told = run.json();
    assert_eq!(told["class"], json!("cancelled"));
    run.says("interrupted by SIGINT (Ctrl-C); the agent was ended")
        .says(&format!("hint: `uwf thread step {thread}` goes on"));
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("idle"));
    let attempt = &shown["attempts"][0];
    assert_eq!(attempt["class"], json!("cancelled"));
    assert_eq!(attempt["sessionId"], json!("s1"));
    assert_eq!(attempt["usage"]["inputTokens"], json!(300));
    assert_eq!(attempt["usage"]["outputTokens"], json!(30));
    assert!(attempt["startedAtMs"].as_i64() < attempt["endedAtMs"].as_i64());
    let steps = world
        .uwf(&["thread", "steps", &thread, "--format", "text"])
        .exits(0);
    assert!(steps.stdout.contains("(cancelled 1)"), "{}", steps.stdout);
    tool(&world, "cat init result");
    step(&world, &thread).exits(0);
    assert!(noted(&world, "args").contains("--resume s1"));
    assert!(noted(&world, "asked").contains("you were interrupted"));
}

#[test]
fn a_signal_before_an_agent_is_started_counts_nothing_and_ends_none() {
    let world = World::new();
    world.put(AGAIN);
    world.mock("roles:\n  writer:\n    - output: { $status: more, note: n }\n");
    let thread = world.start("again");
    // The report of the first step finds a pipe that is full. So the signal comes before the second step begins.
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'x'; 65536]).unwrap();
    let mut command = world.command(&["thread", "step", &thread, "--count", "2"]);
    let child = command
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(command);
    wait_until("the first step is done", || {
        world.show(&thread)["steps"] == json!(1)
    });
    signal("INT", child.id());
    let mut stdout = Vec::new();
    reader.read_to_end(&mut stdout).unwrap();
    let run: Run = child.wait_with_output().unwrap().into();
    let run = run
        .exits(130)
        .says("interrupted by SIGINT (Ctrl-C); no agent was started");
    assert!(!run.stderr.contains("was ended"), "{}", run.stderr);
    let shown = world.show(&thread);
    assert_eq!(
        (&shown["steps"], &shown["attempts"]),
        (&json!(1), &json!([]))
    );
}

#[test]
fn tokens_that_were_seen_before_an_interruption_count_and_nothing_is_unknown() {
    let limited = format!("{ONE_STEP}limits: {{ maxTokens: 400 }}\n");
    let world = claude(&limited, "cat init messages; exec sleep 60");
    let thread = world.start("one");
    interrupted(&world, &thread).exits(130);
    interrupted(&world, &thread).exits(130);
    step(&world, &thread).exits(6).says("660 of 400 tokens");
    // The adapter's own time limit ends a tool, too.
    let thread = world.start("one");
    world.agent("uwf-claude-code", &["--timeout", "1s"]);
    fails(&world, &thread, "timeout", "raise the limit");
    assert_eq!(
        world.show(&thread)["attempts"][0]["usage"]["inputTokens"],
        json!(300)
    );
    tool(&world, "cat init result");
    step(&world, &thread).exits(0);
}

#[test]
fn an_attempt_of_unknown_cost_can_be_accepted_and_the_next_one_is_stopped_again() {
    let limited = format!("{ONE_STEP}limits: {{ maxCostUsd: 5 }}\n");
    let world = claude(&limited, "cat init messages; exec sleep 60");
    let thread = world.start("one");
    interrupted(&world, &thread).exits(130);
    let accept = format!("uwf thread resume {thread} --accept-unknown 1");
    step(&world, &thread)
        .exits(6)
        .says("1 of 1 runs do not tell their cost")
        .says(&format!("hint: `{accept}` goes on"));
    assert_eq!(world.show(&thread)["limit"]["accept"], json!([1]));
    let resume = |number: &str| {
        run(
            &world,
            &["thread", "resume", &thread, "--accept-unknown", number],
        )
    };
    resume("7")
        .exits(1)
        .says("no failed attempt 7")
        .says("uwf thread steps");
    tool(&world, "exit 1");
    // Accepting lets this call go on, and the new attempt is unknown again.
    resume("1").exits(3);
    step(&world, &thread).exits(6).says("--accept-unknown 2");
    assert_eq!(
        world.show(&thread)["attempts"][0]["unknownAccepted"],
        json!(true)
    );
    tool(&world, "cat init result");
    resume("1,2").exits(0);
}

#[test]
fn a_conversation_that_is_too_long_is_followed_by_a_new_one_with_the_whole_past() {
    let world = claude(AGAIN, "cat init result");
    let thread = world.start("again");
    step(&world, &thread).exits(0);
    step(&world, &thread).exits(0);
    assert!(noted(&world, "args").contains("--resume s1"));
    let short = noted(&world, "asked");
    assert!(!short.contains("<step number=\"1\""), "{short}");
    world.write("event", &failed("Prompt is too long", ""));
    tool(&world, "cat init event; exit 1");
    fails(
        &world,
        &thread,
        "context-too-long",
        "begins a new session with the whole task",
    );
    tool(&world, "cat init result");
    step(&world, &thread).exits(0);
    assert!(!noted(&world, "args").contains("--resume"));
    let whole = noted(&world, "asked");
    for part in [
        "the task",
        "<step number=\"1\"",
        "<step number=\"2\"",
        "Go on after n.",
    ] {
        assert!(whole.contains(part), "no `{part}` in {whole}");
    }
    step(&world, &thread).exits(0);
    assert!(noted(&world, "args").contains("--resume s1"));
}

#[test]
fn a_new_session_can_be_asked_for() {
    let world = claude(AGAIN, "cat init result");
    let thread = world.start("again");
    step(&world, &thread).exits(0);
    for command in [&["thread", "step"][..], &["thread", "poke"]] {
        run(&world, &[command, &[&thread, "--new-session"]].concat()).exits(0);
        assert!(!noted(&world, "args").contains("--resume"), "{command:?}");
        assert!(
            noted(&world, "asked").contains("<step number=\"1\""),
            "{command:?}"
        );
        step(&world, &thread).exits(0);
        assert!(noted(&world, "args").contains("--resume s1"), "{command:?}");
    }
    // A failed attempt is not gone on with either.
    tool(&world, "cat init messages; exit 1");
    step(&world, &thread).exits(3);
    tool(&world, "cat init result");
    run(&world, &["thread", "step", &thread, "--new-session"]).exits(0);
    assert!(!noted(&world, "args").contains("--resume"));
}

#[test]
fn every_signal_that_stops_a_call_leaves_an_attempt() {
    let world = claude(ONE_STEP, "cat init messages; exec sleep 60");
    let thread = world.start("one");
    for (number, (by, code)) in [("INT", 130), ("TERM", 143), ("HUP", 129)]
        .into_iter()
        .enumerate()
    {
        let told = stopped(&world, &thread, by).exits(code).json();
        assert_eq!(
            (&told["class"], &told["attempt"]),
            (&json!("cancelled"), &json!(number + 1))
        );
    }
    // They say nothing against the session, however many they are.
    tool(&world, "cat init result");
    step(&world, &thread).exits(0);
    assert!(noted(&world, "args").contains("--resume s1"));
}

#[test]
fn a_tool_that_speaks_of_a_class_long_before_it_crashes_has_crashed() {
    let world = World::new();
    world.put(ONE_STEP);
    let noise = "echo connection refused >&2; head -c 4000 /dev/zero | tr '\\0' x >&2; exit 1";
    let script = world.script("tool.sh", noise);
    world.agent("uwf-command", &["--", script.to_str().unwrap()]);
    fails(&world, &world.start("one"), "crash", "tries again");
    world.script("tool.sh", "echo connection refused >&2; exit 1");
    fails(&world, &world.start("one"), "overloaded", "wait");
}
