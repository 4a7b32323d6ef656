//! What outlives its engine: it keeps the thread busy, and what it finished is used.

use std::fs;

use serde_json::{Value, json};

use crate::gates::NOTE;
use crate::processes::{self, is_running, signal};
use crate::trees::{alive, at_work};
use crate::world::{ONE_STEP, World, wait_until};

#[test]
fn what_closed_its_files_keeps_the_thread_busy_when_its_engine_died() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "cd {}\nfor fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done\nsetsid sleep 1000 >/dev/null 2>&1 </dev/null &\necho $! > left\ntouch ready\nwhile :; do sleep 0.05; done",
        world.project().display()
    );
    world.scripted_agent(&body);
    let thread = world.start("one");
    let engine = at_work(&world, &thread);
    let agent = world.agent_at_work(&thread);
    processes::kill(engine);
    signal("KILL", agent);
    wait_until("the agent is gone", || !is_running(agent));
    let left = fs::read_to_string(world.project().join("left")).unwrap();
    let left = left.trim();
    world
        .step(&thread)
        .exits(5)
        .says(&format!("{left} `sleep 1000`"))
        .says("end it with `kill <number>`");
    let orphan = json!([format!("{left} `sleep 1000`")]);
    // What the agent started last may still be ending.
    wait_until("only that is left", || {
        world.show(&thread)["orphans"] == orphan
    });
    assert_eq!(world.show(&thread)["status"], json!("running"));
    let shown = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let row = format!("{left} `sleep 1000`, without an engine");
    assert!(shown.exits(0).stdout.contains(&row));
    let listed = world.uwf(&["thread", "list"]).exits(0).json();
    assert_eq!(listed[0]["orphans"], orphan, "{listed}");
    let doctor = world.uwf(&["doctor", "--format", "text"]);
    let warning = format!("its engine is gone, and this still runs: {left} `sleep 1000`");
    assert!(doctor.stdout.contains(&warning), "{}", doctor.stdout);
    signal("KILL", left);
    wait_until("nothing is left", || alive(&world).is_empty());
    assert_eq!(world.show(&thread)["orphans"], Value::Null);
    world.scripted_agent("exit 9");
    world.step(&thread).exits(3).says("exited with code 9");
}

/// A value that is cut by the 80 characters of a command line that are shown.
const TOKEN: &str = "s3cr3t-0123456789abcdef";

/// Starts two processes that have the secret in their arguments. The first has no environment; what is shown of the second ends
/// within the secret.
const TELLS: &str =
    "setsid env -i sh -c 'sleep 1000; :' first \"$TOKEN\" >/dev/null 2>&1 </dev/null &
echo $! > first
setsid sh -c 'sleep 1000; :' second$(printf '%045d' 0) \"$TOKEN\" >/dev/null 2>&1 </dev/null &";

/// Asserts that a text names both processes and shows nothing of the secret.
#[track_caller]
fn assert_masked(text: &str) {
    let names = [
        "sh -c sleep 1000; : first ***",
        "sh -c sleep 1000; : second000",
    ];
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    assert!(!text.contains("s3cr"), "{text}");
}

fn has_token(world: &World) {
    fs::write(world.root().join(".env"), format!("TOKEN={TOKEN}\n")).unwrap();
    world.configure("agents.default.secrets", "[\"TOKEN\"]");
}

#[test]
fn secrets_in_the_command_lines_of_processes_are_masked() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!("{TELLS}\nprintf -- '---\\nnote: n\\n---\\n'");
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    has_token(&world);
    let thread = world.start("one");
    assert_masked(&world.step(&thread).exits(0).stdout);
    let body = format!(
        "cd {}\nfor fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done\n{TELLS}\ntouch ready\nwhile :; do sleep 0.05; done",
        world.project().display()
    );
    world.scripted_agent(&body);
    let thread = world.start("one");
    let engine = at_work(&world, &thread);
    processes::kill(engine);
    let shown = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    let listed = world.uwf(&["thread", "list"]).exits(0);
    let doctor = world.uwf(&["doctor", "--format", "text"]);
    for text in [shown.stdout, listed.stdout, doctor.stdout] {
        assert_masked(&text);
    }
    signal("KILL", format!("-{}", pid(&world, "first")));
    signal("KILL", world.agent_at_work(&thread));
    let busy = || world.step(&thread).exits(5).stderr;
    wait_until("the agent is gone", || busy().contains("kill <number>"));
    let busy = busy();
    assert!(busy.contains("second000"), "{busy}");
    assert!(!busy.contains("s3cr"), "{busy}");
    for process in alive(&world) {
        signal("KILL", process.split_whitespace().next().unwrap());
    }
}

