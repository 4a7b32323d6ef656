//! The loop between a model and its tools, with a model that answers from a script.

use serde_json::{Value, json};
use uwf_agent_kit::llm::{CallLimits, Client, Endpoint, Message, ToolRequest, ToolSpec};
use uwf_agent_kit::tool_loop::{
    AcceptText, Finish, Finished, Limits, LoopResult, Observed, ToolLoop, ToolLoopError, Toolbox,
};
use uwf_protocol::nodes::TurnRole;
use uwf_storage::Env;

use crate::model_server::{ModelServer, Scripted};

/// Tools that repeat what they are told, and remember it.
#[derive(Default)]
struct Echo {
    has_tool: bool,
    told: Vec<String>,
}

impl Toolbox for Echo {
    fn specs(&self) -> Vec<ToolSpec> {
        let echo = ToolSpec {
            name: "echo".to_owned(),
            description: "Repeats".to_owned(),
            parameters: json!({ "type": "object" }),
        };
        Vec::from_iter(self.has_tool.then_some(echo))
    }

    fn call(&mut self, request: &ToolRequest) -> String {
        if request.name != "echo" {
            return format!("error: there is no tool `{}`", request.name);
        }
        self.told.push(request.arguments.clone());
        format!("echo {}", request.arguments)
    }
}

/// What a run did.
struct Ran {
    result: Result<Finished, Box<ToolLoopError>>,
    messages: Vec<Message>,
    server: ModelServer,
    told: Vec<String>,
    observed: Vec<TurnRole>,
}

/// Runs with a result that must have `n: 1`.
fn run(script: Vec<Scripted>, has_tool: bool) -> Ran {
    let server = ModelServer::start(script);
    let endpoint = Endpoint {
        alias: Some("m".to_owned()),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        api: uwf_agent_kit::llm::Api::Chat,
        base_url: server.base_url(),
        key: None,
        format: None,
    };
    let env = Env::from_parts(&[], "/", 0, 0);
    let mut client = Client::new(endpoint, CallLimits::default(), &env);
    let mut tools = Echo {
        has_tool,
        ..Echo::default()
    };
    let mut messages = vec![Message::User("count".to_owned())];
    let mut observed = Vec::new();
    let accept = |value: &Value| match value["n"] == 1 {
        true => Ok(()),
        false => Err(format!("`n` must be 1 in {value}")),
    };
    let accept_text = |text: &str| {
        let words = text.strip_prefix("result: ")?;
        Some(match words {
            "one" => Ok(()),
            _ => Err(format!("`{words}` is not one")),
        })
    };
    let result = ToolLoop {
        client: &mut client,
        tools: &mut tools,
        finish: Finish {
            name: "finish",
            description: "Submits the result",
            parameters: json!({ "type": "object" }),
            accept: &accept,
            accept_text: has_tool.then_some(&accept_text as &AcceptText<'_>),
        },
        stream: false,
        observe: &mut |what| {
            if let Observed::Turn(turn) = what {
                observed.push(turn.role);
            }
        },
    }
    .run(
        &mut messages,
        Limits {
            rounds: 5,
            corrections: 2,
        },
    );
    Ran {
        result,
        messages,
        server,
        told: tools.told,
        observed,
    }
}

#[test]
fn the_tokens_of_all_rounds_are_summed() {
    let told = |input: u64, cached: u64, written: u64| {
        json!({
            "prompt_tokens": input, "completion_tokens": 5,
            "prompt_tokens_details": { "cached_tokens": cached, "cache_write_tokens": written },
        })
    };
    let ran = run(
        vec![
            Scripted::calls(&[("echo", json!({ "a": 1 }))]).using(&told(100, 0, 90)),
            Scripted::calls(&[("finish", json!({ "n": 1 }))]).using(&told(120, 90, 20)),
        ],
        true,
    );
    let usage = ran.result.unwrap().transcript.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(220), Some(10))
    );
    assert_eq!(
        (usage.cached_tokens, usage.cache_write_tokens),
        (Some(90), Some(110))
    );
    assert_eq!(usage.cost_usd, None);
}

