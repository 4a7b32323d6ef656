//! Records in the shapes that hermes writes, reduced to the fields that matter and some that do not.

use serde_json::{Value, json};

use super::*;

/// The export of a session in which a tool was called once.
fn export() -> Value {
    json!({
        "id": "20261122_011705_55f18e", "source": "cli", "model": "fake-model", "system_prompt": "You are …",
        "parent_session_id": null, "started_at": 1795310228.096185, "message_count": 4, "tool_call_count": 1,
        "input_tokens": 120, "output_tokens": 20, "cache_read_tokens": 80, "cache_write_tokens": 0,
        "reasoning_tokens": 0, "estimated_cost_usd": 0.0, "actual_cost_usd": null, "cost_status": "unknown",
        "api_call_count": 2, "archived": 0,
        "messages": [
            message(12, "user", "hello"),
            {
                "id": 13, "role": "assistant", "content": "Let me look first.", "finish_reason": "tool_calls",
                "reasoning": "Hm.", "timestamp": 1795310228.5061903,
                "tool_calls": [{ "id": "call_1", "call_id": "call_1", "response_item_id": "fc_1",
                    "type": "function", "function": { "name": "terminal", "arguments": "{\"command\":\"ls\"}" } }]
            },
            { "id": 14, "role": "tool", "content": "{\"output\": \"hi\"}", "tool_call_id": "call_1",
                "tool_name": "terminal", "tool_calls": null, "reasoning": null },
            message(15, "assistant", "---\nnote: good\n---\nThe report."),
        ]
    })
}

fn message(id: u64, role: &str, content: &str) -> Value {
    json!({ "id": id, "role": role, "content": content, "tool_calls": null, "reasoning": null, "active": 1 })
}

fn read(value: &Value) -> Record {
    Record::read(&value.to_string()).unwrap()
}

/// The same session after another question.
fn continued() -> Value {
    let mut export = export();
    let messages = export["messages"].as_array_mut().unwrap();
    messages.extend([
        message(16, "user", "again"),
        message(17, "assistant", "A second answer."),
    ]);
    export["input_tokens"] = json!(180);
    export["output_tokens"] = json!(30);
    export["cache_read_tokens"] = json!(120);
    export["api_call_count"] = json!(3);
    export["estimated_cost_usd"] = json!(0.25);
    export
}

#[test]
fn an_export_has_turns_answer_and_usage() {
    let record = read(&export());
    let turns = record.turns(None, &Masks::default());
    let roles: Vec<TurnRole> = turns.iter().map(|turn| turn.role).collect();
    assert_eq!(
        roles,
        [TurnRole::Assistant, TurnRole::Tool, TurnRole::Assistant]
    );
    assert_eq!(turns[0].reasoning.as_deref(), Some("Hm."));
    let call = &turns[0].tool_calls.as_ref().unwrap()[0];
    assert_eq!(
        (&*call.name, &*call.args),
        ("terminal", r#"{"command":"ls"}"#)
    );
    assert_eq!(turns[1].tool_calls, None);
    assert_eq!(
        record.answer(None).unwrap(),
        "---\nnote: good\n---\nThe report."
    );
    let usage = record.usage(None);
    assert_eq!(
        usage.input_tokens,
        Some(200),
        "with what came from the cache"
    );
    assert_eq!(
        (usage.output_tokens, usage.cached_tokens),
        (Some(20), Some(80))
    );
    assert_eq!((usage.turns, usage.cost_usd), (Some(2), None));
}

#[test]
fn what_was_there_before_belongs_to_another_step() {
    let (before, after) = (read(&export()), read(&continued()));
    let turns = after.turns(Some(&before), &Masks::default());
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].content, "A second answer.");
    assert_eq!(after.answer(Some(&before)).unwrap(), "A second answer.");
    let usage = after.usage(Some(&before));
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
        (Some(100), Some(10), Some(40))
    );
    assert_eq!((usage.turns, usage.cost_usd), (Some(1), Some(0.25)));
    assert!(usage.cost_estimated, "hermes says that it is an estimate");
    let mut paid = continued();
    paid["actual_cost_usd"] = json!(0.5);
    let usage = read(&paid).usage(Some(&before));
    assert_eq!((usage.cost_usd, usage.cost_estimated), (Some(0.5), false));
}