#[test]
fn the_answer_of_a_program_that_outlived_engine_and_adapter_is_used() {
    for kind in ["command", "claude-code"] {
        let world = World::new();
        world.put(ONE_STEP);
        let body = "touch ready\nwhile [ ! -e gate ]; do sleep 0.02; done";
        use_tool(&world, kind, body);
        let thread = world.start("one");
        let engine = at_work(&world, &thread);
        let adapter = world.agent_at_work(&thread);
        processes::kill(engine);
        signal("KILL", adapter);
        wait_until("the adapter is gone", || !is_running(adapter));
        world.step(&thread).exits(5).says("busy");
        world.write("gate", "");
        world.wait_until_free(&thread);
        wait_until("nothing of the attempt runs", || {
            world.step(&thread).code != 5
        });
        let shown = world.show(&thread);
        assert_eq!(shown["status"], json!("completed"), "{kind}: {shown}");
        assert_eq!(
            fs::read_to_string(world.project().join("runs")).unwrap(),
            "run\n",
            "{kind}"
        );
    }
}

/// Configures a built-in agent of this kind over a tool that counts its runs in `runs`, runs the script, and answers.
fn use_tool(world: &World, kind: &str, script: &str) {
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "session_id": "s",
        "result": "---\nnote: paid\n---\n", "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    world.write("result", &result.to_string());
    let answer = match kind {
        "command" => "printf -- '---\\nnote: paid\\n---\\n'",
        _ => "cat result; echo",
    };
    let body = format!(
        "cd {}\necho run >> runs\n{script}\n{answer}",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    let tool = tool.to_str().unwrap();
    match kind {
        "command" => world.agent("uwf-command", &["--", tool]),
        _ => world.agent("uwf-claude-code", &["--program", tool]),
    }
}

/// A world whose built-in agent drives a tool that starts a process, waits at the gate, and answers. Engine and adapter are
/// killed while the tool works. `daemon` is how the tool starts the process; `keeps` is whether that may go on.
fn tool_without_an_adapter(kind: &str, daemon: &str, keeps: &str) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "{daemon} &\necho $! > left\necho $$ > tool.pid\ntouch ready\nwhile [ ! -e gate ]; do sleep 0.02; done"
    );
    use_tool(&world, kind, &body);
    world.configure("agents.default.keepRunning", keeps);
    let thread = world.start("one");
    let engine = at_work(&world, &thread);
    let adapter = world.agent_at_work(&thread);
    let launched = world
        .root()
        .join("runs")
        .join(&thread)
        .join("launched.json");
    wait_until("the adapter has said which process it started", || {
        let launched = fs::read_to_string(&launched).unwrap_or_default();
        launched.contains("\"program\":{")
    });
    processes::kill(engine);
    signal("KILL", adapter);
    wait_until("the adapter is gone", || !is_running(adapter));
    world.step(&thread).exits(5).says("busy");
    (world, thread)
}

fn pid(world: &World, file: &str) -> String {
    let pid = fs::read_to_string(world.project().join(file)).unwrap();
    pid.trim().to_owned()
}

const DAEMON: &str = "setsid sleep 1000 >/dev/null 2>&1 </dev/null";

#[test]
fn the_answer_of_a_program_that_left_something_running_is_used() {
    for (kind, keeps) in [
        ("command", "false"),
        ("claude-code", "false"),
        ("command", "true"),
    ] {
        let (world, thread) = tool_without_an_adapter(kind, DAEMON, keeps);
        let (tool, left) = (pid(&world, "tool.pid"), pid(&world, "left"));
        world.write("gate", "");
        wait_until("the tool has ended", || !is_running(&tool));
        assert!(is_running(&left));
        assert_ne!(world.show(&thread)["status"], json!("running"), "{kind}");
        let report = world.step(&thread).exits(0).json();
        assert_eq!(report["done"], json!(true), "{kind}: {report}");
        let named = json!([format!("{left} `sleep 1000`")]);
        assert_eq!(report["leftRunning"], named, "{kind}: {report}");
        let goes_on = keeps == "true";
        assert_eq!(report["keptRunning"] == json!(true), goes_on, "{report}");
        assert_eq!(is_running(&left), goes_on);
        if goes_on {
            signal("KILL", &left);
        }
        wait_until("nothing is left", || alive(&world).is_empty());
        let runs = fs::read_to_string(world.project().join("runs")).unwrap();
        assert_eq!(runs, "run\n", "{kind}");
    }
}

