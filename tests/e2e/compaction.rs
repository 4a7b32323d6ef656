//! Conversations of `uwf-builtin` that become too long for their model: they are made shorter and go on.

use serde_json::{Value, json};

use crate::builtin::{finish, world};
use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, World};

fn read(path: &str) -> Scripted {
    Scripted::calls(&[("read_file", json!({ "path": path }))])
}

fn too_long() -> Scripted {
    let body = r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#;
    Scripted::body(400, body)
}

fn done() -> Scripted {
    finish(json!({ "note": "n", "body": "# Done" }))
}

fn agent(server: &ModelServer, options: &[&str]) -> (World, String) {
    let world = world(ONE_STEP, server);
    world.write("large.md", &"word ".repeat(6_000));
    world.write("small.md", "remember\n");
    world.agent("uwf-builtin", options);
    let thread = world.start("one");
    (world, thread)
}

/// Returns the messages of a request.
fn messages(server: &ModelServer, number: usize) -> Vec<Value> {
    let request = server.requests()[number].json();
    request["messages"].as_array().unwrap().clone()
}

#[test]
fn results_of_tools_are_cut_when_the_server_says_that_it_is_too_much() {
    let server = ModelServer::start(vec![read("large.md"), read("small.md"), too_long(), done()]);
    let (world, thread) = agent(&server, &[]);
    world.step(&thread).exits(0);
    let last = messages(&server, 3);
    assert_eq!(last.len(), 6);
    let results: Vec<&str> = last
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(results[0].ends_with("characters of this result were cut)"));
    assert_eq!(results[1], "remember\n");
    let turns = world.uwf(&["step", "read", &thread, "--quota", "all"]);
    let turns = turns.exits(0).stdout;
    assert!(
        turns.contains("Older results of tools were cut."),
        "{turns}"
    );
}

#[test]
fn a_summary_replaces_the_older_part_before_the_window_is_full() {
    let full = read("small.md").using(&json!({ "prompt_tokens": 900, "completion_tokens": 5 }));
    let server = ModelServer::start(vec![
        read("small.md"),
        full,
        Scripted::says("I read small.md: remember."),
        done(),
    ]);
    let (world, thread) = agent(&server, &["--max-context", "1000"]);
    world.step(&thread).exits(0);
    let told = messages(&server, 2);
    assert!(
        told[1]["content"]
            .as_str()
            .unwrap()
            .contains("[result of a tool]\nremember")
    );
    let last = messages(&server, 3);
    let roles: Vec<&str> = last
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
    let task = last[1]["content"].as_str().unwrap();
    assert!(
        task.contains("## Task") && task.ends_with("I read small.md: remember.\n"),
        "{task}"
    );
    let shown = world.show(&thread);
    assert_eq!(
        shown["usage"]["costUsd"], 0.75,
        "the summary counts: {shown}"
    );
    let turns = world.uwf(&["step", "read", &thread, "--quota", "all"]);
    assert!(
        turns
            .exits(0)
            .stdout
            .contains("took the place of its older part")
    );
}

#[test]
fn a_conversation_that_stays_too_long_ends_after_a_few_tries() {
    let server = ModelServer::start(vec![read("large.md"), too_long()]);
    let (world, thread) = agent(&server, &[]);
    let failed = world.step(&thread).exits(3);
    assert_eq!(failed.json()["class"], json!("context-too-long"));
    assert!(server.requests().len() < 10, "{}", server.requests().len());
}

#[test]
fn a_compacted_session_goes_on_in_the_next_attempt() {
    let server = ModelServer::start(vec![
        read("large.md"),
        read("small.md"),
        too_long(),
        read("small.md"),
        done(),
    ]);
    let (world, thread) = agent(&server, &["--max-turns", "3"]);
    world.step(&thread).exits(3).says("within 3 turns");
    world.step(&thread).exits(0);
    let last = messages(&server, 4);
    let text = Value::Array(last.clone()).to_string();
    assert!(text.contains("of this result were cut"), "{text}");
    assert!(text.len() < 20_000, "{}", text.len());
    assert_eq!(last.last().unwrap()["role"], "user", "it is told to go on");
}
