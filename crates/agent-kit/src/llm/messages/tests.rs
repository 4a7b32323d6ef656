//! What the Messages API is sent, and what is read from its answers.

use super::*;
use crate::llm::Answer;

fn call(id: &str, arguments: &str) -> ToolRequest {
    ToolRequest {
        id: id.to_owned(),
        name: "ls".to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn body(messages: &[Message], tools: &[ToolSpec]) -> Value {
    let asked = ChatRequest {
        messages,
        tools,
        answer: Answer::Text,
        stream: false,
        max_tokens: None,
    };
    request("claude", &asked, Dialect::first(None))
}

#[test]
fn a_conversation_becomes_turns_with_its_system_prompt_beside_them() {
    let messages = [
        Message::System("be brief".to_owned()),
        Message::User("go".to_owned()),
        Message::Assistant {
            text: String::new(),
            tool_calls: vec![call("1", r#"{"path":"."}"#), call("2", "no json")],
        },
        Message::Tool {
            call_id: "1".to_owned(),
            text: "a.txt".to_owned(),
        },
        Message::Tool {
            call_id: "2".to_owned(),
            text: "error: no".to_owned(),
        },
        Message::User("and now?".to_owned()),
    ];
    let tools = [ToolSpec {
        name: "ls".to_owned(),
        description: "lists".to_owned(),
        parameters: json!({ "type": "object" }),
    }];
    let kept = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "claude",
        "max_tokens": 16_000,
        "system": [{ "type": "text", "text": "be brief", "cache_control": kept }],
        "tools": [{ "name": "ls", "description": "lists", "input_schema": { "type": "object" } }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "go" }] },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "1", "name": "ls", "input": { "path": "." } },
                { "type": "tool_use", "id": "2", "name": "ls", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "1", "content": "a.txt" },
                { "type": "tool_result", "tool_use_id": "2", "content": "error: no", "is_error": true },
                { "type": "text", "text": "and now?", "cache_control": kept },
            ] },
        ],
    });
    assert_eq!(body(&messages, &tools), expected);
    let plain = body(&messages[..2], &[]);
    assert!(!plain.to_string().contains("cache_control"), "{plain}");
}

#[test]
fn an_answer_has_text_calls_and_the_tokens_of_caches() {
    let answer = json!({
        "model": "claude-1", "stop_reason": "tool_use",
        "content": [
            { "type": "thinking", "thinking": "hm" },
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "1", "name": "ls", "input": { "path": "." } },
        ],
        "usage": {
            "input_tokens": 10, "output_tokens": 5,
            "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
        },
    });
    let reply = reply(answer.to_string().as_bytes()).unwrap();
    assert_eq!(reply.text, "I look.");
    assert_eq!(reply.reasoning.as_deref(), Some("hm"));
    assert_eq!(reply.tool_calls, [call("1", r#"{"path":"."}"#)]);
    assert_eq!(reply.finish.as_deref(), Some("tool_calls"));
    let usage = Usage {
        input_tokens: Some(130),
        output_tokens: Some(5),
        cached_tokens: Some(100),
        cache_write_tokens: Some(20),
        ..Usage::default()
    };
    assert_eq!(reply.usage, usage);
}

#[test]
fn the_pieces_of_a_stream_become_the_same_answer() {
    let events = [
        json!({ "type": "message_start", "message": { "model": "claude-1", "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "I " } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "look." } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "1", "name": "ls", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "{\"path\":" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": "\".\"}" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ];
    let mut assembly = Assembly::default();
    let texts = events
        .iter()
        .filter_map(|event| assembly.take(&event.to_string()).unwrap());
    assert_eq!(texts.collect::<String>(), "I look.");
    let reply = assembly.finish().unwrap();
    assert_eq!(reply.text, "I look.");
    assert_eq!(reply.tool_calls, [call("1", r#"{"path":"."}"#)]);
    assert_eq!(
        (reply.usage.input_tokens, reply.usage.output_tokens),
        (Some(10), Some(9))
    );
    let mut broken = Assembly::default();
    broken.take(&events[0].to_string()).unwrap();
    assert_eq!(broken.finish(), Err(WireError::Truncated));
}

#[test]
fn an_error_within_a_stream_is_one_of_its_kind() {
    let event =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
    let error = Assembly::default().take(&event.to_string());
    assert!(
        matches!(error, Err(WireError::Provider { status: 529, .. })),
        "{error:?}"
    );
    assert_eq!(reply(b"{}"), Err(WireError::Missing("content")));
}