#[test]
fn tools_are_called_in_order_until_the_result_is_submitted() {
    let ran = run(
        vec![
            Scripted::calls(&[("echo", json!({ "a": 1 })), ("echo", json!({ "b": 2 }))]),
            Scripted::calls(&[("finish", json!({ "n": 1 })), ("echo", json!({ "c": 3 }))]),
        ],
        true,
    );
    let finished = ran.result.unwrap();
    assert_eq!(finished.result, LoopResult::Data(json!({ "n": 1 })));
    assert_eq!(finished.transcript.rounds, 2);
    assert_eq!(finished.transcript.usage.input_tokens, Some(20));
    assert_eq!(finished.transcript.usage.cost_usd, Some(0.5));
    assert_eq!(finished.transcript.usage.turns, Some(2));
    assert_eq!(finished.transcript.model.as_deref(), Some("served-model"));
    assert_eq!(ran.told, [r#"{"a":1}"#, r#"{"b":2}"#]);
    let roles: Vec<_> = finished
        .transcript
        .turns
        .iter()
        .map(|turn| turn.role)
        .collect();
    use TurnRole::{Assistant, Tool};
    assert_eq!(roles, [Assistant, Tool, Tool, Assistant]);
    assert_eq!(ran.observed, roles);
    assert_eq!(finished.transcript.turns[3].index, 3);
    let second = ran.server.requests()[1].json();
    let sent = second["messages"].as_array().unwrap();
    assert_eq!(sent.len(), 4);
    assert_eq!(sent[2]["tool_call_id"], "call-0");
    assert_eq!(sent[3]["content"], r#"echo {"b":2}"#);
    assert_eq!(second["tools"][1]["function"]["name"], "finish");
}

#[test]
fn a_result_that_is_refused_is_corrected() {
    let ran = run(
        vec![
            Scripted::calls(&[("finish", json!({ "n": 2 }))]),
            Scripted::says(r#"{"n":3}"#),
            Scripted::says("```json\n{\"n\":1}\n```"),
        ],
        true,
    );
    assert_eq!(
        ran.result.unwrap().result,
        LoopResult::Data(json!({ "n": 1 }))
    );
    assert_eq!(
        ran.messages[2],
        Message::Tool {
            call_id: "call-0".to_owned(),
            text: r#"error: `n` must be 1 in {"n":2}"#.to_owned(),
        }
    );
    let Message::User(correction) = &ran.messages[4] else {
        panic!("{:?}", ran.messages);
    };
    assert!(correction.contains(r#"`n` must be 1 in {"n":3}"#));
}

#[test]
fn a_result_in_free_text_ends_the_loop() {
    let ran = run(
        vec![Scripted::says("result: two"), Scripted::says("result: one")],
        true,
    );
    assert_eq!(
        ran.result.unwrap().result,
        LoopResult::Text("result: one".to_owned())
    );
    use TurnRole::{Assistant, User};
    assert_eq!(ran.observed, [Assistant, User, Assistant]);
    assert_eq!(ran.messages.len(), 4);
    let Message::User(correction) = &ran.messages[2] else {
        panic!("{:?}", ran.messages);
    };
    assert!(correction.contains("`two` is not one"), "{correction}");
}

#[test]
fn without_tools_it_asks_for_json() {
    let ran = run(vec![Scripted::says(r#"{"n":1}"#)], false);
    assert_eq!(ran.result.unwrap().transcript.rounds, 1);
    let request = ran.server.requests()[0].json();
    assert_eq!(request["response_format"]["type"], "json_schema");
    assert_eq!(request.get("tools"), None);
}

#[test]
fn an_answer_without_a_result_is_corrected_only_a_few_times() {
    let ran = run(vec![Scripted::says("I am thinking.")], true);
    let error = ran.result.unwrap_err();
    assert_eq!(error.code(), "no_result");
    assert_eq!(error.transcript.rounds, 3);
    assert_eq!(error.transcript.usage.output_tokens, Some(15));
    assert_eq!(error.transcript.turns.len(), 6);
    assert!(error.transcript.turns[1].content.contains("`finish`"));
}

#[test]
fn a_tool_call_resets_the_count_of_corrections() {
    let prose = || Scripted::says("Hm.");
    let echo = || Scripted::calls(&[("echo", json!({}))]);
    let ran = run(
        vec![
            prose(),
            prose(),
            echo(),
            prose(),
            Scripted::says(r#"{"n":1}"#),
        ],
        true,
    );
    assert_eq!(ran.result.unwrap().transcript.rounds, 5);
}

#[test]
fn rounds_have_a_hard_stop() {
    let ran = run(vec![Scripted::calls(&[("nonsense", json!({}))])], true);
    let error = ran.result.unwrap_err();
    assert_eq!(error.code(), "max_rounds_exceeded");
    assert_eq!(ran.server.requests().len(), 5);
    assert!(error.transcript.turns[1].content.starts_with("error:"));
}

#[test]
fn a_model_that_cannot_be_asked_keeps_what_was_said() {
    let ran = run(
        vec![
            Scripted::calls(&[("echo", json!({}))]),
            Scripted::body(401, "no"),
        ],
        true,
    );
    let error = ran.result.unwrap_err();
    assert_eq!(error.code(), "unauthorized");
    assert_eq!(error.transcript.turns.len(), 2);
    assert_eq!(error.transcript.usage.input_tokens, Some(10));
}

#[test]
fn arguments_that_are_not_json_are_an_error_for_the_model() {
    let broken = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "a", "type": "function", "function": { "name": "finish", "arguments": "{\"n\":" } },
    ] });
    let ran = run(
        vec![
            Scripted::message(&broken),
            Scripted::calls(&[("finish", json!({ "n": 1 }))]),
        ],
        true,
    );
    assert_eq!(ran.result.unwrap().transcript.rounds, 2);
    let Message::Tool { text, .. } = &ran.messages[2] else {
        panic!("{:?}", ran.messages);
    };
    assert!(
        text.starts_with("error: the arguments are not JSON"),
        "{text}"
    );
}
