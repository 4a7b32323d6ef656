//! Conversations with an agent that answers from a list.

use std::path::Path;

use serde_json::json;
use uwf_protocol::schemas;

use super::*;
use crate::adapter::test_task;

/// Gives its replies in turn and keeps what it was asked.
struct Scripted {
    replies: Vec<Result<Reply, AdapterError>>,
    asked: Vec<String>,
}

impl Scripted {
    fn next(&mut self, asked: &str) -> Result<Reply, AdapterError> {
        self.asked.push(asked.to_owned());
        self.replies.remove(0)
    }
}

impl Adapter for Scripted {
    fn label(&self) -> String {
        "uwf-scripted".to_owned()
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        self.next(&task.prompt)
    }

    fn resume(&mut self, _: &Task, session: &str, _: &str) -> Result<Reply, AdapterError> {
        self.next(session)
    }
}

fn reply(text: &str, session: &str, tokens: u64) -> Result<Reply, AdapterError> {
    Ok(Reply {
        text: text.to_owned(),
        session_id: Some(session.to_owned()),
        turns: vec![
            Turn::spoken(TurnRole::Tool, "ls"),
            Turn::spoken(TurnRole::Assistant, text),
        ],
        usage: Some(Usage {
            output_tokens: Some(tokens),
            ..Usage::default()
        }),
        ..Reply::default()
    })
}

fn run(
    replies: Vec<Result<Reply, AdapterError>>,
    opening: &Opening,
) -> (
    Conversation,
    Scripted,
    Result<(Extracted, Extraction), Unfinished>,
) {
    run_with(replies, opening, &mut |_| Reading::NotTried)
}

fn run_with(
    replies: Vec<Result<Reply, AdapterError>>,
    opening: &Opening,
    read: &mut dyn FnMut(&str) -> Reading,
) -> (
    Conversation,
    Scripted,
    Result<(Extracted, Extraction), Unfinished>,
) {
    let schema = json!({ "properties": { "a": { "type": "string" } }, "required": ["a"] });
    let schema = RoleSchema::new(schemas::OBJECT, schema).unwrap();
    let task = test_task(Path::new("/"));
    let mut adapter = Scripted {
        replies,
        asked: Vec::new(),
    };
    let mut conversation = Conversation::default();
    let result = conversation.run(&mut adapter, &task, &schema, opening, read);
    (conversation, adapter, result)
}

/// Returns the opening after a failure in the session `s0`.
fn goes_on(error: &str, answered: bool) -> Opening {
    Opening::Continue {
        session: "s0".to_owned(),
        error: error.to_owned(),
        answered,
        instruction: None,
    }
}

const GOOD: &str = "---\na: x\n---\n";

