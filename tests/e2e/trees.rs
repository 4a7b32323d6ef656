//! Nothing outlives its step unnoticed: whatever an agent or its tool started is ended with it, however it ends.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::processes::{self, is_running, signal};
use crate::world::{ONE_STEP, World, wait_until};

/// A tool that starts what tools start: a process in its group, one in a session of its own, and one whose parent is
/// gone. It says when they run, prints nothing, and goes on for ever.
const TOOL: &str = "cd \"$PROJECT\"
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c 'sleep 1000 & :' &)
while [ $(grep -lz \"^PROJECT=$PROJECT\" /proc/[0-9]*/environ 2>/dev/null | wc -l) -lt 4 ]; do sleep 0.02; done
touch ready
while :; do sleep 0.05; done";

/// Every kind of agent over the tool.
const AGENTS: [&str; 9] = [
    "contract",
    "command",
    "claude-code",
    "codex",
    "gemini",
    "cursor",
    "opencode",
    "hermes chat",
    "hermes acp",
];

/// A world with an agent of this kind, its options before those of the kind.
fn world(kind: &str, options: &[&str]) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    let project = world.project().display().to_string();
    let tool = world.script("tool", &format!("export PROJECT={project}\n{TOOL}"));
    let tool = tool.to_str().unwrap();
    let mut args = options.to_vec();
    match kind {
        "contract" => world.agent(tool, &[]),
        "command" => {
            args.extend(["--", tool]);
            world.agent("uwf-command", &args);
        }
        _ => {
            let (name, mode) = kind.split_once(' ').unwrap_or((kind, ""));
            args.extend(["--program", tool]);
            if !mode.is_empty() {
                args.extend(["--mode", mode]);
            }
            world.agent(&format!("uwf-{name}"), &args);
        }
    }
    world.configure("grace", "2s");
    let thread = world.start("one");
    (world, thread)
}

/// Starts a step and waits until the tool has started everything.
pub(crate) fn at_work(world: &World, thread: &str) -> Child {
    let engine = world.spawn(&["thread", "step", thread]);
    wait_until("the tool has started everything", || {
        world.project().join("ready").exists()
    });
    engine
}

/// Returns number and command line of all processes that were started for this world and still run.
pub(crate) fn alive(world: &World) -> Vec<String> {
    processes::with_variable(&format!("UWF_STORAGE_ROOT={}", world.root().display()))
}

/// Ends a step in one way with every kind of agent: nothing is left, and the step's exit code is this.
fn ends(options: &[&str], skip: &[&str], code: i32, end: impl Fn(&World, &str, &Child) + Sync) {
    let kinds = AGENTS.iter().filter(|kind| !skip.contains(kind));
    std::thread::scope(|scope| {
        for kind in kinds {
            let end = &end;
            scope.spawn(move || {
                let (world, thread) = world(kind, options);
                let engine = at_work(&world, &thread);
                end(&world, &thread, &engine);
                let output = engine.wait_with_output().unwrap();
                assert_eq!(alive(&world), Vec::<String>::new(), "{kind}");
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(code), "{kind}: {said}");
            });
        }
    });
}

fn ends_by_signal(name: &str, code: i32) {
    ends(&[], &[], code, |_, _, engine| signal(name, engine.id()));
}

#[test]
fn nothing_outlives_an_interrupt() {
    ends_by_signal("INT", 130);
}

#[test]
fn nothing_outlives_a_termination() {
    ends_by_signal("TERM", 143);
}

#[test]
fn nothing_outlives_a_closed_terminal() {
    ends_by_signal("HUP", 129);
}

#[test]
fn nothing_outlives_the_time_limit() {
    ends_by_limit("timeout");
}

#[test]
fn nothing_outlives_the_limit_of_time_without_output() {
    ends_by_limit("idleTimeout");
}

fn ends_by_limit(key: &str) {
    std::thread::scope(|scope| {
        for kind in AGENTS {
            scope.spawn(move || {
                let (world, thread) = world(kind, &[]);
                world.configure(&format!("agents.default.{key}"), "9s");
                world.step(&thread).exits(3).says("the agent was ended");
                assert!(
                    world.project().join("ready").exists(),
                    "{kind}: the limit came too early"
                );
                assert_eq!(alive(&world), Vec::<String>::new(), "{kind}");
            });
        }
    });
}

