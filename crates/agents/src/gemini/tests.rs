//! Events as Gemini CLI 0.61.0 prints them, reduced.

use crate::stream::tests::{seen, turns};

use super::*;

const TOOL_CALL: &str = r#"
{"type":"init","timestamp":"2026-01-01T00:00:00.000Z","session_id":"s1","model":"some-model"}
{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","role":"user","content":"our prompt\n"}
{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","role":"assistant","content":"I look.","delta":true}
{"type":"tool_use","timestamp":"2026-01-01T00:00:00.000Z","tool_name":"list_directory","tool_id":"l1","parameters":{"dir_path":"."}}
{"type":"tool_result","timestamp":"2026-01-01T00:00:00.000Z","tool_id":"l1","status":"success"}
{"type":"tool_result","timestamp":"2026-01-01T00:00:00.000Z","tool_id":"l2","status":"error","output":"x","error":{"type":"t","message":"no such folder"}}
{"type":"error","timestamp":"2026-01-01T00:00:00.000Z","severity":"warning","message":"slow"}
{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","role":"assistant","content":"the ","delta":true}
{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","role":"assistant","content":"answer","delta":true}
"#;
const RESULT: &str = r#"{"type":"result","timestamp":"2026-01-01T00:00:00.000Z","status":"success","stats":{"total_tokens":240,"input_tokens":200,"output_tokens":40,"cached":60,"input":140,"duration_ms":202,"tool_calls":1}}"#;

#[test]
fn pieces_become_turns_and_the_last_message_is_the_answer() {
    let seen = seen(read, &format!("{TOOL_CALL}{RESULT}"));
    assert_eq!(seen.session_id.as_deref(), Some("s1"));
    assert_eq!(seen.model.as_deref(), Some("some-model"));
    assert_eq!(seen.answer.as_deref(), Some("the answer"));
    let usage = &seen.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(200), Some(40))
    );
    assert_eq!(
        (usage.cached_tokens, usage.duration_ms),
        (Some(60), Some(202))
    );
    assert_eq!((usage.turns, usage.cost_usd), (None, None));
    assert_eq!(
        turns(seen),
        [
            r#"Assistant: I look. <list_directory {"dir_path":"."}>"#,
            "Tool: ",
            "Tool: no such folder",
            "Assistant: the answer",
        ]
    );
}

#[test]
fn an_error_result_says_why() {
    let event = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: 401]"},"stats":{"input_tokens":0}}"#;
    let seen = seen(read, event);
    assert_eq!(seen.error.as_deref(), Some("[API Error: 401]"));
    assert_eq!((seen.answer, seen.usage.input_tokens), (None, Some(0)));
}

#[test]
fn thoughts_that_only_the_total_tells_are_output() {
    let thoughtful = RESULT.replace("\"total_tokens\":240", "\"total_tokens\":250");
    let seen = seen(read, &thoughtful);
    let tokens = (seen.usage.input_tokens, seen.usage.output_tokens);
    assert_eq!(tokens, (Some(200), Some(50)));
}

#[test]
fn the_session_and_what_was_given_are_in_the_arguments() {
    let given = ["--skip-trust", "--approval-mode", "yolo"].map(ToOwned::to_owned);
    let options = Options::parse(&TOOL, &given).unwrap();
    assert_eq!(
        args(&options, Some("s1")).join(" "),
        "--output-format stream-json --resume s1 --skip-trust --approval-mode yolo"
    );
}
