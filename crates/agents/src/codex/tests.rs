//! Events as Codex 0.169.0 prints them, reduced. Those of items other than messages and commands are made
//! after its documentation.

use crate::stream::tests::{seen, turns};

use super::*;

#[test]
fn items_become_turns_and_the_last_message_is_the_answer() {
    let seen = seen(
        read,
        r#"
{"type":"thread.started","thread_id":"t1"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found."}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"Where?"}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"ls","aggregated_output":"a.txt\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"command_execution","command":"x","aggregated_output":"no x\n","exit_code":127,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_4","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_5","type":"mcp_tool_call","server":"db","tool":"ask","arguments":{"q":1},"result":null,"error":{"message":"down"}}}
{"type":"item.completed","item":{"id":"item_6","type":"brand_new"}}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"item.completed","item":{"id":"item_7","type":"agent_message","text":"the answer"}}
{"type":"turn.completed","usage":{"input_tokens":300,"cached_input_tokens":90,"output_tokens":60,"reasoning_output_tokens":9}}
"#,
    );
    assert_eq!(seen.session_id.as_deref(), Some("t1"));
    assert_eq!(seen.answer.as_deref(), Some("the answer"));
    assert_eq!(seen.error, None);
    let usage = &seen.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(300), Some(60))
    );
    assert_eq!(
        (usage.cached_tokens, usage.turns, usage.cost_usd),
        (Some(90), None, None)
    );
    assert_eq!(
        turns(seen),
        [
            "Assistant:  (Where?)",
            "Assistant:  <command_execution ls>",
            "Tool: a.txt\n",
            "Assistant:  <command_execution x>",
            "Tool: no x\n[exit code 127]",
            r#"Assistant:  <file_change [{"path":"a","kind":"add"}]>"#,
            r#"Assistant:  <db.ask {"q":1}>"#,
            "Tool: down",
            "Assistant: the answer",
        ]
    );
}

#[test]
fn a_failed_turn_says_why() {
    let events = r#"
{"type":"thread.started","thread_id":"t1"}
{"type":"error","message":"Reconnecting... 5/5"}
{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}
"#;
    let seen = seen(read, events);
    assert_eq!(
        seen.error.as_deref(),
        Some("unexpected status 401 Unauthorized")
    );
    assert_eq!(seen.answer, None);
}

#[test]
fn options_stand_before_the_session() {
    let given = ["--sandbox=read-only", "--", "--search"].map(ToOwned::to_owned);
    let options = Options::parse(&TOOL, &given).unwrap();
    let check = |session, expected| assert_eq!(args(&options, session).join(" "), expected);
    check(None, "exec --json --sandbox read-only --search -");
    check(
        Some("t1"),
        "exec --json --sandbox read-only --search resume t1 -",
    );
}
