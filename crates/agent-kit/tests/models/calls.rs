//! Calls of a model over a real connection: what networks and servers do, and what becomes of it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_agent_kit::llm::{
    Answer, Api, CallLimits, ChatReply, ChatRequest, Client, Endpoint, LlmError, Message,
    ResponseFormat, Secret,
};
use uwf_storage::Env;

use crate::model_server::{ModelServer, Scripted, delta};

const KEY: &str = "sk-very-secret";

fn endpoint(base_url: String) -> Endpoint {
    Endpoint {
        alias: Some("big".to_owned()),
        provider: "mine".to_owned(),
        model: "vendor/big".to_owned(),
        api: Api::Chat,
        base_url,
        key: Some(Secret::new(KEY)),
        format: None,
    }
}

fn limits() -> CallLimits {
    CallLimits {
        first_wait: Duration::from_millis(1),
        timeout: Duration::from_secs(20),
        ..CallLimits::default()
    }
}

fn client(server: &ModelServer, limits: CallLimits) -> Client {
    let env = Env::from_parts(&[], "/", 1_792_000_000_000, 0);
    Client::new(endpoint(server.base_url()), limits, &env)
}

fn hello() -> [Message; 1] {
    [Message::User("hello".to_owned())]
}

fn ask(client: &mut Client, answer: Answer<'_>, stream: bool) -> Result<ChatReply, LlmError> {
    let request = ChatRequest {
        messages: &hello(),
        tools: &[],
        answer,
        stream,
        max_tokens: None,
    };
    client.chat(&request, &mut |_| ())
}

fn call(script: Vec<Scripted>) -> (ModelServer, Result<ChatReply, LlmError>) {
    let server = ModelServer::start(script);
    let result = ask(&mut client(&server, limits()), Answer::Text, false);
    (server, result)
}

/// Calls, and asserts the code of the error, how often the server was asked, and that nothing shows the key.
#[track_caller]
fn check_error(script: Vec<Scripted>, code: &str, asked: usize) -> String {
    let (server, result) = call(script);
    let error = result.unwrap_err();
    let text = format!("{error}\n{}\n{error:?}", error.hint());
    assert_eq!(error.code(), code, "{text}");
    assert_eq!(server.requests().len(), asked, "{text}");
    assert!(!text.contains(KEY), "{text}");
    text
}

#[test]
fn a_call_says_who_asks_what_and_reads_the_answer() {
    let (server, reply) = call(vec![Scripted::says("hi")]);
    let reply = reply.unwrap();
    assert_eq!(reply.text, "hi");
    assert_eq!(reply.model.as_deref(), Some("served-model"));
    assert_eq!(reply.usage.input_tokens, Some(10));
    assert_eq!(reply.usage.cost_usd, Some(0.25));
    assert_eq!(reply.usage.turns, Some(1));
    assert_eq!(reply.usage.duration_ms, Some(0));
    let request = &server.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-very-secret")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.json()["model"], "vendor/big");
    assert_eq!(
        request.json()["messages"],
        json!([{ "role": "user", "content": "hello" }])
    );
}

#[test]
fn a_failure_that_the_caller_must_correct_is_not_retried() {
    let wrong_key = json!({ "error": { "message": format!("Incorrect key: {KEY}") } });
    let text = check_error(
        vec![Scripted::body(401, &wrong_key.to_string())],
        "unauthorized",
        1,
    );
    assert!(text.contains("Incorrect key: ***"), "{text}");
    assert!(text.contains("apiKeyEnv"), "{text}");
    check_error(vec![Scripted::body(403, "")], "unauthorized", 1);
    let text = check_error(vec![Scripted::body(404, "no such model")], "not_found", 1);
    assert!(text.contains("no such model"), "{text}");
    check_error(vec![Scripted::body(400, "too long")], "refused", 1);
}

