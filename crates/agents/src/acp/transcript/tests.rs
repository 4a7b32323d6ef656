//! Turns and answers, from the updates that agents send.

use super::*;
use serde_json::json;

fn of(updates: &[Value]) -> Transcript {
    let mut transcript = Transcript::default();
    for update in updates {
        transcript.update(update);
    }
    transcript.close();
    transcript
}

fn contents(transcript: &Transcript) -> Vec<&str> {
    let turns = transcript.turns().iter();
    turns.map(|turn| &*turn.content).collect()
}

fn says(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn thinks(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": text } })
}

fn calls(id: &str) -> Value {
    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": "terminal: ls", "kind": "execute",
        "rawInput": { "command": "ls" } })
}

fn ends(id: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
        "content": [{ "type": "content", "content": { "type": "text", "text": "a.txt" } }] })
}

#[test]
fn the_answer_begins_after_the_last_tool_call() {
    let transcript = of(&[
        says("Let me "),
        says("look.\n"),
        calls("1"),
        ends("1", "completed"),
        says("\n\n---\nnote: "),
        says("good\n---\n"),
    ]);
    assert_eq!(transcript.answer(), "---\nnote: good\n---");
    assert_eq!(
        contents(&transcript),
        ["Let me look.\n", "a.txt", "\n\n---\nnote: good\n---\n"]
    );
    let call = &transcript.turns()[0].tool_calls.as_ref().unwrap()[0];
    assert_eq!(
        (&*call.name, &*call.args),
        ("terminal: ls", r#"{"command":"ls"}"#)
    );
}

#[test]
fn what_was_said_before_a_last_silent_tool_call_is_the_answer() {
    let transcript = of(&[says("Done."), calls("1"), calls("2"), ends("1", "failed")]);
    assert_eq!(transcript.answer(), "Done.");
    assert_eq!(transcript.turns().len(), 3);
}

fn calls_of(transcript: &Transcript) -> Vec<(&str, &str)> {
    let calls = transcript
        .turns()
        .iter()
        .filter_map(|turn| turn.tool_calls.as_ref());
    calls
        .flatten()
        .map(|call| (&*call.name, &*call.args))
        .collect()
}

#[test]
fn a_call_that_is_told_twice_is_one_with_what_was_told_last() {
    let told = |kind: &str, status: &str, input: Value| {
        json!({ "sessionUpdate": kind, "toolCallId": "1", "title": "bash", "kind": "execute", "status": status,
            "rawInput": input })
    };
    let first = told("tool_call", "pending", json!({}));
    for second in [
        told("tool_call", "pending", json!({ "command": "ls" })),
        told(
            "tool_call_update",
            "in_progress",
            json!({ "command": "ls" }),
        ),
    ] {
        let transcript = of(&[first.clone(), second, ends("1", "completed"), says("A")]);
        assert_eq!(calls_of(&transcript), [("bash", r#"{"command":"ls"}"#)]);
        assert_eq!(contents(&transcript), ["", "a.txt", "A"]);
    }
}

#[test]
fn a_call_that_was_not_announced_is_a_call_all_the_same() {
    let change = json!([{ "type": "diff", "path": "a.txt", "newText": "x" }]);
    let asked = json!({ "toolCallId": "1", "title": "Writing a.txt", "kind": "edit", "status": "pending", "content": change });
    let mut transcript = Transcript::default();
    transcript.asks_for(&asked);
    transcript.was_refused("1");
    transcript.update(&ends("1", "failed"));
    transcript.update(&ends("2", "completed"));
    assert_eq!(
        calls_of(&transcript),
        [("Writing a.txt", "a.txt:\nx"), ("", "")]
    );
    let outcomes = transcript
        .turns()
        .iter()
        .filter_map(|turn| turn.answers.as_ref());
    let outcomes: Vec<Outcome> = outcomes.map(|answer| answer.outcome).collect();
    assert_eq!(outcomes, [Outcome::Refused, Outcome::Ok]);
}

#[test]
fn what_is_said_while_a_tool_works_is_not_the_answer() {
    let transcript = of(&[
        calls("1"),
        says("[mode: edits]"),
        ends("1", "completed"),
        says("---\nnote: good\n---\n"),
    ]);
    assert_eq!(transcript.answer(), "---\nnote: good\n---");
    let late = of(&[calls("1"), says("A"), ends("1", "completed")]);
    assert_eq!(late.answer(), "A");
}

#[test]
fn thoughts_belong_to_what_is_said_after_them() {
    let transcript = of(&[
        thinks("Hm"),
        thinks("m."),
        says("A"),
        thinks("Oh."),
        says("B"),
    ]);
    let turns = transcript.turns();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0].reasoning.as_deref(), Some("Hmm."));
    assert_eq!(turns[1].reasoning.as_deref(), Some("Oh."));
    assert_eq!(transcript.answer(), "AB");
}

#[test]
fn plans_and_decisions_do_not_cut_an_answer() {
    let plan = json!({ "sessionUpdate": "plan", "entries": [
        { "content": "look", "status": "completed" }, { "content": "write" } ] });
    let mut transcript = of(&[says("A"), plan, says("B")]);
    transcript.decision("rejected");
    assert_eq!(transcript.answer(), "AB");
    assert_eq!(
        contents(&transcript),
        [
            "Plan:\n- [completed] look\n- [pending] write\n",
            "AB",
            "rejected"
        ]
    );
}

#[test]
fn unknown_and_broken_updates_change_nothing() {
    let transcript = of(&[
        json!({ "sessionUpdate": "usage_update", "size": 1 }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "image" } }),
        json!({ "sessionUpdate": "tool_call_update", "status": "in_progress" }),
        json!({ "sessionUpdate": "plan", "entries": 7 }),
        json!({ "sessionUpdate": 3 }),
        json!(null),
    ]);
    assert_eq!((transcript.turns().len(), transcript.answer()), (0, ""));
}

#[test]
fn turns_are_told_once() {
    let mut transcript = Transcript::default();
    transcript.update(&calls("1"));
    assert_eq!(transcript.news().len(), 1);
    assert_eq!(transcript.news().len(), 0);
    let announced = transcript.announced("1").unwrap();
    assert_eq!(announced.kind, "execute");
    assert_eq!(announced.input, json!({ "command": "ls" }));
    assert_eq!(transcript.announced("2"), None);
}

#[test]
fn no_part_of_a_secret_is_left_where_a_turn_is_shortened() {
    let secret = "ghp_a_secret_of_some_length";
    // The beginning that is kept ends within the secret.
    let kept = TURN_TEXT / 4 * 3;
    let long = format!("{}{secret}{}", "a".repeat(kept - 10), "b".repeat(TURN_TEXT));
    let block = json!({ "type": "text", "text": long });
    let mut transcript = Transcript::new(Masks::of([secret.as_bytes()]));
    for update in [
        json!({ "sessionUpdate": "agent_thought_chunk", "content": block }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": block }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "write", "rawInput": { "text": long } }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "rawOutput": long }),
    ] {
        transcript.update(&update);
    }
    transcript.close();
    assert!(transcript.turns().len() > 1);
    for turn in transcript.turns() {
        let shown = serde_json::to_string(turn).unwrap();
        assert!(shown.contains("left out") && !shown.contains("ghp_"));
    }
}