#[test]
fn usage_is_summed_the_newest_session_counts_and_no_turn_is_lost() {
    let replies = vec![reply("work", "s1", 100), reply(GOOD, "s2", 5)];
    let (conversation, adapter, result) = run(replies, &Opening::Prompt);
    assert_eq!(result.unwrap().1.method, ExtractionMethod::Correction);
    assert_eq!(adapter.asked, ["the task", "s1"]);
    assert_eq!(conversation.session_id.as_deref(), Some("s2"));
    assert_eq!(
        conversation.usage.as_ref().unwrap().output_tokens,
        Some(105)
    );
    assert_eq!(conversation.usage.as_ref().unwrap().input_tokens, None);
    let turns = conversation.turns();
    let contents: Vec<&str> = turns.iter().map(|turn| turn.content.as_str()).collect();
    assert_eq!(contents[..2], ["ls", "work"]);
    assert_eq!(contents[3..], ["ls", GOOD]);
    assert_eq!(
        turns.iter().map(|turn| turn.index).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
}

#[test]
fn two_corrections_are_asked_for_and_no_more() {
    let replies = vec![reply("1", "s", 1), reply("2", "s", 1), reply("3", "s", 1)];
    let (conversation, adapter, result) = run(replies, &Opening::Prompt);
    assert!(matches!(
        result,
        Err(Unfinished::Rejected { attempts: 3, .. })
    ));
    assert_eq!(adapter.asked.len(), 3);
    assert_eq!(conversation.answer(), "3");
    assert_eq!(conversation.usage.unwrap().output_tokens, Some(3));
}

#[test]
fn an_agent_that_fails_at_a_correction_keeps_its_session_and_its_usage() {
    let replies = vec![reply("1", "s", 7), Err(AdapterError::failed("no money"))];
    let (conversation, _, result) = run(replies, &Opening::Prompt);
    assert_eq!(result.unwrap_err().phase(), Phase::Agent);
    assert_eq!(conversation.session_id.as_deref(), Some("s"));
    assert_eq!(conversation.answer(), "1");
    assert_eq!(conversation.usage.unwrap().output_tokens, Some(7));
}

#[test]
fn a_continued_session_is_not_given_the_task_again() {
    let opening = goes_on("timed out", false);
    let (conversation, adapter, result) = run(vec![reply(GOOD, "s0", 1)], &opening);
    assert_eq!(result.unwrap().1.method, ExtractionMethod::Frontmatter);
    assert_eq!(adapter.asked, ["s0"]);
    assert!(conversation.turns()[0].content.contains("timed out"));
}

#[test]
fn the_first_answer_after_a_refused_one_is_a_correction() {
    let opening = goes_on("no front matter", true);
    let (_, _, result) = run(vec![reply(GOOD, "s0", 1)], &opening);
    assert_eq!(result.unwrap().1.method, ExtractionMethod::Correction);
}

#[test]
fn a_single_answer_has_the_turns_of_its_adapter_and_no_others() {
    let plain = Reply {
        text: GOOD.to_owned(),
        ..Reply::default()
    };
    let (conversation, _, result) = run(vec![Ok(plain)], &Opening::Prompt);
    assert_eq!(result.unwrap().1.method, ExtractionMethod::Frontmatter);
    assert_eq!(conversation.turns(), []);
    assert_eq!(conversation.usage, None);
}

#[test]
fn only_a_session_that_is_gone_before_its_first_answer_can_be_replaced() {
    let gone = || {
        Err(AdapterError {
            session_gone: true,
            ..AdapterError::failed("no such session")
        })
    };
    let lacks_session = |replies, opening: &Opening| {
        let (conversation, _, result) = run(replies, opening);
        conversation.lacks_session(&result.unwrap_err())
    };
    assert!(lacks_session(vec![gone()], &goes_on("timed out", false)));
    assert!(lacks_session(vec![gone()], &Opening::Prompt));
    assert!(!lacks_session(
        vec![reply("garbage", "s0", 1), gone()],
        &Opening::Prompt
    ));
    assert!(!lacks_session(
        vec![Err(AdapterError::failed("killed"))],
        &Opening::Prompt
    ));
}

#[test]
fn the_turns_of_a_failed_call_are_kept() {
    let failed = AdapterError {
        turns: vec![Turn::spoken(TurnRole::Assistant, "I begin")],
        ..AdapterError::failed("killed")
    };
    let (conversation, _, result) = run(vec![Err(failed)], &Opening::Prompt);
    assert_eq!(result.unwrap_err().phase(), Phase::Agent);
    assert_eq!(conversation.turns()[0].content, "I begin");
}

fn used(tokens: u64) -> Usage {
    Usage {
        output_tokens: Some(tokens),
        ..Usage::default()
    }
}

#[test]
fn when_corrections_end_the_last_answer_is_read_by_a_model_and_its_usage_counts() {
    let replies = vec![reply("1", "s", 1), reply("2", "s", 1), reply("3", "s", 1)];
    let mut given = Vec::new();
    let (conversation, adapter, result) = run_with(replies, &Opening::Prompt, &mut |answer| {
        given.push(answer.to_owned());
        Reading::Done(Box::new(crate::extractor::Read {
            extracted: Extracted {
                type_hash: schemas::OBJECT,
                output: json!({ "a": "3" }),
                body: "3".to_owned(),
            },
            model: "small".to_owned(),
            rounds: 2,
            usage: used(10),
        }))
    });
    let (extracted, extraction) = result.unwrap();
    assert_eq!(given, ["3"]);
    assert_eq!(adapter.asked.len(), 3);
    assert_eq!(extracted.output, json!({ "a": "3" }));
    let expected = Extraction {
        method: ExtractionMethod::Llm,
        attempts: 5,
        model: Some("small".to_owned()),
    };
    assert_eq!(extraction, expected);
    assert_eq!(conversation.usage, Some(used(13)));
}

#[test]
fn an_answer_that_no_model_can_read_is_rejected_with_feedback_about_the_answer_only() {
    let (conversation, _, result) = run_with(
        vec![
            reply("prose", "s", 1),
            reply("prose", "s", 1),
            reply("prose", "s", 1),
        ],
        &Opening::Prompt,
        &mut |_| {
            Reading::Failed(Box::new(Unread {
                code: "unauthorized",
                problem: "the key is wrong".to_owned(),
                hint: Some("another key".to_owned()),
                usage: Some(used(4)),
            }))
        },
    );
    let unfinished = result.unwrap_err();
    assert_eq!(unfinished.phase(), Phase::Extract);
    assert!(
        unfinished
            .to_string()
            .contains("; no model could read it (unauthorized): the key is wrong")
    );
    assert!(!unfinished.feedback().contains("key"));
    assert!(
        unfinished
            .feedback()
            .starts_with("the answer was not accepted after 3 attempts")
    );
    assert_eq!(conversation.usage, Some(used(7)));
}