#[test]
fn nothing_outlives_an_adapters_own_time_limit() {
    ends(&["--timeout", "9s"], &["contract"], 3, |_, _, _| {});
}

#[test]
fn nothing_outlives_a_kill_of_its_thread() {
    ends(&[], &[], 7, |world, thread, _| {
        let killed = world.uwf(&["thread", "kill", thread]).exits(0).json();
        assert_eq!(killed["agentEnded"], json!(true));
        assert_eq!(alive(world), Vec::<String>::new());
    });
}

#[test]
fn nothing_outlives_a_kill_of_a_thread_whose_engine_died() {
    for kind in ["contract", "command", "codex"] {
        let (world, thread) = world(kind, &[]);
        processes::kill(at_work(&world, &thread));
        let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
        assert_eq!(killed["agentEnded"], json!(true), "{kind}");
        assert_eq!(alive(&world), Vec::<String>::new(), "{kind}");
    }
}

/// An agent that answers at once and leaves something running, whose parent is gone.
fn leaver(world: &World) {
    let body = format!(
        "export PROJECT={}\n(setsid sh -c 'sleep 1000 >/dev/null 2>&1 & exit 0' &)\nprintf -- '---\\nnote: n\\n$status: again\\n---\\n'",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
}

#[test]
fn what_a_good_step_leaves_running_is_ended_and_named() {
    let world = World::new();
    world.put(ONE_STEP);
    leaver(&world);
    let thread = world.start("one");
    let report = world.step(&thread).exits(0).json();
    let left = report["leftRunning"].as_array().unwrap();
    assert_eq!(left.len(), 1, "{report}");
    assert!(
        left[0].as_str().unwrap().contains("`sleep 1000`"),
        "{report}"
    );
    assert_eq!(report["keptRunning"], Value::Null);
    assert_eq!(alive(&world), Vec::<String>::new());
}

#[test]
fn what_may_go_on_does_and_does_not_keep_the_thread_busy() {
    let world = World::new();
    world.put(LOOP);
    leaver(&world);
    world.configure("agents.default.keepRunning", "true");
    let thread = world.start("loop");
    for _ in 0..2 {
        let report = world.step(&thread).exits(0).json();
        assert_eq!(report["keptRunning"], json!(true));
    }
    assert_eq!(alive(&world).len(), 2);
    for process in alive(&world) {
        signal("KILL", process.split_whitespace().next().unwrap());
    }
}

/// A workflow whose one role comes again and again.
pub(crate) const LOOP: &str = "name: loop
description: d
roles:
  writer:
    description: d
    goal: g
    capabilities: []
    procedure: p
    output: o
    frontmatter:
      type: object
      properties: { $status: { enum: [again, done] } }
      required: [$status]
graph:
  $START: { _: { role: writer, prompt: go } }
  writer: { again: { role: writer, prompt: again }, done: { role: $END } }
";

#[test]
fn no_double_fork_escapes_in_two_hundred_steps() {
    let workers = 4;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let world = World::new();
                world.put(LOOP);
                leaver(&world);
                let thread = world.start("loop");
                let steps = (200 / workers).to_string();
                let ran = world
                    .uwf(&["thread", "step", &thread, "-c", &steps])
                    .exits(0);
                let left = ran.stdout.matches("leftRunning").count();
                assert_eq!(left, 200 / workers, "{}", ran.stdout);
                assert_eq!(alive(&world), Vec::<String>::new());
            });
        }
    });
}