#[test]
fn a_temporary_failure_is_retried() {
    for passing in [
        Scripted::body(500, "oops"),
        Scripted::body(429, "slow down").header("retry-after", "0"),
        Scripted::Reset,
        Scripted::Truncate("{\"choices\"".to_owned()),
        Scripted::body(200, r#"{"error":{"code":502,"message":"overloaded"}}"#),
    ] {
        let (server, reply) = call(vec![passing.clone(), Scripted::says("hi")]);
        assert_eq!(reply.unwrap().text, "hi", "{passing:?}");
        assert!(!server.requests().is_empty());
    }
}

#[test]
fn a_call_is_tried_four_times_at_most() {
    let text = check_error(vec![Scripted::body(503, "down")], "unavailable", 4);
    assert!(text.contains("4 tries") && text.contains("down"), "{text}");
    check_error(
        vec![Scripted::body(429, "quota").header("retry-after", "0")],
        "rate_limited",
        4,
    );
    let (_server, result) = call(vec![Scripted::Reset]);
    assert_eq!(result.unwrap_err().code(), "connection_failed");
}

#[test]
fn the_endpoint_says_how_long_to_wait() {
    let check = |header: &str, least: u64, most: u64| {
        let server = ModelServer::start(vec![
            Scripted::body(429, "").header("retry-after", header),
            Scripted::says("hi"),
        ]);
        let limits = CallLimits {
            first_wait: Duration::from_secs(100),
            ..limits()
        };
        let started = Instant::now();
        ask(&mut client(&server, limits), Answer::Text, false).unwrap();
        let took = started.elapsed();
        assert!(took >= Duration::from_millis(least), "{header}: {took:?}");
        assert!(took < Duration::from_millis(most), "{header}: {took:?}");
    };
    check("0.3", 300, 10_000);
    // The clock of these tests stands at 2026-10-14, 17:46:40.
    check("Wed, 14 Oct 2026 17:46:41 GMT", 1000, 10_000);
}

#[test]
fn a_server_that_is_not_there_cannot_be_reached() {
    let gone = ModelServer::start(vec![Scripted::Hang]).base_url();
    let env = Env::from_parts(&[], "/", 0, 0);
    let error = ask(
        &mut Client::new(endpoint(gone), limits(), &env),
        Answer::Text,
        false,
    )
    .unwrap_err();
    assert_eq!(error.code(), "connection_failed");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn every_time_limit_ends_a_call() {
    let check = |script: Scripted, limits: CallLimits, stream: bool| {
        let server = ModelServer::start(vec![script]);
        let started = Instant::now();
        let error = ask(&mut client(&server, limits), Answer::Text, stream).unwrap_err();
        assert_eq!(error.code(), "timeout", "{error}");
        assert!(started.elapsed() < Duration::from_secs(10), "{error}");
    };
    let short = Duration::from_millis(100);
    let whole = CallLimits {
        timeout: short,
        ..limits()
    };
    let idle = CallLimits {
        idle: short,
        ..limits()
    };
    check(Scripted::Hang, whole, false);
    check(Scripted::Hang, idle, true);
    check(Scripted::Stall(vec![delta("a")]), idle, true);
}

#[test]
fn a_refusal_is_told_where_there_is_no_time_to_wait_as_long_as_is_asked() {
    for (asked, timeout) in [
        ("50", Duration::from_secs(5)),
        ("61", Duration::from_secs(600)),
    ] {
        let refused = Scripted::body(429, "").header("retry-after", asked);
        let server = ModelServer::start(vec![refused, Scripted::says("hi")]);
        let limits = CallLimits {
            timeout,
            ..limits()
        };
        let error = ask(&mut client(&server, limits), Answer::Text, false).unwrap_err();
        assert_eq!(error.code(), "rate_limited");
        assert_eq!(error.asked(), asked.parse().ok().map(Duration::from_secs));
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn an_answer_without_end_is_cut_off() {
    let server = ModelServer::start(vec![Scripted::Endless]);
    let limits = CallLimits {
        max_response: 1024 * 1024,
        ..limits()
    };
    let error = ask(&mut client(&server, limits), Answer::Text, false).unwrap_err();
    assert_eq!(error.code(), "too_large");
    assert!(error.to_string().contains("1.0 MiB"), "{error}");
}

#[test]
fn wrong_shapes_are_named() {
    let text = check_error(vec![Scripted::body(200, "<html>")], "bad_shape", 1);
    assert!(text.contains("not JSON") && text.contains("/v1"), "{text}");
    let text = check_error(vec![Scripted::body(200, "{}")], "bad_shape", 1);
    assert!(text.contains("`choices` is missing"), "{text}");
}

#[test]
fn a_stream_is_passed_on_as_it_comes() {
    let server = ModelServer::start(vec![Scripted::streams(&["Hel", "lo"])]);
    let mut client = client(&server, limits());
    let mut pieces = Vec::new();
    let messages = hello();
    let request = ChatRequest {
        messages: &messages,
        tools: &[],
        answer: Answer::Text,
        stream: true,
        max_tokens: None,
    };
    let reply = client
        .chat(&request, &mut |text| pieces.push(text.to_owned()))
        .unwrap();
    assert_eq!(pieces, ["Hel", "lo"]);
    assert_eq!(reply.text, "Hello");
    assert_eq!(reply.usage.output_tokens, Some(5));
    assert_eq!(server.requests()[0].json()["stream"], true);
}

#[test]
fn a_stream_that_breaks_off_is_asked_for_again() {
    let server = ModelServer::start(vec![
        Scripted::Stream(vec![delta("Hel")]),
        Scripted::streams(&["Hello"]),
    ]);
    let reply = ask(&mut client(&server, limits()), Answer::Text, true).unwrap();
    assert_eq!(reply.text, "Hello");
}

#[test]
fn a_server_that_does_not_stream_is_understood_too() {
    let server = ModelServer::start(vec![Scripted::says("hi")]);
    let reply = ask(&mut client(&server, limits()), Answer::Text, true).unwrap();
    assert_eq!(reply.text, "hi");
}

#[test]
fn a_format_that_is_refused_is_made_simpler_and_remembered() {
    let refused = |word: &str| {
        Scripted::body(
            400,
            &json!({ "error": { "message": format!("{word} is not supported") } }).to_string(),
        )
    };
    let server = ModelServer::start(vec![
        refused("json_schema"),
        refused("response_format"),
        Scripted::says("{}"),
    ]);
    let mut client = client(&server, limits());
    let schema = json!({ "type": "object" });
    ask(&mut client, Answer::Json(&schema), false).unwrap();
    ask(&mut client, Answer::Json(&schema), false).unwrap();
    let formats: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json()["response_format"]["type"].clone())
        .collect();
    assert_eq!(
        formats,
        [
            json!("json_schema"),
            json!("json_object"),
            Value::Null,
            Value::Null
        ]
    );
}

#[test]
fn a_format_of_the_config_stays() {
    let server = ModelServer::start(vec![Scripted::body(400, "json_object is not supported")]);
    let endpoint = Endpoint {
        format: Some(ResponseFormat::JsonObject),
        ..endpoint(server.base_url())
    };
    let env = Env::from_parts(&[], "/", 0, 0);
    let mut client = Client::new(endpoint, limits(), &env);
    let error = ask(&mut client, Answer::Json(&json!({})), false).unwrap_err();
    assert_eq!(error.code(), "refused");
    assert!(error.hint().contains("responseFormat"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn no_redirect_is_followed_with_the_key() {
    let other = ModelServer::start(vec![Scripted::says("hi")]);
    let text = check_error(
        vec![Scripted::body(307, "").header("location", &other.base_url())],
        "redirected",
        1,
    );
    assert!(text.contains(&other.base_url()), "{text}");
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn a_proxy_of_the_environment_is_used_except_for_this_machine() {
    let proxy = ModelServer::start(vec![Scripted::says("by proxy")]);
    let env = |no_proxy| {
        let url = proxy.proxy_url();
        let variables = [("HTTP_PROXY", url.as_str()), ("NO_PROXY", no_proxy)];
        Env::from_parts(&variables, "/", 0, 0)
    };
    let far = || endpoint("http://models.invalid/v1".to_owned());
    let mut client = Client::new(far(), limits(), &env(""));
    assert_eq!(
        ask(&mut client, Answer::Text, false).unwrap().text,
        "by proxy"
    );
    assert_eq!(
        proxy.requests()[0].target,
        "http://models.invalid/v1/chat/completions"
    );

    let mut client = Client::new(far(), limits(), &env("models.invalid"));
    let error = ask(&mut client, Answer::Text, false).unwrap_err();
    assert_eq!(error.code(), "connection_failed");
    assert_eq!(proxy.requests().len(), 1);

    let here = ModelServer::start(vec![Scripted::says("direct")]);
    let mut client = Client::new(endpoint(here.base_url()), limits(), &env(""));
    assert_eq!(
        ask(&mut client, Answer::Text, false).unwrap().text,
        "direct"
    );
}

#[test]
fn a_key_that_no_header_can_hold_is_refused_and_not_shown() {
    let endpoint = Endpoint {
        key: Some(Secret::new("sk-\nsecret")),
        ..endpoint("http://127.0.0.1:1/v1".to_owned())
    };
    let env = Env::from_parts(&[], "/", 0, 0);
    let error = ask(
        &mut Client::new(endpoint, limits(), &env),
        Answer::Text,
        false,
    )
    .unwrap_err();
    assert_eq!(error.code(), "not_callable");
    assert!(!format!("{error} {error:?}").contains("secret"));
}

#[test]
fn models_are_listed_and_a_probe_is_one_small_call() {
    let list = json!({ "data": [{ "id": "a" }, { "id": "b" }] }).to_string();
    let server = ModelServer::start(vec![
        Scripted::body(200, &list),
        Scripted::says("ok"),
        Scripted::body(500, ""),
    ]);
    let mut client = client(&server, limits());
    assert_eq!(client.models().unwrap(), ["a", "b"]);
    client.probe().unwrap();
    assert_eq!(client.probe().unwrap_err().code(), "unavailable");
    let requests = server.requests();
    assert_eq!(
        (requests[0].method.as_str(), requests[0].target.as_str()),
        ("GET", "/v1/models")
    );
    assert_eq!(requests.len(), 3);
}
