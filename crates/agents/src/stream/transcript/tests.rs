//! Transcripts within their limits, and helpers for the tests of the readers of events.

use std::path::Path;

use serde_json::Value;

use super::*;
use crate::test_task::task;

/// Returns what is seen of events, given as JSON lines.
pub(crate) fn seen(read: fn(&Value, &mut Transcript), events: &str) -> Transcript {
    let mut seen = Transcript::new("uwf-x", LiveFile::of(&task(Path::new("/nowhere"))));
    for line in events.lines().filter(|line| !line.trim().is_empty()) {
        read(&serde_json::from_str(line).unwrap(), &mut seen);
    }
    seen
}

/// Returns turns in short: who, what, which tools with which arguments, and what was thought.
pub(crate) fn turns(mut seen: Transcript) -> Vec<String> {
    let short = |turn: Turn| {
        let mut short = format!("{:?}: {}", turn.role, turn.content);
        for call in turn.tool_calls.iter().flatten() {
            short += &format!(" <{} {}>", call.name, call.args);
        }
        short
            + &turn
                .reasoning
                .map_or(String::new(), |text| format!(" ({text})"))
    };
    seen.take_turns().into_iter().map(short).collect()
}

#[test]
fn turns_are_kept_until_there_is_no_room_and_all_are_told_live() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut seen = Transcript::new("uwf-x", LiveFile::of(&task(dir.path())));
    let long = "x".repeat(TURN_TEXT);
    for _ in 0..300 {
        seen.tool(&long);
    }
    seen.assistant("the end", Vec::new(), "");
    assert_eq!(seen.last_text.as_deref(), Some("the end"));
    let turns = turns(seen);
    assert_eq!(turns.len(), 256);
    assert_eq!(turns[255], "Tool: [… 46 more turns left out …]");
    let live = std::fs::read_to_string(dir.path().join("live.jsonl")).unwrap();
    assert_eq!(live.lines().count(), 301);
}

#[test]
fn long_texts_of_a_turn_are_shortened() {
    let mut seen = seen(|_, _| {}, "");
    let long = "x".repeat(1 << 20);
    let call = ToolCall {
        name: "write".to_owned(),
        args: long.clone(),
        id: None,
    };
    seen.assistant(&long, vec![call], &long);
    assert_eq!(seen.last_text.as_ref().map(String::len), Some(1 << 20));
    let [turn] = seen.take_turns().try_into().unwrap();
    assert!(weight(&turn) < 4 * TURN_TEXT);
    assert!(turn.content.contains("KiB left out"));
}

#[test]
fn the_end_of_the_lines_that_are_no_events_is_kept() {
    let mut seen = seen(|_, _| {}, "");
    seen.noise(&"y".repeat(NOISE * 2));
    assert!(seen.noise_seen().len() <= NOISE);
    seen.noise("Please log in");
    assert!(seen.noise_seen().ends_with("Please log in"));
    assert!(seen.noise_seen().len() <= NOISE);
}

#[test]
fn no_part_of_a_secret_is_left_where_a_turn_is_shortened() {
    let secret = "ghp_a_secret_of_some_length";
    let mut task = task(Path::new("/nowhere"));
    task.masks = uwf_util::mask::Masks::of([secret.as_bytes()]);
    let mut seen = Transcript::new("uwf-x", LiveFile::of(&task));
    // The beginning that is kept ends within the secret.
    let kept = TURN_TEXT / 4 * 3;
    let long = format!("{}{secret}{}", "a".repeat(kept - 10), "b".repeat(TURN_TEXT));
    let call = ToolCall {
        name: "write".to_owned(),
        args: long.clone(),
        id: None,
    };
    seen.assistant(&long, vec![call], &long);
    seen.tool(&long);
    seen.answer_to("i", &long, Outcome::Ok);
    for turn in seen.take_turns() {
        let shown = serde_json::to_string(&turn).unwrap();
        assert!(
            shown.contains("left out") && !shown.contains("ghp_"),
            "{:?}",
            turn.role
        );
    }
    // The answer is read before it is masked.
    assert_eq!(seen.last_text.as_deref(), Some(long.as_str()));
}

#[test]
fn no_part_of_a_secret_is_left_where_lines_that_are_no_events_are_shortened() {
    let secret = "ghp_a_secret_of_some_length";
    let mut task = task(Path::new("/nowhere"));
    task.masks = uwf_util::mask::Masks::of([secret.as_bytes()]);
    let half = secret.len() / 2;
    let mut seen = Transcript::new("uwf-x", LiveFile::of(&task));
    // The beginning of a line and the end of all lines are kept. Both cuts are within the secret.
    seen.noise(&format!("{}{secret}", "a".repeat(NOISE - half)));
    assert!(seen.noise_seen().contains("a***"), "{}", seen.noise_seen());
    seen.noise(&format!("{secret}{}", "b".repeat(NOISE - half)));
    assert!(seen.noise_seen().contains("***b"), "{}", seen.noise_seen());
    assert!(!seen.noise_seen().contains(&secret[half..]));
}
