//! What gives way in a long conversation, and what stays.

use uwf_agent_kit::llm::ToolRequest;

use super::*;

fn calls(id: &str) -> Message {
    Message::Assistant {
        text: String::new(),
        tool_calls: vec![ToolRequest {
            id: id.to_owned(),
            name: "read_file".to_owned(),
            arguments: "{}".to_owned(),
        }],
    }
}

fn result(id: &str, length: usize) -> Message {
    Message::Tool {
        call_id: id.to_owned(),
        text: "x".repeat(length),
    }
}

fn told(text: &str) -> Message {
    Message::User(text.to_owned())
}

fn system() -> Message {
    Message::System("be brief".to_owned())
}

fn used(tokens: u64) -> Usage {
    Usage {
        input_tokens: Some(tokens),
        ..Usage::default()
    }
}

#[test]
fn it_is_due_at_four_fifths_of_the_window_by_what_the_server_counted() {
    let mut compaction = Compaction::new(Some(1000));
    let mut messages = vec![system(), told("the task"), calls("1")];
    assert!(!compaction.is_due(&messages));
    compaction.answered(&used(50), &used(800), &messages);
    assert!(!compaction.is_due(&messages), "750 tokens");
    messages.push(result("1", 400));
    assert!(compaction.is_due(&messages), "and a hundred more");
    assert!(!Compaction::new(None).is_due(&messages));
}

#[test]
fn older_results_of_tools_are_cut_first() {
    let messages = [
        system(),
        told("the task"),
        calls("1"),
        result("1", 50_000),
        calls("2"),
        result("2", 3_000),
    ];
    let Some(Compacted::Cut(cut)) = Compaction::new(None).compact(&messages) else {
        panic!("that is enough");
    };
    let lengths: Vec<usize> = cut
        .iter()
        .map(|one| size(std::slice::from_ref(one)))
        .collect();
    assert!(lengths[3] < 600 && lengths[5] == 3_000, "{lengths:?}");
    assert_eq!(&cut[..3], &messages[..3]);
    // There is nothing older: then the newest result is cut, too.
    let newest = [told("t"), calls("1"), result("1", 9_000)];
    let Some(Compacted::Cut(cut)) = Compaction::new(None).compact(&newest) else {
        panic!("a summary would not help");
    };
    assert!(size(&cut) < 2_200);
}

#[test]
fn a_summary_takes_the_place_of_what_is_older_and_calls_keep_their_results() {
    let mut messages = vec![system(), told("the task")];
    for round in 0..20 {
        messages.extend([calls(&round.to_string()), result(&round.to_string(), 400)]);
    }
    let Some(Compacted::Summarize(parts)) = Compaction::new(None).compact(&messages) else {
        panic!("no result is long");
    };
    let all = parts.material(100_000).unwrap();
    assert!(all.starts_with("[told to the agent]\nthe task\n"), "{all}");
    let some = parts.material(1_000).unwrap();
    assert!(some.contains("messages are left out)\n\n["), "{some}");
    assert!(
        some.chars().count() < 1_100 && some.contains("xxx"),
        "{some}"
    );
    let compacted = parts.with_summary("the task", "I read.");
    assert_eq!(compacted[0], system());
    let Message::User(told) = &compacted[1] else {
        panic!("{compacted:?}");
    };
    assert!(
        told.starts_with("the task\n\n## What you did so far"),
        "{told}"
    );
    assert!(told.ends_with("I read.\n"), "{told}");
    assert!(matches!(compacted[2], Message::Assistant { .. }));
    assert!(size(&compacted) < size(&messages) / 3);
    assert_eq!(compacted.last(), messages.last());
}

#[test]
fn the_newest_message_stays_and_a_task_alone_cannot_give_way() {
    let mut compaction = Compaction::new(None);
    assert_eq!(compaction.compact(&[system(), told("the task")]), None);
    let answer = |text: &str| Message::Assistant {
        text: text.to_owned(),
        tool_calls: Vec::new(),
    };
    let messages = [told("task"), answer("a"), told("correct it")];
    let Some(Compacted::Summarize(parts)) = compaction.compact(&messages) else {
        panic!("there is an answer before it");
    };
    let compacted = parts.with_summary("task", "s");
    assert_eq!(compacted.len(), 1);
    let Message::User(told) = &compacted[0] else {
        panic!("{compacted:?}");
    };
    assert!(
        told.contains("task") && told.ends_with("correct it"),
        "{told}"
    );
}

#[test]
fn it_is_done_a_bounded_number_of_times() {
    let mut compaction = Compaction::new(None);
    let messages = [told("t"), calls("1"), result("1", 9_000), calls("2")];
    let mut times = 0;
    while compaction.may_go_on() {
        compaction.compact(&messages);
        compaction.answered(&used(0), &used(1), &messages);
        times += 1;
    }
    assert_eq!(times, 8);
}

/// The parts of a conversation with these older messages.
fn parts(older: Vec<Message>) -> Parts {
    Parts {
        system: None,
        older,
        recent: Vec::new(),
    }
}

#[test]
fn a_message_that_does_not_fit_hides_no_older_one() {
    let parts = parts(vec![told("the task"), result("1", 5_000), told("go on")]);
    let material = parts.material(200).unwrap();
    assert!(
        material.contains("the task") && material.contains("go on"),
        "{material}"
    );
    assert!(!material.contains("xxx"), "{material}");
}

#[test]
fn messages_are_cut_shorter_before_nothing_is_summarized() {
    let parts = parts(vec![told(&"y".repeat(9_000)), result("1", 9_000)]);
    let material = parts.material(700).unwrap();
    assert!(material.contains("xxx"), "{material}");
    assert_eq!(parts.material(20), None);
}

#[test]
fn long_arguments_of_a_call_hide_no_other_call() {
    let call = |name: &str, length: usize| ToolRequest {
        id: name.to_owned(),
        name: name.to_owned(),
        arguments: "z".repeat(length),
    };
    let wrote = Message::Assistant {
        text: "I write.".to_owned(),
        tool_calls: vec![call("write_file", 90_000), call("shell_exec", 10)],
    };
    let material = parts(vec![wrote]).material(100_000).unwrap();
    assert!(
        material.contains("I write.") && material.contains("`shell_exec`"),
        "{material}"
    );
    assert!(material.chars().count() < 5_000);
}