#[test]
fn a_record_that_did_not_change_says_nothing() {
    let record = read(&export());
    assert_eq!(record.answer(Some(&record)), None);
    assert_eq!(record.turns(Some(&record), &Masks::default()), []);
    assert_eq!(record.usage(Some(&record)), Usage::default());
}

#[test]
fn a_session_that_was_shortened_begins_with_its_last_question() {
    let mut shortened = continued();
    shortened["messages"] = json!([
        message(18, "assistant", "Summary of what was."),
        message(16, "user", "again"),
        message(17, "assistant", "A second answer."),
    ]);
    let before = read(&continued());
    assert_eq!(
        read(&shortened)
            .turns(Some(&before), &Masks::default())
            .len(),
        1
    );

    shortened["id"] = json!("20261122_020000_000000");
    shortened["parent_session_id"] = export()["id"].clone();
    let split = read(&shortened);
    assert_eq!(split.answer(Some(&before)).unwrap(), "A second answer.");
    assert_eq!(split.usage(Some(&before)), Usage::default());
    assert_eq!(split.usage(None), Usage::default());
}

#[test]
fn zero_tokens_are_tokens_that_nobody_counted() {
    let mut export = export();
    for name in [
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "api_call_count",
    ] {
        export[name] = json!(0);
    }
    assert_eq!(read(&export).usage(None), Usage::default());
}

#[test]
fn the_older_session_file_has_no_account() {
    let record = read(&json!({
        "session_id": "20261122_013026_1b8cc7", "model": "fake-model", "platform": "cli",
        "session_start": "2026-11-22T01:30:29.640489", "tools": [], "message_count": 2,
        "messages": [
            { "role": "user", "content": "hello", "_db_persisted": true },
            { "role": "assistant", "content": [{ "type": "text", "text": "An" }, { "type": "text", "text": "swer" }],
                "tool_calls": "[{\"function\": {\"name\": \"terminal\", \"arguments\": {\"command\": \"ls\"}}}]" },
            { "role": "assistant", "content": "  " },
        ]
    }));
    assert_eq!(record.model.as_deref(), Some("fake-model"));
    assert_eq!(record.answer(None).unwrap(), "An\nswer");
    let turns = record.turns(None, &Masks::default());
    let call = &turns[0].tool_calls.as_ref().unwrap()[0];
    assert_eq!(
        (&*call.name, &*call.args),
        ("terminal", r#"{"command":"ls"}"#)
    );
    assert_eq!(record.usage(None), Usage::default());
}

#[test]
fn what_is_no_record_is_nothing() {
    for text in [
        "",
        "Session 'x' not found.",
        "{}",
        "[]",
        r#"{"id": 7}"#,
        r#"{"messages": []}"#,
    ] {
        assert_eq!(Record::read(text), None, "{text}");
    }
}

#[test]
fn no_part_of_a_secret_is_left_where_a_turn_is_shortened() {
    let secret = "ghp_a_secret_of_some_length";
    // The beginning that is kept ends within the secret.
    let kept = TURN_TEXT / 4 * 3;
    let long = format!("{}{secret}{}", "a".repeat(kept - 10), "b".repeat(TURN_TEXT));
    let call =
        |arguments: Value| json!([{ "function": { "name": "write", "arguments": arguments } }]);
    let record = read(&json!({ "id": "s", "messages": [
        { "role": "assistant", "content": long, "tool_calls": call(json!(long)) },
        { "role": "assistant", "content": "", "tool_calls": call(json!({ "text": long })) },
        { "role": "tool", "content": long },
    ] }));
    let turns = record.turns(None, &Masks::of([secret.as_bytes()]));
    assert_eq!(turns.len(), 3);
    for turn in turns {
        let shown = serde_json::to_string(&turn).unwrap();
        assert!(shown.contains("left out") && !shown.contains("ghp_"));
    }
}