#[test]
fn who_can_still_write_the_answer_of_a_program_that_ended_keeps_the_thread_busy() {
    for kind in ["command", "claude-code"] {
        let (world, thread) =
            tool_without_an_adapter(kind, "setsid sleep 1000 2>/dev/null", "false");
        let (tool, left) = (pid(&world, "tool.pid"), pid(&world, "left"));
        world.write("gate", "");
        wait_until("the tool has ended", || !is_running(&tool));
        world.step(&thread).exits(5);
        assert!(is_running(&left), "{kind}");
        assert_eq!(world.show(&thread)["status"], json!("running"), "{kind}");
        signal("KILL", &left);
        wait_until("it has ended", || !is_running(&left));
        let report = world.step(&thread).exits(0).json();
        assert_eq!(report["done"], json!(true), "{kind}: {report}");
        let runs = fs::read_to_string(world.project().join("runs")).unwrap();
        assert_eq!(runs, "run\n", "{kind}");
    }
}

#[test]
fn a_step_that_an_agent_only_printed_is_adopted_when_its_engine_died() {
    let calls: [&[&str]; 3] = [
        &["step"],
        &["resume", "--accept-unknown", "1"],
        &["poke", "--accept-unknown", "1"],
    ];
    for call in calls {
        let (world, thread) = printed_by_an_orphan();
        let args = [&["thread", call[0], &thread], &call[1..]].concat();
        let report = world.uwf(&args).exits(0).json();
        assert_eq!(report["adopted"], json!(true), "{call:?}");
        assert_eq!(report["done"], json!(true), "{call:?}");
        let runs = fs::read_to_string(world.project().join("runs")).unwrap();
        assert_eq!(runs, "run\n", "{call:?}");
    }
}

/// A thread whose engine died, and whose agent then left nothing but the hash that it printed.
fn printed_by_an_orphan() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.write(
        "answer.yaml",
        "roles:\n  writer:\n    - output: { note: n }\n",
    );
    // The agent speaks the contract by itself: it leaves nothing but the hash that it prints.
    let body = format!(
        "cd {project}\necho run >> runs\nstep=$({uwf} agent mock answer.yaml \"$@\")\nrm {root}/runs/$1/pending.json\n\
         touch ready\nwhile [ ! -e gate ]; do sleep 0.02; done\necho \"$step\"",
        project = world.project().display(),
        uwf = crate::world::binary().display(),
        root = world.root().display(),
    );
    world.scripted_agent(&body);
    let thread = world.start("one");
    processes::kill(at_work(&world, &thread));
    world.write("gate", "");
    world.wait_until_free(&thread);
    (world, thread)
}

/// A world with a thread whose agent printed its step only after its limit of time, and that step. The agent counts its
/// runs, and is in time from now on.
pub(crate) fn late() -> (World, String, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.write("late.yaml", &NOTE.replace("note: n", "note: late"));
    world.write("answers.yaml", NOTE);
    world.scripted_agent(&format!(
        "cd {project}\necho run >> runs\nif [ -e late ]; then\n\
         rm late; trap '{uwf} agent mock late.yaml \"$@\"; exit 1' INT TERM\nwhile :; do sleep 0.02; done\nfi\n\
         exec {uwf} agent mock answers.yaml \"$@\"",
        project = world.project().display(),
        uwf = crate::world::binary().display(),
    ));
    world.configure("agents.default.timeout", "1s");
    world.write("late", "");
    let thread = world.start("one");
    world.step(&thread).exits(3).says("came only after that");
    world.configure("agents.default.timeout", "60s");
    let printed = fs::read_to_string(world.root().join("runs").join(&thread).join("stdout"));
    let step = printed.unwrap().trim().to_owned();
    world.uwf(&["step", "read", &step]).exits(0);
    (world, thread, step)
}

#[test]
fn a_late_step_is_not_taken_in_when_the_next_attempt_is_killed_while_it_waits() {
    let (world, thread, late) = late();
    world.configure("concurrency.maxRunning", "1");
    let other = world.start("one");
    let gate = world.project().join("wait");
    let gated = format!(
        "while [ -e {} ]; do sleep 0.02; done\nexit 1",
        gate.display()
    );
    let gated = world.script("gated", &gated);
    world.write("wait", "");
    let args = ["thread", "step", &other, "--agent", gated.to_str().unwrap()];
    let at_work = world.spawn(&args);
    world.agent_at_work(&other);
    let waits = world.spawn(&["thread", "step", &thread]);
    wait_until("the thread waits", || {
        world.show(&thread)["running"]["waiting"] == json!(true)
    });
    processes::kill(waits);
    fs::remove_file(gate).unwrap();
    assert_eq!(at_work.wait_with_output().unwrap().status.code(), Some(3));
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["adopted"], json!(false));
    assert_ne!(report["head"], json!(late));
}

