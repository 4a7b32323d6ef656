//! Models behind the Messages API and the Responses API: whole steps with tools, streams, readings and summaries.

use serde_json::{Value, json};

use crate::builtin::world;
use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, World};

/// An API: its name, and how its answers look.
struct Spoken {
    api: &'static str,
    calls: fn(&str, Value) -> Scripted,
    says: fn(&str) -> Scripted,
    streams: fn(&[&str]) -> Scripted,
}

fn of_messages(content: &Value) -> Scripted {
    let body = json!({
        "type": "message", "role": "assistant", "model": "served-model", "content": content,
        "stop_reason": "end_turn",
        "usage": { "input_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 1, "output_tokens": 5 },
    });
    Scripted::body(200, &body.to_string())
}

fn of_responses(output: &Value) -> Scripted {
    let body = json!({
        "object": "response", "status": "completed", "error": null, "model": "served-model", "output": output,
        "usage": { "input_tokens": 10, "input_tokens_details": { "cached_tokens": 5 }, "output_tokens": 5 },
    });
    Scripted::body(200, &body.to_string())
}

fn said(text: &str) -> Value {
    json!([{ "type": "message", "content": [{ "type": "output_text", "text": text }] }])
}

fn stream_of_messages(pieces: &[&str]) -> Scripted {
    let start = json!({
        "type": "message_start",
        "message": { "model": "served-model", "usage": { "input_tokens": 5, "cache_read_input_tokens": 5 } },
    });
    let block =
        json!({ "type": "content_block_start", "content_block": { "type": "text", "text": "" } });
    let delta = |piece: &&str| {
        let delta = json!({ "type": "text_delta", "text": piece });
        json!({ "type": "content_block_delta", "delta": delta })
    };
    let end = json!({
        "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 5 },
    });
    let stop = json!({ "type": "message_stop" });
    let events = [start, block].into_iter();
    let events = events.chain(pieces.iter().map(delta)).chain([end, stop]);
    Scripted::Stream(events.map(|event| event.to_string()).collect())
}

fn stream_of_responses(pieces: &[&str]) -> Scripted {
    let delta = |piece: &&str| json!({ "type": "response.output_text.delta", "delta": piece });
    let whole = json!({
        "type": "response.completed",
        "response": {
            "model": "served-model", "output": said(&pieces.concat()),
            "usage": { "input_tokens": 10, "input_tokens_details": { "cached_tokens": 5 }, "output_tokens": 5 },
        },
    });
    let events = pieces.iter().map(delta).chain([whole]);
    Scripted::Stream(events.map(|event| event.to_string()).collect())
}

const APIS: [Spoken; 2] = [
    Spoken {
        api: "messages",
        calls: |name, input| {
            of_messages(&json!([{ "type": "tool_use", "id": "c1", "name": name, "input": input }]))
        },
        says: |text| of_messages(&json!([{ "type": "text", "text": text }])),
        streams: stream_of_messages,
    },
    Spoken {
        api: "responses",
        calls: |name, input| {
            let arguments = input.to_string();
            of_responses(&json!([
                { "type": "function_call", "call_id": "c1", "name": name, "arguments": arguments },
            ]))
        },
        says: |text| of_responses(&said(text)),
        streams: stream_of_responses,
    },
];

fn speaking(spoken: &Spoken, server: &ModelServer) -> World {
    let world = world(ONE_STEP, server);
    world.configure("providers.local.api", spoken.api);
    world
}

/// Returns the detail of the only step.
fn detail(world: &World, thread: &str) -> Value {
    let step = world.uwf(&["step", "show", &format!("{thread}@1")]);
    step.exits(0).json()
}

#[test]
fn an_agent_with_tools_works_behind_each_api() {
    for spoken in &APIS {
        let server = ModelServer::start(vec![
            (spoken.calls)("read_file", json!({ "path": "notes.md" })),
            (spoken.calls)("finish", json!({ "note": "n", "body": "# Done" })),
        ]);
        let world = speaking(spoken, &server);
        world.write("notes.md", "remember\n");
        world.agent("uwf-builtin", &[]);
        let thread = world.start("one");
        let done = world.step(&thread).exits(0).json();
        assert_eq!(done["done"], true, "{}", spoken.api);
        let requests = server.requests();
        assert!(requests[0].target.ends_with(&format!("/v1/{}", spoken.api)));
        let key = match spoken.api {
            "messages" => requests[0].header("x-api-key").map(str::to_owned),
            _ => requests[0]
                .header("authorization")
                .map(|it| it.replace("Bearer ", "")),
        };
        assert_eq!(key.as_deref(), Some("sk-very-secret-1"), "{}", spoken.api);
        let is_messages = spoken.api == "messages";
        assert_eq!(
            requests[0].header("anthropic-version").is_some(),
            is_messages
        );
        let second = requests[1].json().to_string();
        assert!(
            second.contains("remember") && second.contains("c1"),
            "{second}"
        );
        let usage = detail(&world, &thread)["usage"].clone();
        let tokens = ["inputTokens", "cachedTokens", "outputTokens"].map(|key| usage[key].clone());
        assert_eq!(tokens, [json!(20), json!(10), json!(10)], "{}", spoken.api);
    }
}

#[test]
fn a_streamed_answer_is_read_behind_each_api() {
    for spoken in &APIS {
        let server = ModelServer::start(vec![(spoken.streams)(&[
            "---\nnote",
            ": n\n---\n",
            "\nDone.",
        ])]);
        let world = speaking(spoken, &server);
        world.agent("uwf-llm", &[]);
        let thread = world.start("one");
        world.step(&thread).exits(0);
        assert_eq!(
            server.requests()[0].json()["stream"],
            true,
            "{}",
            spoken.api
        );
        let shown = detail(&world, &thread);
        assert_eq!(shown["output"]["note"], "n", "{shown}");
        assert_eq!(shown["usage"]["cachedTokens"], 5, "{shown}");
        assert_eq!(shown["model"], "served-model", "{shown}");
    }
}

#[test]
fn answers_are_read_and_threads_summarized_behind_each_api() {
    for spoken in &APIS {
        let server = ModelServer::start(vec![
            (spoken.says)(r#"{"note":"the note"}"#),
            (spoken.says)(r#"{"summary":"A note was written."}"#),
        ]);
        let world = speaking(spoken, &server);
        world.mock("roles: { writer: [{ output: 'My answer: the note.' }] }");
        let thread = world.start("one");
        world.step(&thread).exits(0);
        assert_eq!(detail(&world, &thread)["output"]["note"], "the note");
        let summary = world.uwf(&["thread", "summarize", &thread]).exits(0).json();
        assert_eq!(summary["text"], "A note was written.", "{}", spoken.api);
    }
}

#[test]
fn an_api_that_refuses_says_why() {
    let error = |kind: &str, text: &str| {
        json!({ "type": "error", "error": { "type": kind, "message": text } }).to_string()
    };
    let check = |status: u16, body: &str, class: &str| {
        let server = ModelServer::start(vec![Scripted::body(status, body)]);
        let world = speaking(&APIS[0], &server);
        world.agent("uwf-llm", &[]);
        let thread = world.start("one");
        let failed = world.step(&thread).exits(3).json();
        assert_eq!(failed["class"], json!(class), "{failed}");
    };
    check(
        401,
        &error("authentication_error", "invalid x-api-key"),
        "auth",
    );
    let long = error(
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
    );
    check(400, &long, "context-too-long");
    let unknown = World::new();
    unknown
        .uwf(&["config", "set", "providers.x.api", "soap"])
        .exits(1)
        .says("not one of `chat` or `messages` or `responses`");
}
