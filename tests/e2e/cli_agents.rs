//! Command line tools as agents, through the real binary: what people are told when a tool is missing or nobody
//! is logged in, what they can watch, and what a tool may print. The tools are scripts that print what those print.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::gates::wait_for_ends;
use crate::model_server::{ModelServer, Scripted};
use crate::processes::kill_all_of;
use crate::world::{ONE_STEP, Run, World, path_with, wait_until};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"some-model"}"#;
const LOOK: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look."}]},"session_id":"s1"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"---\nnote: n\n---\n","session_id":"s1","usage":{"input_tokens":5,"output_tokens":2}}"#;

/// A world with an agent whose tool is a script in the folder `bin`.
fn world(agent: &str, tool: &str, script: &str) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.write("init", INIT);
    world.write("look", LOOK);
    world.write("result", RESULT);
    world.script(&format!("bin/{tool}"), &format!("cat > asked\n{script}"));
    world.agent(agent, &[]);
    let thread = world.start("one");
    (world, thread)
}

/// Returns the command that does a step, with the tool on PATH.
fn step(world: &World, thread: &str) -> Command {
    let mut command = world.command(&["thread", "step", thread]);
    command.env("PATH", path_with(&world.project().join("bin")));
    command
}

fn run(world: &World, thread: &str) -> Run {
    step(world, thread).output().unwrap().into()
}

/// Returns the detail node of a step.
fn detail(world: &World, step: &Value) -> Value {
    let get = |hash: &Value| {
        let node = world.uwf(&["cas", "get", hash.as_str().unwrap()]).exits(0);
        node.json()["payload"].clone()
    };
    get(&get(step)["detail"])
}

#[test]
fn a_tool_on_path_does_a_step_and_what_it_used_up_is_on_record() {
    let script = "cat init; echo; cat look; echo; cat result";
    let (world, thread) = world("uwf-claude-code", "claude", script);
    let done = run(&world, &thread).exits(0).json();
    assert_eq!(done["done"], json!(true));
    let detail = detail(&world, &done["step"]);
    assert_eq!(detail["agent"], json!("uwf-claude-code"));
    assert_eq!(detail["sessionId"], json!("s1"));
    assert_eq!(detail["model"], json!("some-model"));
    assert_eq!(detail["turns"].as_array().unwrap().len(), 1);
    assert_eq!(detail["usage"]["inputTokens"], json!(5));
    assert_eq!(detail["usage"]["costUsd"], json!(null));
}

#[test]
fn a_tool_that_is_not_installed_is_named_with_the_way_to_get_it() {
    for (agent, tool, hint) in [
        (
            "uwf-claude-code",
            "claude",
            "npm install -g @anthropic-ai/claude-code",
        ),
        ("uwf-codex", "codex", "npm install -g @openai/codex"),
        ("uwf-gemini", "gemini", "npm install -g @google/gemini-cli"),
        ("uwf-cursor", "cursor-agent", "--program <path>"),
        ("uwf-opencode", "opencode", "npm install -g opencode-ai"),
    ] {
        let (world, thread) = world(agent, "other", "");
        let mut command = world.command(&["thread", "step", &thread]);
        let run: Run = command
            .env("PATH", world.project())
            .output()
            .unwrap()
            .into();
        run.exits(3)
            .says(&format!("`{tool}` could not be started"))
            .says(hint);
        let attempt = &world.show(&thread)["attempts"][0];
        assert_eq!(attempt["phase"], json!("spawn"));
    }
}

#[test]
fn a_tool_in_which_nobody_is_logged_in_is_told_by_its_own_words() {
    let not_logged_in = r#"{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login","session_id":"s1"}"#;
    let unauthorized = r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Missing bearer"}}"#;
    let no_method = "Please set an Auth method in your settings.json or specify GEMINI_API_KEY";
    for (agent, tool, script, hint) in [
        (
            "uwf-claude-code",
            "claude",
            format!("echo '{not_logged_in}'; exit 1"),
            "claude auth login",
        ),
        (
            "uwf-codex",
            "codex",
            format!("echo '{unauthorized}'; exit 1"),
            "codex login",
        ),
        (
            "uwf-gemini",
            "gemini",
            format!("echo '{no_method}' >&2; exit 41"),
            "run `gemini` once",
        ),
        (
            "uwf-cursor",
            "cursor-agent",
            "echo 'Error: Authentication required.'; exit 1".to_owned(),
            "cursor-agent login",
        ),
        (
            "uwf-opencode",
            "opencode",
            r#"echo '{"type":"error","sessionID":"s1","error":{"name":"APIError","data":{"message":"no","statusCode":401}}}'; exit 1"#.to_owned(),
            "opencode auth login",
        ),
    ] {
        let (world, thread) = world(agent, tool, &script);
        run(&world, &thread).exits(3).says(hint);
    }
}

/// Does a step with `-v`, and returns what it prints on stderr.
fn watched(world: &World, thread: &str) -> String {
    let mut command = world.command(&["-v", "thread", "step", thread]);
    command.env("PATH", path_with(&world.project().join("bin")));
    Run::from(command.output().unwrap()).exits(0).stderr
}

