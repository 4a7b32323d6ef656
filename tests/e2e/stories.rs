//! What a thread's story tells beside its answers: tools, usage, data that a model found, and where the thread stands.

use serde_json::json;

use crate::world::{ONE_STEP, REVIEW, Run, World, path_with};

/// What a tool prints that calls two tools, one of them in vain.
const TOOLS: &str = r#"
{"type":"system","subtype":"init","session_id":"s1","model":"some-model"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls\n-l"}}]},"session_id":"s1"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a b"}]},"session_id":"s1"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"Bash","input":{}}]},"session_id":"s1"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no"}]},"session_id":"s1"}
{"type":"result","subtype":"success","is_error":false,"result":"---\nnote: n\n---\n","session_id":"s1","total_cost_usd":0.5,"usage":{"input_tokens":5,"output_tokens":2}}
"#;

/// Returns the document of a thread.
fn read(world: &World, thread: &str) -> String {
    let args = ["thread", "read", thread, "--quota", "all"];
    world.uwf(&args).exits(0).stdout
}

/// Returns the last section of a document.
fn end(document: &str) -> &str {
    document.rsplit("\n---\n\n").next().unwrap()
}

#[test]
fn tools_and_usage_of_a_step_are_told() {
    let world = World::new();
    world.put(ONE_STEP);
    world.write("lines", TOOLS.trim_start());
    world.script("bin/claude", "cat > /dev/null; cat lines");
    world.agent("uwf-claude-code", &[]);
    let thread = world.start("one");
    let mut step = world.command(&["thread", "step", &thread]);
    step.env("PATH", path_with(&world.project().join("bin")));
    Run::from(step.output().unwrap()).exits(0);
    let document = read(&world, &thread);
    assert!(
        document.contains(" | **Usage:** 5 tokens in, 2 out, "),
        "{document}"
    );
    assert!(
        document.contains("$0.50 | **Tools:** Bash ×2\n"),
        "{document}"
    );
    assert!(document.contains(" UTC | **Duration:**"), "{document}");
    let json = ["thread", "read", &thread, "--format", "json"];
    let story = world.uwf(&json).exits(0).json();
    let calls = &story["steps"][0]["toolCalls"];
    let first = json!({ "name": "Bash", "args": "{\"command\":\"ls\\n-l\"}", "outcome": "ok" });
    assert_eq!(calls[0], first);
    assert_eq!(calls[1]["outcome"], json!("error"));
    assert_eq!(story["steps"][0]["usage"]["costUsd"], json!(0.5));
    assert_eq!(story["used"]["tokens"], json!(7));
}

#[test]
fn the_end_of_a_document_tells_where_the_thread_stands() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        r#"
roles:
  writer: [{ output: { plan: p } }]
  reviewer:
    - { output: { $status: ask, question: Which one? } }
    - { output: { $status: approved, summary: s } }
"#,
    );
    let thread = world.start("review");
    assert_eq!(
        end(&read(&world, &thread)),
        "## Idle\n\n**writer** is next.\n"
    );
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let document = read(&world, &thread);
    let asks = "## Suspended\n\n**reviewer** asks:\n\n<question>\nNeed: Which one?\n</question>\n";
    assert_eq!(end(&document), asks);
    world
        .uwf(&["thread", "resume", &thread, "-p", "The first."])
        .exits(0);
    let document = read(&world, &thread);
    assert!(
        document.contains("<person>\nThe first.\n</person>"),
        "{document}"
    );
    assert_eq!(
        end(&document),
        "## Completed\n\nThe thread has reached `$END`.\n\n<result>\nDone: s\n</result>\n"
    );
    let other = world.start("review");
    world.uwf(&["thread", "kill", &other]).exits(0);
    assert_eq!(
        end(&read(&world, &other)),
        "## Cancelled\n\nThe thread was cancelled.\n"
    );
}

#[test]
fn a_node_that_is_no_step_is_named_with_the_command_that_shows_it() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer: [{ output: { note: n } }]\n");
    let thread = world.start("one");
    let done = world.step(&thread).exits(0).json();
    let start = format!("{thread}@0");
    let workflow = done["workflow"].as_str().unwrap();
    for command in [
        &["step", "show"][..],
        &["step", "read"],
        &["thread", "step-details"],
    ] {
        let call = |node: &str| world.uwf(&[command, &[node]].concat()).exits(1);
        call(&start)
            .says("is the start of a thread and no step")
            .says("hint: `uwf cas get ");
        call(workflow)
            .says("is not a step")
            .says("hint: `uwf cas get ");
    }
}
