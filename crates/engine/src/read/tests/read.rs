//! What the document of a thread says.

use serde_json::json;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::ExtractionMethod;
use uwf_protocol::schemas;
use uwf_storage::Reason;

use super::World;
use crate::{EngineError, ReadOptions, read_thread};

fn options(quota: usize) -> ReadOptions {
    ReadOptions {
        quota,
        before: None,
        start: false,
    }
}

fn before(step: CasRef) -> ReadOptions {
    ReadOptions {
        before: Some(step),
        ..options(4000)
    }
}

fn read(world: &World, thread: ThreadId, options: &ReadOptions) -> String {
    read_thread(&world.site, thread, options).unwrap().document
}

#[test]
fn a_thread_reads_from_its_task_to_its_newest_step_also_when_it_has_ended() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    let first = world.step(thread, "writer", &json!({}), "Hello!");
    let second = world.step(thread, "reviewer", &json!({ "$status": "done" }), "Fine.");
    world.end(thread, Reason::Completed);
    let workflow = world.workflow;
    let expected = format!(
        "# Thread `{thread}`\n\n**Workflow:** demo (`{workflow}`)\n\n## Task\n\nSay hello.\n\n---\n\n\
         ## Step 1: writer `{first}`\n\
         **Agent:** uwf-mock | **Time:** 2026-05-28 20:26:40 UTC | **Duration:** 1.5s\n\n\
         <prompt>\nYou write.\n</prompt>\n\n<instruction>\nGo.\n</instruction>\n\n<output>\nHello!\n</output>\n\n---\n\n\
         ## Step 2: reviewer `{second}`\n\
         **Agent:** uwf-mock | **Time:** 2026-05-28 20:26:40 UTC | **Duration:** 1.5s\n\n\
         <prompt>\nYou review.\n</prompt>\n\n<instruction>\nGo.\n</instruction>\n\n<output>\nFine.\n</output>\n\n---\n\n\
         ## Completed\n\nThe thread has reached `$END`.\n"
    );
    assert_eq!(read(&world, thread, &options(4000)), expected);
}

#[test]
fn a_quota_keeps_the_newest_steps_and_their_numbers() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    let steps: Vec<CasRef> = (0..5)
        .map(|number| world.step(thread, "writer", &json!({}), &format!("text {number}")))
        .collect();
    let text = read(&world, thread, &options(600));
    assert!(text.chars().count() <= 600);
    assert!(text.contains("## Step 5: writer") && !text.contains("## Step 1: writer"));
    let shown = text.matches("## Step ").count();
    let notice = format!(
        "*({} earlier steps, load with `uwf thread read {thread} --before {}`)*",
        5 - shown,
        steps[5 - shown]
    );
    assert!(text.contains(&notice), "{text}");
}

#[test]
fn the_steps_before_one_are_read_without_the_task_unless_it_is_wanted() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    let first = world.step(thread, "writer", &json!({}), "one");
    let second = world.step(thread, "reviewer", &json!({ "$status": "again" }), "two");
    world.fail(thread, "no");
    let text = read(&world, thread, &before(second));
    assert!(text.starts_with("## Step 1: writer"));
    assert!(!text.contains("two") && !text.contains("Failed attempts"));
    let with_start = ReadOptions {
        start: true,
        ..before(second)
    };
    assert!(read(&world, thread, &with_start).contains("## Task\n\nSay hello."));
    assert_eq!(
        read(&world, thread, &before(first)),
        "*(no earlier steps)*\n"
    );
}

#[test]
fn only_a_step_of_the_thread_can_be_read_before() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    let start = world.head(thread);
    world.step(thread, "writer", &json!({}), "one");
    let error = read_thread(&world.site, thread, &before(start)).unwrap_err();
    assert!(matches!(error, EngineError::StepNotInThread { step, .. } if step == start));
}

/// Puts turns of which the last one with a text of the agent is `said on the way`.
fn turns(world: &World) -> Vec<CasRef> {
    let turn = |role: &str, content: &str| {
        world.put(
            schemas::OBJECT,
            &json!({ "role": role, "content": content }),
        )
    };
    vec![
        turn("assistant", "said on the way"),
        turn("assistant", " \n"),
        turn("tool", "shell"),
    ]
}

#[test]
fn the_answer_that_was_kept_is_what_the_agent_said() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    let detail = world.detail("the answer", ExtractionMethod::Llm, turns(&world));
    world.step_with_detail(thread, "writer", &json!({}), detail);
    let text = read(&world, thread, &options(4000));
    assert!(text.contains("<output>\nthe answer\n</output>"), "{text}");
    assert!(text.contains("| **Extraction:** llm"));
}

#[test]
fn without_a_kept_answer_it_is_the_newest_turn_of_the_agent_with_text() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    let foreign = json!({ "turns": turns(&world) });
    let detail = world.put(schemas::OBJECT, &foreign);
    world.step_with_detail(thread, "writer", &json!({}), detail);
    let text = read(&world, thread, &options(4000));
    assert!(
        text.contains("<output>\nsaid on the way\n</output>"),
        "{text}"
    );
}

#[test]
fn where_nothing_is_kept_of_what_the_agent_said_its_data_is_shown() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    let detail = world.put(schemas::OBJECT, &json!({}));
    world.step_with_detail(thread, "writer", &json!({ "plan": "p" }), detail);
    let expected = "<output>\n```json\n{\n  \"plan\": \"p\"\n}\n```\n</output>\n";
    assert!(read(&world, thread, &options(4000)).contains(expected));
}

#[test]
fn a_damaged_detail_is_told_in_its_place_and_the_thread_stays_readable() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    world.step(thread, "writer", &json!({ "plan": "p" }), "lost");
    let detail = world.detail("lost", ExtractionMethod::Frontmatter, vec![]);
    std::fs::write(world.node_file(detail), "rubbish").unwrap();
    world.step(thread, "reviewer", &json!({ "$status": "again" }), "kept");
    let text = read(&world, thread, &options(4000));
    assert!(
        text.contains(&format!("*(node `{detail}` is damaged")),
        "{text}"
    );
    assert!(text.contains("\"plan\": \"p\"") && text.contains("kept"));
}

#[test]
fn failed_attempts_at_the_head_are_told_at_the_end() {
    let world = World::new();
    let thread = world.start(10, "Say hello.");
    world.fail(thread, "exited with code 1");
    let text = read(&world, thread, &options(4000));
    let end = ": `exited with code 1`\n\n---\n\n## Failed\n\n**writer** is next; the last attempt failed.\n";
    assert!(text.ends_with(end), "{text}");
}