#[test]
fn each_turn_is_a_line_for_those_who_watch() {
    let bash = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls -l"}}]},"session_id":"s1"}"#;
    let script = format!("cat init; echo; cat look; echo; echo '{bash}'; cat result");
    let (world, thread) = world("uwf-claude-code", "claude", &script);
    let shown = watched(&world, &thread);
    assert!(shown.contains("uwf-claude-code: I look.\n"), "{shown}");
    assert!(
        shown.contains(r#"uwf-claude-code: calls Bash {"command":"ls -l"}"#),
        "{shown}"
    );
}

#[test]
fn a_model_that_answers_alone_is_told_and_recorded_by_the_name_that_was_asked_for() {
    let answer = json!({ "choices": [{ "message": { "content": "---\nnote: n\n---\n" }, "finish_reason": "stop" }] });
    let server = ModelServer::start(vec![Scripted::body(200, &answer.to_string())]);
    let world = World::new();
    world.model("small", &server.base_url());
    world.configure("defaultModel", "small");
    world.put(ONE_STEP);
    world.agent("uwf-llm", &[]);
    let thread = world.start("one");
    let shown = watched(&world, &thread);
    assert!(shown.contains("uwf-llm: note: n\n"), "{shown}");
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(
        detail(&world, &steps["steps"][1]["hash"])["model"],
        json!("vendor/small")
    );
}

#[test]
fn a_tool_that_names_no_model_is_recorded_with_the_one_that_was_asked_for() {
    let events = r#"{"type":"item.completed","item":{"type":"agent_message","text":"---\\nnote: n\\n---\\n"}}
{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let (world, thread) = world("uwf-codex", "codex", "cat events");
    world.write("events", &events.replace("\\\\", "\\"));
    world.agent("uwf-codex", &["--model", "some-model"]);
    let done = run(&world, &thread).exits(0).json();
    assert_eq!(detail(&world, &done["step"])["model"], json!("some-model"));
}

#[test]
fn an_error_of_a_tool_is_told_without_colours_traces_and_warnings_of_its_start() {
    let script = r"printf 'Warning: 256-color support not detected.\n\033[91mError: no quota\033[0m\n    at send (file:///opt/x.js:1:2)\n' >&2; exit 1";
    let (world, thread) = world("uwf-gemini", "gemini", script);
    run(&world, &thread).exits(3);
    let error = world.show(&thread)["attempts"][0]["error"].clone();
    assert_eq!(error, "`gemini` exited with code 1: Error: no quota");
}

#[test]
fn turns_can_be_watched_while_the_tool_works() {
    let script =
        "cat init; echo; cat look; echo; while [ ! -e go ]; do sleep 0.02; done; cat result";
    let (world, thread) = world("uwf-claude-code", "claude", script);
    let mut child = step(&world, &thread).spawn().unwrap();
    let live = format!("runs/{thread}/live.jsonl");
    wait_until("the turn is there", || {
        world.state(&live).contains("I look.")
    });
    let line: Value = serde_json::from_str(world.state(&live).trim()).unwrap();
    assert_eq!(line["role"], json!("assistant"));
    world.write("go", "");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_tool_that_tells_what_it_does_is_not_idle() {
    let script =
        "cat init; echo; for i in 1 2 3 4 5; do cat look; echo; sleep 0.5; done; cat result";
    let (world, thread) = world("uwf-claude-code", "claude", script);
    world.configure("agents.default.idleTimeout", "2s");
    run(&world, &thread).exits(0);
}

#[test]
fn sixty_mebibytes_of_tool_results_do_not_fill_the_memory() {
    // 60 results of a mebibyte each, then a line of 20 MiB, and what our process needed at most.
    let script = r#"
result() { printf '{"type":"user","session_id":"s1","message":{"content":[{"type":"tool_result","content":"'
    head -c "$1" /dev/zero | tr '\0' y; echo '"}]}}'; }
cat init; echo
i=0; while [ $i -lt 60 ]; do result 1048576; i=$((i+1)); done
result 20971520
grep VmHWM /proc/$PPID/status > peak
cat result"#;
    let (world, thread) = world("uwf-claude-code", "claude", script);
    let done = run(&world, &thread).exits(0).json();
    let detail = detail(&world, &done["step"]);
    let turns = detail["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 61);
    let content = |turn: &Value| {
        let node = world.uwf(&["cas", "get", turn.as_str().unwrap()]).exits(0);
        node.json()["payload"]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(content(&turns[0]).contains("KiB left out …]"));
    assert_eq!(content(&turns[60]), "[… a line of 20.0 MiB left out …]");
    let peak = fs::read_to_string(world.project().join("peak")).unwrap();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 80 * 1024, "{peak} KiB");
}

/// Works on and on, until its session is to go on: then it answers.
const NEVER_DONE: &str = r#"case "$*" in
*"--resume s1"*) mv asked continued; cat init; echo; cat result ;;
*) cat init; echo; cat look; echo; exec sleep 60 ;;
esac"#;

/// Asserts that the next step goes on with the session, and is not given the task again.
#[track_caller]
fn goes_on(world: &World, thread: &str, told: &str) {
    // On a busy machine even the answer may take longer than the limit of the first attempt.
    world.configure("agents.default.timeout", "60s");
    run(world, thread).exits(0);
    let continued = fs::read_to_string(world.project().join("continued")).unwrap();
    assert!(continued.contains(told), "{continued}");
    assert!(!continued.contains("the task"), "{continued}");
}

#[test]
fn the_session_of_an_agent_that_was_out_of_time_goes_on() {
    let (world, thread) = world("uwf-claude-code", "claude", NEVER_DONE);
    world.configure("agents.default.timeout", "2s");
    run(&world, &thread).exits(3).says("time limit");
    assert_eq!(world.show(&thread)["attempts"][0]["sessionId"], json!("s1"));
    goes_on(&world, &thread, "time limit");
}

#[test]
fn the_session_of_an_agent_that_was_killed_with_its_engine_goes_on() {
    let (world, thread) = world("uwf-claude-code", "claude", NEVER_DONE);
    let engine = step(&world, &thread).spawn().unwrap();
    let live = format!("runs/{thread}/live.jsonl");
    wait_until("the turn is there", || {
        world.state(&live).contains("I look.")
    });
    kill_all_of(&world);
    wait_for_ends(&mut [engine], 1);
    goes_on(&world, &thread, "interrupted");
}

#[test]
fn a_session_in_which_nothing_was_done_is_not_gone_on_with() {
    // It may not even hold the task.
    let script = "cat init; echo; if [ -e ready ]; then cat result; else exec sleep 60; fi";
    let (world, thread) = world("uwf-claude-code", "claude", script);
    world.configure("agents.default.timeout", "2s");
    run(&world, &thread).exits(3).says("time limit");
    fs::write(world.project().join("ready"), "").unwrap();
    world.configure("agents.default.timeout", "60s");
    run(&world, &thread).exits(0);
    let asked = fs::read_to_string(world.project().join("asked")).unwrap();
    assert!(asked.contains("the task"), "{asked}");
}

#[test]
fn every_built_in_agent_tells_how_it_is_called() {
    let world = World::new();
    let list = world.uwf(&["agent", "--help"]).exits(0).stdout;
    for name in uwf_agents::BUILT_IN {
        assert!(list.contains(&format!("\n  {name} ")), "{name}: {list}");
        let long = world.uwf(&["agent", name, "--help"]).exits(0);
        assert!(
            long.stdout.contains(&format!("Usage: uwf-{name} "))
                && long.stdout.contains("\nOptions:\n  --"),
            "{}",
            long.stdout
        );
        assert!(long.stdout.contains("<thread> <role>"), "{}", long.stdout);
        assert_eq!(long.stderr, "");
        assert_eq!(
            world.uwf(&["agent", name, "-h"]).exits(0).stdout,
            long.stdout
        );
        // What is no call and no question for help is still a mistake.
        world.uwf(&["agent", name]).exits(2).says("usage: uwf-");
    }
    assert!(!world.root().exists());
}

#[test]
fn no_part_of_a_secret_is_left_where_a_line_of_progress_is_cut() {
    let secret = "ghp_a_secret_of_some_length";
    let text = format!("{}{secret}", "a".repeat(90));
    let look = json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] }, "session_id": "s1" });
    let script = format!("echo '{look}'; echo '{text}'; cat result");
    let (world, thread) = world("uwf-claude-code", "claude", &script);
    fs::write(world.root().join(".env"), format!("GH_TOKEN={secret}\n")).unwrap();
    world.configure("agents.default.secrets", r#"["GH_TOKEN"]"#);
    let stderr = watched(&world, &thread);
    let kept = world.state(&format!("runs/{thread}/stderr"));
    for shown in [stderr, kept] {
        assert!(shown.contains("aaa*") && !shown.contains("ghp_"), "{shown}");
    }
}

#[test]
fn no_part_of_a_secret_is_left_where_an_error_is_cut() {
    let secret = "ghp_a_secret_of_some_length";
    // Of both, the last 2000 characters are kept: they would begin within the secret.
    let long = format!("{secret}{}", "b".repeat(1990));
    let event = json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "result": long, "session_id": "s1" });
    for script in [
        format!("echo '{long}'; exit 1"),
        format!("echo '{event}'; exit 1"),
    ] {
        let (world, thread) = world("uwf-claude-code", "claude", &script);
        fs::write(world.root().join(".env"), format!("GH_TOKEN={secret}\n")).unwrap();
        world.configure("agents.default.secrets", r#"["GH_TOKEN"]"#);
        let stderr = run(&world, &thread).exits(3).stderr;
        let attempts = world.show(&thread)["attempts"].to_string();
        for shown in [stderr, attempts] {
            assert!(shown.contains("***bbb"), "{shown}");
            assert!(!shown.contains("some_length"), "{shown}");
        }
    }
}
