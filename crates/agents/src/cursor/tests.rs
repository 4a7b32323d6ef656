//! Events after Cursor's documentation; the program itself was not at hand.

use crate::stream::tests::{seen, turns};

use super::*;

const TOOL_CALL: &str = r#"
{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/p","session_id":"s1","model":"some-model","permissionMode":"default"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"our prompt"}]},"session_id":"s1"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I look."}]},"session_id":"s1"}
{"type":"tool_call","subtype":"started","call_id":"c1","tool_call":{"readToolCall":{"args":{"path":"a"}}},"session_id":"s1"}
{"type":"tool_call","subtype":"completed","call_id":"c1","tool_call":{"readToolCall":{"args":{"path":"a"},"result":{"success":{"content":"text of a","totalLines":1}}}},"session_id":"s1"}
{"type":"tool_call","subtype":"completed","call_id":"c2","tool_call":{"shellToolCall":{"args":{"command":"x"},"result":{"rejected":{}}}},"session_id":"s1"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"the answer"}]},"session_id":"s1"}
"#;

#[test]
fn messages_and_tool_calls_become_turns_and_the_last_message_is_the_answer() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":1234,"result":"I look.the answer","session_id":"s1","request_id":"r"}"#;
    let seen = seen(read, &format!("{TOOL_CALL}{result}"));
    assert_eq!(seen.session_id.as_deref(), Some("s1"));
    assert_eq!(seen.model.as_deref(), Some("some-model"));
    assert_eq!(seen.answer.as_deref(), Some("the answer"));
    assert_eq!(seen.usage.duration_ms, Some(1234));
    assert_eq!(seen.usage.input_tokens, None);
    assert_eq!(
        turns(seen),
        [
            "Assistant: I look.",
            r#"Assistant:  <read {"path":"a"}>"#,
            "Tool: text of a",
            r#"Assistant:  <shell {"command":"x"}>"#,
            r#"Tool: {"rejected":{}}"#,
            "Assistant: the answer",
        ]
    );
}

#[test]
fn a_result_alone_is_an_answer_or_says_why_there_is_none() {
    let good = seen(
        read,
        r#"{"type":"result","subtype":"success","result":"alone"}"#,
    );
    assert_eq!(good.answer.as_deref(), Some("alone"));
    let bad = seen(
        read,
        r#"{"type":"result","subtype":"success","is_error":true,"result":"no"}"#,
    );
    assert_eq!((bad.answer, bad.error.as_deref()), (None, Some("no")));
}

#[test]
fn the_session_and_what_was_given_are_in_the_arguments() {
    let given = ["--form", "agent", "--force", "--model", "m"].map(ToOwned::to_owned);
    let mut options = Options::parse(&AGENT, &given).unwrap();
    assert_eq!(options.take("--form").as_deref(), Some("agent"));
    assert_eq!(
        args(&options, Some("s1")).join(" "),
        "-p --output-format stream-json --resume s1 --force --model m"
    );
}
