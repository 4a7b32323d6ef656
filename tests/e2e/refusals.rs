//! Agents that were not allowed to do what they tried: every view of the step tells it. The tools are scripts that
//! print what those print.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, Run, World, path_with};

const ANSWER: &str = r"---\nnote: n\n---\n";

/// A world whose agent drives a tool that prints these lines, and a thread of one step.
fn world(agent: &str, tool: &str, lines: &str) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.write("lines", lines.replace("ANSWER", ANSWER).trim_start());
    world.script(&format!("bin/{tool}"), "cat > /dev/null; cat lines");
    world.agent(agent, &[]);
    let thread = world.start("one");
    (world, thread)
}

fn step(world: &World, thread: &str, format: &str) -> Run {
    let mut command = world.command(&["thread", "step", thread, "--format", format]);
    command.env("PATH", path_with(&world.project().join("bin")));
    Run::from(command.output().unwrap()).exits(0)
}

/// Does a step, and returns what it says about calls that were refused.
fn refused(agent: &str, tool: &str, lines: &str) -> Value {
    let (world, thread) = world(agent, tool, lines);
    step(&world, &thread, "json").json()["refusedCalls"].clone()
}

/// What Claude Code prints when nobody is there to ask: two refusals on the way, and three in its result.
const CLAUDE: &str = r#"
{"type":"system","subtype":"init","session_id":"s1","model":"some-model"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Edit","input":{}}]},"session_id":"s1"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Claude requested permissions to write to /x, but you haven't granted it yet."}]},"session_id":"s1"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"Bash","input":{}}]},"session_id":"s1"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"This Bash command contains multiple operations. The following part requires approval: x"}]},"session_id":"s1"}
{"type":"result","subtype":"success","is_error":false,"result":"ANSWER","session_id":"s1","permission_denials":[{"tool_name":"Edit","tool_use_id":"t1"},{"tool_name":"Bash","tool_use_id":"t2"},{"tool_name":"Edit","tool_use_id":"t3"}]}
"#;

#[test]
fn calls_that_were_refused_are_told_by_every_view_of_the_step() {
    let (world, thread) = world("uwf-claude-code", "claude", CLAUDE);
    let done = step(&world, &thread, "json").json();
    let counted = json!([{ "tool": "Edit", "calls": 2 }, { "tool": "Bash", "calls": 1 }]);
    assert_eq!(done["refusedCalls"], counted);
    let hash = done["step"].as_str().unwrap();
    assert_eq!(world.show(&thread)["refusedCalls"], counted);
    let json = |args: &[&str]| world.uwf(args).exits(0).json();
    let steps = json(&["thread", "steps", &thread]);
    assert_eq!(steps["steps"][1]["refusedCalls"], counted);
    let detail = json(&["step", "show", hash, "--format", "json"]);
    assert_eq!(detail["refusedCalls"], counted);

    let text = |args: &[&str]| world.uwf(args).exits(0).stdout;
    for view in [
        text(&["thread", "show", &thread, "--format", "text"]),
        text(&["thread", "steps", &thread, "--format", "text"]),
        text(&["thread", "read", &thread]),
        text(&["step", "read", hash]),
    ] {
        assert!(
            view.contains("3 tool calls were refused: Edit, Bash"),
            "{view}"
        );
    }
    world.uwf(&["cas", "verify"]).exits(0);

    // Calls and their answers can be matched, and those that were refused be found.
    let turns = detail["turns"].as_array().unwrap();
    let ids: Vec<&Value> = turns
        .iter()
        .filter_map(|turn| turn.pointer("/toolCalls/0/id"))
        .collect();
    assert_eq!(ids, ["t1", "t2"]);
    let answers: Vec<&Value> = turns
        .iter()
        .filter_map(|turn| turn.get("answers"))
        .collect();
    let refused = |id: &str| json!({ "callId": id, "outcome": "refused" });
    assert_eq!(answers, [&refused("t1"), &refused("t2")]);
    let read = text(&["step", "read", hash]);
    assert!(
        read.contains("**Turn role:** tool (Bash, refused)"),
        "{read}"
    );
}

#[test]
fn a_step_tells_people_that_its_agent_was_refused_something() {
    let (world, thread) = world("uwf-claude-code", "claude", CLAUDE);
    let told = step(&world, &thread, "text").stdout;
    assert!(
        told.contains("refused  3 tool calls were refused: Edit, Bash"),
        "{told}"
    );
    assert!(told.contains("uwf doctor"), "{told}");
}

#[test]
fn a_step_without_refusals_says_nothing_about_them_and_keeps_its_form() {
    let lines = r#"{"type":"result","subtype":"success","is_error":false,"result":"ANSWER","permission_denials":[]}"#;
    let (world, thread) = world("uwf-claude-code", "claude", lines);
    let done = step(&world, &thread, "json").json();
    assert_eq!(done.get("refusedCalls"), None);
    let get = |hash: &Value| {
        world
            .uwf(&["cas", "get", hash.as_str().unwrap()])
            .exits(0)
            .json()
    };
    let detail = get(&get(&done["step"])["payload"]["detail"]);
    assert_eq!(detail["type"], "BVC993YSEPJZD");
    assert_eq!(detail["payload"].get("refusedCalls"), None);
}