#[test]
fn an_interrupt_in_a_session_that_goes_on_starts_no_other_program() {
    let world = World::new();
    world.put(crate::trees::LOOP);
    let body = format!(
        "cd {}\necho \"$*\" >> calls\necho 'session: s1' >&2\nif [ -e slow ]; then touch ready; exec sleep 1000; fi\nprintf -- '---\\n$status: again\\n---\\n'",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    let args = [
        "--session-regex",
        "session: (\\w+)",
        "--resume-args",
        "--resume {session}",
        "--",
        tool.to_str().unwrap(),
        "--new",
    ];
    world.agent("uwf-command", &args);
    let thread = world.start("loop");
    world.step(&thread).exits(0);
    world.write("slow", "");
    let engine = at_work(&world, &thread);
    signal("INT", engine.id());
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(130));
    let calls = fs::read_to_string(world.project().join("calls")).unwrap();
    assert_eq!(calls, "--new\n--resume s1\n");
    fs::remove_file(world.project().join("slow")).unwrap();
    world.step(&thread).exits(0);
    let calls = fs::read_to_string(world.project().join("calls")).unwrap();
    assert_eq!(calls, "--new\n--resume s1\n--resume s1\n");
}

#[test]
fn what_a_program_behind_an_adapter_prints_is_a_sign_of_life() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = "printf -- '---\\nnote: n\\n---\\n'\nfor second in 1 2 3 4 5 6; do sleep 1; echo $second; done";
    let tool = world.script("tool", body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    world.configure("agents.default.idleTimeout", "4s");
    let thread = world.start("one");
    world.step(&thread).exits(0);
}

#[test]
fn an_answer_to_other_words_is_neither_used_nor_dropped() {
    let world = World::new();
    world.put(crate::trees::LOOP);
    let body = format!(
        "cd {}\necho run >> runs\ntouch ready\nwhile [ ! -e gate ]; do sleep 0.02; done\nprintf -- '---\\n$status: again\\n---\\n'",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("loop");
    world.write("gate", "");
    world.step(&thread).exits(0);
    for file in ["gate", "ready", "runs"] {
        fs::remove_file(world.project().join(file)).unwrap();
    }
    let engine = world.spawn(&["thread", "poke", &thread, "-p", "make it red"]);
    wait_until("the program works", || {
        world.project().join("ready").exists()
    });
    let adapter = world.agent_at_work(&thread);
    processes::kill(engine);
    signal("KILL", adapter);
    world.write("gate", "");
    wait_until("nothing is left", || alive(&world).is_empty());
    let poke = |words: &str| world.uwf(&["thread", "poke", &thread, "-p", words]);
    poke("make it blue").exits(1).says("-p 'make it red'");
    poke("make it red").exits(0);
    let runs = || fs::read_to_string(world.project().join("runs")).unwrap();
    assert_eq!(runs(), "run\n");
    poke("make it blue").exits(0);
    assert_eq!(runs(), "run\nrun\n");
}

#[test]
fn the_answer_of_a_program_that_ends_just_after_its_adapter_is_used() {
    is_paid_once("true");
}

#[test]
fn the_answer_of_such_a_program_is_used_although_it_left_something_running() {
    is_paid_once("setsid sleep 60 </dev/null >/dev/null 2>&1 &");
}

/// Kills the adapter of a program that has printed its whole answer, and does the step again. `before` is what the program
/// does first.
#[track_caller]
fn is_paid_once(before: &str) {
    let world = World::new();
    world.put(ONE_STEP);
    // The whole answer is there, and the program needs a moment to exit: it waits for the end of its adapter.
    let body = format!(
        "cd {}\n{before}\necho run >> runs\nprintf -- '---\\nnote: paid\\n---\\n'\ntouch ready\nwhile kill -0 $PPID 2>/dev/null; do sleep 0.01; done",
        world.project().display()
    );
    let tool = world.script("tool", &body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("one");
    let mut engine = at_work(&world, &thread);
    signal("KILL", world.agent_at_work(&thread));
    assert_eq!(engine.wait().unwrap().code(), Some(3));
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
    let runs = fs::read_to_string(world.project().join("runs")).unwrap();
    assert_eq!(runs, "run\n");
}
