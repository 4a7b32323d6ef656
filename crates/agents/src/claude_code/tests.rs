//! Events as Claude Code 2.1.330 prints them, reduced.

use crate::stream::tests::{seen, turns};

use super::*;

const TOOL_CALL: &str = r#"
{"type":"system","subtype":"init","cwd":"/p","session_id":"s1","tools":["Bash"],"model":"some-model","permissionMode":"default"}
{"type":"assistant","message":{"id":"m1","role":"assistant","model":"some-model","content":[{"type":"thinking","thinking":"Where?"}]},"parent_tool_use_id":null,"session_id":"s1"}
{"type":"assistant","message":{"id":"m1","role":"assistant","model":"some-model","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null,"session_id":"s1"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"a.txt","is_error":false}]},"session_id":"s1"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":[{"type":"text","text":"one"},{"type":"text","text":"two"},{"type":"image"}]}]},"session_id":"s1"}
{"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"of a helper"}]},"parent_tool_use_id":"t1","session_id":"s1"}
{"type":"brand_new","session_id":"s1"}
"#;

#[test]
fn messages_and_tool_results_become_turns() {
    let seen = seen(read, TOOL_CALL);
    assert_eq!(seen.session_id.as_deref(), Some("s1"));
    assert_eq!(seen.model.as_deref(), Some("some-model"));
    assert_eq!(seen.last_text.as_deref(), Some("I look."));
    assert_eq!(seen.answer, None);
    assert_eq!(seen.usage, Usage::default());
    assert_eq!(
        turns(seen),
        [
            "Assistant:  (Where?)",
            r#"Assistant: I look. <Bash {"command":"ls"}>"#,
            "Tool: a.txt",
            "Tool: one\ntwo",
            "Assistant: of a helper",
        ]
    );
}

#[test]
fn a_result_holds_the_answer_and_what_the_call_used_up() {
    let seen = seen(
        read,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"the answer","session_id":"s1","num_turns":2,"duration_ms":270,"total_cost_usd":0.75,"usage":{"input_tokens":200,"cache_creation_input_tokens":10,"cache_read_input_tokens":60,"output_tokens":40},"model_usage_since_last_result":{"a":{"costUSD":0.25},"b":{"costUSD":0.125}}}"#,
    );
    assert_eq!(seen.answer.as_deref(), Some("the answer"));
    assert_eq!(seen.error, None);
    let usage = &seen.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(270), Some(40))
    );
    assert_eq!((usage.cached_tokens, usage.turns), (Some(60), Some(2)));
    assert_eq!(
        (usage.duration_ms, usage.cost_usd),
        (Some(270), Some(0.375))
    );
}

#[test]
fn an_older_result_tells_the_cost_of_the_call_as_its_total() {
    let seen = seen(
        read,
        r#"{"type":"result","subtype":"success","result":"x","total_cost_usd":0.5}"#,
    );
    assert_eq!(seen.usage.cost_usd, Some(0.5));
    assert_eq!(seen.usage.input_tokens, None);
}

#[test]
fn failures_are_in_its_own_words() {
    let check = |event: &str, error: &str| {
        let seen = seen(read, event);
        assert_eq!(seen.error.as_deref(), Some(error), "{event}");
        assert_eq!(seen.answer, None);
    };
    check(
        r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (1)"]}"#,
        "error_max_turns: Reached maximum number of turns (1)",
    );
    check(
        r#"{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}"#,
        "Not logged in · Please run /login",
    );
    check(
        r#"{"type":"result","subtype":"error_during_execution","is_error":false}"#,
        "error_during_execution",
    );
}

#[test]
fn a_used_up_limit_says_when_it_is_free_again() {
    let event = |status: &str| {
        format!(
            r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1788441600,"rateLimitType":"five_hour"}},"session_id":"s1"}}"#
        )
    };
    let again = |events: &[String]| seen(read, &events.join("\n")).try_again;
    let reset = Some(TryAgain::At(1_788_441_600_000));
    assert_eq!(again(&[event("rejected")]), reset);
    assert_eq!(again(&[event("allowed_warning")]), None);
    assert_eq!(again(&[event("rejected"), event("allowed")]), None);
}

#[test]
fn the_session_and_what_was_given_are_in_the_arguments() {
    let given = [
        "--model",
        "m",
        "--dangerously-skip-permissions",
        "--",
        "--add-dir",
        "/d",
    ];
    let options = Options::parse(&TOOL, &given.map(ToOwned::to_owned)).unwrap();
    assert_eq!(
        args(&options, Some("s1")).join(" "),
        "-p --output-format stream-json --verbose --resume s1 --model m --dangerously-skip-permissions \
         --add-dir /d"
    );
    let none = Options::parse(&TOOL, &[]).unwrap();
    assert_eq!(
        args(&none, None).join(" "),
        "-p --output-format stream-json --verbose"
    );
}
