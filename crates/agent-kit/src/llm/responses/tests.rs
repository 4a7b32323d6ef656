//! What the Responses API is sent, and what is read from its answers.

use super::*;

fn call() -> ToolRequest {
    ToolRequest {
        id: "1".to_owned(),
        name: "ls".to_owned(),
        arguments: "{}".to_owned(),
    }
}

fn answer() -> Value {
    json!({
        "model": "gpt-1", "status": "completed", "error": null,
        "output": [
            { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "hm" }] },
            { "type": "message", "content": [{ "type": "output_text", "text": "I look." }] },
            { "type": "function_call", "call_id": "1", "name": "ls", "arguments": "{}" },
        ],
        "usage": { "input_tokens": 10, "input_tokens_details": { "cached_tokens": 4 }, "output_tokens": 5 },
    })
}

#[test]
fn a_conversation_becomes_items() {
    let messages = [
        Message::System("be brief".to_owned()),
        Message::User("go".to_owned()),
        Message::Assistant {
            text: "I look.".to_owned(),
            tool_calls: vec![call()],
        },
        Message::Tool {
            call_id: "1".to_owned(),
            text: "a.txt".to_owned(),
        },
    ];
    let schema = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let asked = ChatRequest {
        messages: &messages,
        tools: &[],
        answer: Answer::Json(&schema),
        stream: true,
        max_tokens: Some(7),
    };
    let said = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let expected = json!({
        "model": "gpt", "store": false, "stream": true, "max_output_tokens": 7,
        "text": { "format": { "type": "json_schema", "name": "answer", "schema": schema, "strict": true } },
        "input": [
            said("system", "input_text", "be brief"),
            said("user", "input_text", "go"),
            said("assistant", "output_text", "I look."),
            { "type": "function_call", "call_id": "1", "name": "ls", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "1", "output": "a.txt" },
        ],
    });
    assert_eq!(request("gpt", &asked, Dialect::first(None)), expected);
}

#[test]
fn an_answer_has_text_calls_and_usage() {
    let reply = reply(answer().to_string().as_bytes()).unwrap();
    assert_eq!(reply.text, "I look.");
    assert_eq!(reply.reasoning.as_deref(), Some("hm"));
    assert_eq!(reply.tool_calls, [call()]);
    assert_eq!(reply.finish.as_deref(), Some("tool_calls"));
    let tokens = (
        reply.usage.input_tokens,
        reply.usage.cached_tokens,
        reply.usage.output_tokens,
    );
    assert_eq!(tokens, (Some(10), Some(4), Some(5)));
}

#[test]
fn a_stream_has_its_text_in_pieces_and_the_whole_answer_at_its_end() {
    let mut assembly = Assembly::default();
    let mut take = |event: Value| assembly.take(&event.to_string()).unwrap();
    take(json!({ "type": "response.created", "response": { "output": [] } }));
    let piece = take(json!({ "type": "response.output_text.delta", "delta": "I look." }));
    assert_eq!(piece.as_deref(), Some("I look."));
    take(json!({ "type": "response.completed", "response": answer() }));
    assert_eq!(assembly.finish(), reply(answer().to_string().as_bytes()));
    let mut broken = Assembly::default();
    broken.take(r#"{"type":"response.created"}"#).unwrap();
    assert_eq!(broken.finish(), Err(WireError::Truncated));
}

#[test]
fn an_answer_that_was_cut_off_and_one_that_failed_say_so() {
    let mut cut_off = answer();
    cut_off["output"] = json!([]);
    cut_off["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    let cut_off = reply(cut_off.to_string().as_bytes()).unwrap();
    assert_eq!(cut_off.finish.as_deref(), Some("length"));
    let failed = json!({
        "type": "response.failed",
        "response": { "error": { "code": "context_length_exceeded", "message": "too much" } },
    });
    let failed = Assembly::default().take(&failed.to_string());
    assert!(
        matches!(failed, Err(WireError::Provider { status: 400, .. })),
        "{failed:?}"
    );
    let error =
        Assembly::default().take(r#"{"type":"error","code":"rate_limit_exceeded","message":"m"}"#);
    assert!(
        matches!(error, Err(WireError::Provider { status: 429, .. })),
        "{error:?}"
    );
}