#[test]
fn each_tool_says_in_its_own_way_that_a_call_was_refused() {
    let codex = r#"
{"type":"thread.started","thread_id":"t1"}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"x","aggregated_output":"OSError: [Errno 30] Read-only file system: 'a'\n","exit_code":1,"status":"failed"}}
{"type":"item.completed","item":{"id":"i2","type":"command_execution","command":"y","aggregated_output":"2 failed","exit_code":1,"status":"failed"}}
{"type":"item.completed","item":{"id":"i3","type":"command_execution","command":"z","aggregated_output":"","exit_code":null,"status":"declined"}}
{"type":"item.completed","item":{"id":"i4","type":"agent_message","text":"ANSWER"}}
{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}
"#;
    assert_eq!(
        refused("uwf-codex", "codex", codex),
        json!([{ "tool": "command_execution", "calls": 2 }])
    );
    let gemini = r#"
{"type":"init","session_id":"s1","model":"m"}
{"type":"tool_use","tool_name":"replace","tool_id":"a","parameters":{}}
{"type":"tool_result","tool_id":"a","status":"error","error":{"type":"tool_not_registered","message":"Tool \"replace\" not found in registry."}}
{"type":"tool_use","tool_name":"read_file","tool_id":"b","parameters":{}}
{"type":"tool_result","tool_id":"b","status":"error","error":{"type":"file_not_found","message":"no such file"}}
{"type":"message","role":"assistant","content":"ANSWER"}
{"type":"result","status":"success","stats":{}}
"#;
    assert_eq!(
        refused("uwf-gemini", "gemini", gemini),
        json!([{ "tool": "replace", "calls": 1 }])
    );
    let opencode = r#"
{"type":"tool_use","sessionID":"s1","part":{"tool":"edit","callID":"a","state":{"status":"error","input":{},"error":"The user has specified a rule which prevents you from using this specific tool call."}}}
{"type":"tool_use","sessionID":"s1","part":{"tool":"read","callID":"b","state":{"status":"error","input":{},"error":"File not found"}}}
{"type":"text","sessionID":"s1","part":{"text":"ANSWER"}}
{"type":"step_finish","sessionID":"s1","part":{"reason":"stop","messageID":"m","tokens":{"input":1,"output":1}}}
"#;
    assert_eq!(
        refused("uwf-opencode", "opencode", opencode),
        json!([{ "tool": "edit", "calls": 1 }])
    );
    let cursor = r#"
{"type":"tool_call","subtype":"completed","tool_call":{"shellToolCall":{"args":{"command":"ls"},"result":{"rejected":{"reason":"not allowed"}}}}}
{"type":"result","subtype":"success","is_error":false,"result":"ANSWER"}
"#;
    assert_eq!(
        refused("uwf-cursor", "cursor-agent", cursor),
        json!([{ "tool": "shell", "calls": 1 }])
    );
}

#[test]
fn a_failed_attempt_tells_what_its_agent_was_refused() {
    let lines = CLAUDE.replace("ANSWER", "I could not edit anything.");
    let (world, thread) = world("uwf-claude-code", "claude", &lines);
    let mut command = world.command(&["thread", "step", &thread]);
    command.env("PATH", path_with(&world.project().join("bin")));
    let run = Run::from(command.output().unwrap());
    run.exits(3).says("tool calls were refused: Edit, Bash");
}

#[test]
fn a_model_that_calls_the_shell_without_leave_is_told_so_and_so_are_people() {
    let finish = json!({ "note": "n", "body": "Done." });
    let server = ModelServer::start(vec![
        Scripted::calls(&[("shell_exec", json!({ "command": "ls" }))]),
        Scripted::calls(&[("finish", finish)]),
    ]);
    let world = World::new();
    world.model("small", &server.base_url());
    world.configure("defaultModel", "small");
    world.put(ONE_STEP);
    world.agent("uwf-builtin", &[]);
    let thread = world.start("one");
    let done = world.step(&thread).exits(0).json();
    assert_eq!(
        done["refusedCalls"],
        json!([{ "tool": "shell_exec", "calls": 1 }])
    );
}

#[test]
fn the_list_says_why_a_thread_whose_agent_was_refused_is_idle() {
    let again = CLAUDE.replace("ANSWER", r"---\n$status: again\n---\n");
    let (world, _) = world("uwf-claude-code", "claude", &again);
    world.put(crate::trees::LOOP);
    let thread = world.start("loop");
    step(&world, &thread, "json");
    let list = ["thread", "list"];
    let listed = world.uwf(&list).exits(0).json();
    let listed = listed.as_array().unwrap().iter();
    let found: Vec<&Value> = listed
        .filter(|one| one["thread"] == json!(thread))
        .collect();
    assert_eq!(found[0]["status"], json!("idle"));
    assert_eq!(found[0]["refusedCalls"][0]["tool"], json!("Edit"));
    let text = world.uwf(&[&list[..], &["--format", "text"]].concat());
    let says = "3 tool calls were refused: Edit, Bash";
    assert!(text.exits(0).stdout.contains(says));
}

#[test]
fn top_says_which_calls_were_refused_to_the_agent_of_a_thread_that_asks() {
    let asks = CLAUDE.replace("ANSWER", r"---\n$status: $SUSPEND\nreason: Which?\n---\n");
    let (world, thread) = world("uwf-claude-code", "claude", &asks);
    step(&world, &thread, "json");
    let top = world.uwf(&["thread", "top"]).exits(0).json();
    assert_eq!(top[0]["refusedCalls"][0]["tool"], json!("Edit"), "{top}");
    let text = ["thread", "top", "--format", "text"];
    let text = world.uwf(&text).exits(0).stdout;
    assert!(text.contains("3 tool calls were refused"), "{text}");
}