/// An agent whose program tidies up when it gets this signal, which takes more than half of the grace.
fn tidy_tool(world: &World, name: &str) {
    let other = if name == "INT" { "TERM" } else { "INT" };
    let body = format!(
        "cd {}\ntrap '' {other}\ntrap 'trap \"\" INT TERM; sleep 5; echo saved > saved; exit 0' {name}\ntouch ready\nwhile :; do sleep 0.05; done",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    world.configure("grace", "9s");
}

#[test]
fn a_program_behind_an_adapter_has_the_whole_grace_to_tidy_up() {
    std::thread::scope(|scope| {
        for (name, way) in [
            ("INT", "INT"),
            ("INT", "kill"),
            ("TERM", "TERM"),
            ("TERM", "kill"),
            ("INT", "kill without an engine"),
            ("TERM", "kill without an engine"),
        ] {
            scope.spawn(move || {
                let world = World::new();
                world.put(ONE_STEP);
                tidy_tool(&world, name);
                let thread = world.start("one");
                let mut engine = at_work(&world, &thread);
                if way == "kill without an engine" {
                    engine.kill().unwrap();
                }
                match way {
                    "INT" | "TERM" => signal(way, engine.id()),
                    _ => drop(world.uwf(&["thread", "kill", &thread]).exits(0)),
                }
                engine.wait().unwrap();
                assert!(world.project().join("saved").exists(), "{name} by {way}");
            });
        }
    });
}

#[test]
fn an_interrupt_while_the_rest_of_a_good_step_is_ended_stops_the_next_step() {
    let world = World::new();
    world.put(LOOP);
    let body = format!(
        "cd {}\necho run >> runs\n(setsid sh -c 'trap \"\" INT TERM; touch ready; while :; do sleep 0.05; done' >/dev/null 2>&1 &)\n\
         while [ ! -e ready ]; do sleep 0.02; done\nprintf -- '---\\n$status: again\\n---\\n'",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    world.configure("grace", "6s");
    let thread = world.start("loop");
    let engine = world.spawn(&["thread", "step", &thread, "-c", "3"]);
    let agent = world.agent_at_work(&thread);
    wait_until("the agent has answered", || !is_running(agent));
    signal("INT", engine.id());
    let output = engine.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(alive(&world), Vec::<String>::new());
    assert_eq!(
        fs::read_to_string(world.project().join("runs")).unwrap(),
        "run\n"
    );
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(steps["steps"].as_array().unwrap().len(), 2, "{steps}");
}

/// A world whose agent has a program behind it that writes down which signals it gets, and ends with TERM.
pub(crate) fn signals_are_written_down() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "cd {}\ntrap 'echo INT >> got' INT\ntrap 'echo TERM >> got; exit 0' TERM\ntouch ready\nwhile :; do sleep 0.05; done",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    world.configure("grace", "6s");
    world
}

#[test]
fn a_program_gets_each_signal_once() {
    let world = signals_are_written_down();
    let thread = world.start("one");
    let engine = at_work(&world, &thread);
    signal("INT", engine.id());
    engine.wait_with_output().unwrap();
    assert_eq!(
        fs::read_to_string(world.project().join("got")).unwrap(),
        "INT\nTERM\n"
    );
}

#[test]
fn a_program_that_ignores_everything_is_killed_after_the_grace() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "export PROJECT={0}\ntrap '' INT TERM HUP\ntouch {0}/ready\nwhile :; do sleep 0.05; done",
        world.project().display()
    );
    world.scripted_agent(&body);
    world.configure("grace", "1s");
    let thread = world.start("one");
    let engine = at_work(&world, &thread);
    let began = Instant::now();
    signal("INT", engine.id());
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(130));
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(alive(&world), Vec::<String>::new());
}

#[test]
fn an_answer_after_the_time_limit_is_no_success() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = "trap 'printf -- \"---\\nnote: late\\n---\\n\"; exit 0' INT TERM\nwhile :; do sleep 0.05; done";
    let tool = world.script("tool", body);
    let tool = tool.to_str().unwrap();
    world.agent("uwf-command", &["--timeout", "1s", "--", tool]);
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(3)
        .says("was ended after its time limit of 1 s");

    world.agent("uwf-command", &["--", tool]);
    world.configure("agents.default.timeout", "1s");
    world
        .step(&thread)
        .exits(3)
        .says("the agent was ended after its time limit of 1s");
    assert_eq!(world.show(&thread)["status"], json!("failed"));
}

#[test]
fn a_tools_answer_after_the_adapters_time_limit_is_no_success() {
    let world = World::new();
    world.put(ONE_STEP);
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "session_id": "s",
        "result": "---\nnote: late\n---\n", "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let body = format!(
        "trap 'echo {}; exit 0' INT TERM\nwhile :; do sleep 0.05; done",
        quoted(&result)
    );
    let tool = world.script("tool", &body);
    world.agent(
        "uwf-claude-code",
        &["--timeout", "1s", "--program", tool.to_str().unwrap()],
    );
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(3)
        .says("was ended after its time limit of 1 s");
}

/// Returns a value for the inside of a single-quoted `trap`.
fn quoted(value: &Value) -> String {
    format!(
        "\"{}\"",
        value
            .to_string()
            .replace('\\', "\\\\\\\\")
            .replace('"', "\\\"")
    )
}
