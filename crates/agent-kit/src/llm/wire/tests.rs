//! Requests as they go out, and answers of every shape.

#![expect(
    clippy::needless_pass_by_value,
    reason = "literals read better without `&`"
)]

use super::*;
use crate::llm::Message;

fn read(body: Value) -> Result<ChatReply, WireError> {
    reply(body.to_string().as_bytes())
}

fn check_problem(body: Value, problem: &str) {
    assert_eq!(read(body).unwrap_err().to_string(), problem);
}

fn message(message: Value) -> Value {
    json!({ "choices": [{ "message": message, "finish_reason": "stop" }] })
}

fn ask<'a>(messages: &'a [Message], answer: Answer<'a>) -> ChatRequest<'a> {
    ChatRequest {
        messages,
        tools: &[],
        answer,
        stream: false,
        max_tokens: None,
    }
}

#[test]
fn a_request_has_what_was_asked_for_and_nothing_else() {
    let messages = [Message::User("hi".to_owned())];
    let plain = request("m", &ask(&messages, Answer::Text), Dialect::first(None));
    assert_eq!(
        plain,
        json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] })
    );
    let tools = [ToolSpec {
        name: "ls".to_owned(),
        description: "Lists".to_owned(),
        parameters: json!({ "type": "object" }),
    }];
    let full = ChatRequest {
        tools: &tools,
        stream: true,
        max_tokens: Some(5),
        ..ask(&messages, Answer::Text)
    };
    let full = request("m", &full, Dialect::first(None));
    assert_eq!(full["tools"][0]["function"]["name"], "ls");
    assert_eq!(full["max_tokens"], 5);
    assert_eq!(full["stream_options"]["include_usage"], true);
    assert_eq!(full.get("response_format"), None);
}

#[test]
fn json_is_asked_for_in_three_ways_each_simpler() {
    let schema = json!({ "type": "object" });
    let ask = ask(&[], Answer::Json(&schema));
    let mut dialect = Dialect::first(None);
    let body = request("m", &ask, dialect);
    assert_eq!(
        body["response_format"]["json_schema"],
        json!({ "name": "answer", "schema": schema, "strict": false })
    );
    let refusal = "'response_format.type' must be 'text'";
    dialect = dialect.simpler(&ask, refusal).unwrap();
    let body = request("m", &ask, dialect);
    assert_eq!(body["response_format"], json!({ "type": "json_object" }));
    dialect = dialect.simpler(&ask, refusal).unwrap();
    assert_eq!(request("m", &ask, dialect).get("response_format"), None);
    assert_eq!(dialect.simpler(&ask, refusal), None);
}

#[test]
fn only_a_refusal_of_the_format_makes_it_simpler() {
    let schema = json!({});
    let json = ask(&[], Answer::Json(&schema));
    let refusal = "response_format is not supported";
    assert_eq!(
        Dialect::first(None).simpler(&json, "context too long"),
        None
    );
    let fixed = Dialect::first(Some(ResponseFormat::JsonSchema));
    assert_eq!(fixed.simpler(&json, refusal), None);
    let text = ask(&[], Answer::Text);
    assert_eq!(Dialect::first(None).simpler(&text, refusal), None);
}

#[test]
fn newer_models_get_the_newer_name_of_the_limit() {
    let ask = ChatRequest {
        max_tokens: Some(9),
        ..ask(&[], Answer::Text)
    };
    let refusal = "Use 'max_completion_tokens' instead.";
    let dialect = Dialect::first(None).simpler(&ask, refusal).unwrap();
    let body = request("m", &ask, dialect);
    assert_eq!(body["max_completion_tokens"], 9);
    assert_eq!(body.get("max_tokens"), None);
    assert_eq!(dialect.simpler(&ask, refusal), None);
}

#[test]
fn an_answer_is_read_with_all_that_it_tells() {
    let mut body = message(json!({ "role": "assistant", "content": "hi", "reasoning": "hm" }));
    body["model"] = "m-1".into();
    body["usage"] = json!({
        "prompt_tokens": 9, "completion_tokens": 0, "cost": 0.25,
        "prompt_tokens_details": { "cached_tokens": 4 }, "more": {},
    });
    let reply = read(body).unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish.as_deref()),
        ("hi", Some("stop"))
    );
    assert_eq!(reply.reasoning.as_deref(), Some("hm"));
    assert_eq!(reply.model.as_deref(), Some("m-1"));
    assert_eq!(
        reply.usage,
        Usage {
            input_tokens: Some(9),
            output_tokens: Some(0),
            cached_tokens: Some(4),
            cost_usd: Some(0.25),
            ..Usage::default()
        }
    );
}

#[test]
fn what_is_not_told_is_not_zero() {
    let reply = read(message(json!({ "content": "hi" }))).unwrap();
    assert_eq!(reply.usage, Usage::default());
}

#[test]
fn content_comes_in_several_shapes() {
    let text = |value| read(message(value)).unwrap().text;
    assert_eq!(
        text(json!({ "content": [{ "type": "text", "text": "a" }, { "text": "b" }] })),
        "ab"
    );
    assert_eq!(text(json!({ "content": "<think>hm</think> hi" })), "hi");
    assert_eq!(text(json!({ "content": "<think>hm" })), "<think>hm");
    assert_eq!(
        text(json!({ "content": null, "refusal": "I will not" })),
        "I will not"
    );
    let calls = json!({ "content": null, "tool_calls": [
        { "id": "a", "function": { "name": "ls", "arguments": "{}" } },
        { "function": { "name": "cat", "arguments": { "p": 1 } } },
        { "id": "c", "function": {} },
    ] });
    let calls = read(message(calls)).unwrap().tool_calls;
    assert_eq!(calls.len(), 2);
    assert_eq!(
        (calls[1].id.as_str(), calls[1].arguments.as_str()),
        ("call_1", r#"{"p":1}"#)
    );
}

#[test]
fn every_wrong_shape_is_named() {
    assert_eq!(reply(b"<html>").unwrap_err(), WireError::NotJson);
    check_problem(json!({}), "`choices` is missing");
    check_problem(json!({ "choices": {} }), "`choices` is not a list");
    check_problem(json!({ "choices": [] }), "`choices` is empty");
    check_problem(
        json!({ "choices": [{}] }),
        "`choices[0].message` is missing",
    );
    check_problem(message(json!("x")), "`choices[0].message` is not an object");
    check_problem(
        message(json!({})),
        "`choices[0].message.content` is missing",
    );
    check_problem(
        message(json!({ "content": 5 })),
        "`choices[0].message.content` is not a text",
    );
}

#[test]
fn an_error_under_the_status_of_a_success_is_one() {
    let status = |body| match read(body) {
        Err(WireError::Provider { status, .. }) => status,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        status(json!({ "error": { "code": 429, "message": "slow" } })),
        429
    );
    assert_eq!(status(json!({ "error": { "code": "402" } })), 402);
    assert_eq!(status(json!({ "error": "broken" })), 500);
}

#[test]
fn models_are_read_from_both_common_shapes() {
    let read = |body: Value| models(body.to_string().as_bytes());
    assert_eq!(
        read(json!({ "data": [{ "id": "a" }, { "id": "b" }] })).unwrap(),
        ["a", "b"]
    );
    assert_eq!(read(json!([{ "id": "a" }, {}])).unwrap(), ["a"]);
    assert_eq!(read(json!({})), Err(WireError::Missing("data")));
}
