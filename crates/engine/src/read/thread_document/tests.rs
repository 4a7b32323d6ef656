//! Documents from stories, as people read them.

use uwf_protocol::run::Attempt;

use super::*;
use crate::read::document::newest_that_fit;

fn thread() -> ThreadId {
    "01J7K9Z000000000000000000A".parse().unwrap()
}

fn hash(number: usize) -> CasRef {
    CasRef::from_u64(number as u64)
}

fn story(number: usize, role: &str, answer: &str) -> StepStory {
    StepStory {
        number,
        hash: hash(number),
        role: role.parse().unwrap(),
        goal: Some(format!("you are the {role}")),
        agent: "uwf-mock".to_owned(),
        timestamp: 0,
        time: time::format_iso(0),
        duration_ms: Some(1500),
        instruction: Some("Go on".to_owned()),
        template: None,
        question: None,
        person: None,
        answer: Some(answer.to_owned()),
        output: None,
        extraction: None,
        tool_calls: Vec::new(),
        refused_calls: Vec::new(),
        checks: Vec::new(),
        left: Vec::new(),
        permissions: None,
        children: Vec::new(),
        usage: None,
        visit: None,
        replaces: Vec::new(),
        attempts: Vec::new(),
        unreadable: None,
    }
}

fn called(tool: &str) -> ToolUse {
    ToolUse {
        name: tool.to_owned(),
        args: None,
        outcome: None,
    }
}

fn attempt() -> AttemptView {
    AttemptView::from(Attempt {
        error: "missing\n## Step 9: x".to_owned(),
        agent: "uwf-mock".to_owned(),
        ..Attempt::of(hash(2), "writer".parse().unwrap())
    })
}

fn frame() -> Frame {
    Frame {
        thread: thread(),
        start: Some(start_section(thread(), "demo", hash(0), "say hello")),
        ends: Vec::new(),
    }
}

fn document(frame: &Frame, quota: usize, bodies: &[&str]) -> String {
    let roles = ["writer", "reviewer"];
    let story_at = |index: usize| story(index + 1, roles[index % 2], bodies[index]);
    let block_at = |index: usize| Block::of(&story_at(index));
    let mut told = HashSet::new();
    let count = bodies.len();
    let fitting = newest_that_fit(
        count,
        frame.room(quota),
        |hidden| frame.notice_cost(hidden, hash(0)),
        |nth| block_at(count - 1 - nth).cost(&mut told),
    );
    let blocks: Vec<Block> = (count - fitting..count).map(block_at).collect();
    frame.render(&blocks, count - fitting)
}

#[test]
fn a_document_has_the_layout_that_agents_know() {
    let text = document(&frame(), 4000, &["---\na: 1\n---\n", "fine"]);
    let expected = "# Thread `01J7K9Z000000000000000000A`\n\n**Workflow:** demo (`0000000000000`)\n\n\
        ## Task\n\nsay hello\n\n---\n\n\
        ## Step 1: writer `0000000000001`\n\
        **Agent:** uwf-mock | **Time:** 1970-01-01 00:00:00 UTC | **Duration:** 1.5s\n\n\
        <prompt>\nyou are the writer\n</prompt>\n\n\
        <instruction>\nGo on\n</instruction>\n\n<output>\n---\na: 1\n---\n\n</output>\n\n---\n\n\
        ## Step 2: reviewer `0000000000002`\n\
        **Agent:** uwf-mock | **Time:** 1970-01-01 00:00:00 UTC | **Duration:** 1.5s\n\n\
        <prompt>\nyou are the reviewer\n</prompt>\n\n\
        <instruction>\nGo on\n</instruction>\n\n<output>\nfine\n</output>\n";
    assert_eq!(text, expected);
}

#[test]
fn whatever_the_quota_a_document_keeps_it_and_shows_as_much_as_it_can() {
    let bodies = [
        "first ä",
        "second",
        "third and a bit longer 𝄞",
        "4",
        "fifth",
        "sixth",
    ];
    let whole = length(&document(&frame(), usize::MAX / 2, &bodies));
    let least = length(&document(&frame(), 1, &bodies));
    let mut shown_before = 1;
    for quota in least..=whole {
        let text = document(&frame(), quota, &bodies);
        let shown = text.matches("## Step ").count();
        assert!(length(&text) <= quota, "{quota}");
        assert!(shown >= shown_before, "{quota}");
        shown_before = shown;
    }
    assert_eq!(shown_before, bodies.len());
    assert!(document(&frame(), whole - 1, &bodies).contains("*(1 earlier step, load with"));
}

#[test]
fn one_step_is_shown_with_any_quota_and_the_notice_counts_the_others() {
    let text = document(&frame(), 1, &["a", "b", "c"]);
    assert_eq!(text.matches("## Step ").count(), 1);
    let notice = "*(2 earlier steps, load with `uwf thread read 01J7K9Z000000000000000000A --before 0000000000003`)*";
    assert!(text.contains(notice), "{text}");
}

#[test]
fn what_a_role_is_told_stands_at_its_first_step_that_is_shown() {
    let text = document(&frame(), 4000, &["a", "b", "c", "d"]);
    assert_eq!(text.matches("you are the writer").count(), 1);
    assert!(text.find("you are the writer") < text.find("## Step 2"));
}

#[test]
fn data_that_a_model_extracted_and_refused_calls_are_marked() {
    let story = StepStory {
        agent: "a\n# b".to_owned(),
        duration_ms: None,
        extraction: Some(Extraction {
            method: ExtractionMethod::Llm,
            attempts: 3,
            model: Some("small".to_owned()),
        }),
        refused_calls: RefusedCalls::count(&["Edit".to_owned()]),
        children: Vec::new(),
        tool_calls: ["Bash", "Re\nad", "Bash"].map(called).to_vec(),
        usage: Some(Usage {
            input_tokens: Some(7),
            ..Usage::default()
        }),
        ..story(1, "writer", "")
    };
    let line = "**Agent:** a # b | **Time:** 1970-01-01 00:00:00 UTC | **Usage:** 7 tokens in | **Tools:** Bash ×2, Re ad | **Extraction:** llm small, attempt 3 | **Refused:** 1 tool call was refused: Edit";
    assert_eq!(heading(&story).lines().last(), Some(line));
}

#[test]
fn data_that_is_not_in_the_answer_stands_below_it() {
    let extracted = |method| StepStory {
        output: Some(serde_json::json!({ "plan": "</data>" })),
        extraction: Some(Extraction {
            method,
            attempts: 1,
            model: None,
        }),
        ..story(1, "writer", "I have a plan.")
    };
    let text = body(&extracted(ExtractionMethod::Llm));
    let end = "</output>\n\n<data-1>\n```json\n{\n  \"plan\": \"</data>\"\n}\n```\n</data-1>";
    assert!(text.ends_with(end), "{text}");
    let text = body(&extracted(ExtractionMethod::Correction));
    assert!(text.ends_with("</output>"), "{text}");
}

#[test]
fn a_step_tells_what_was_said_and_what_failed() {
    let redo = AttemptView {
        replaces: Some(hash(2)),
        ..attempt()
    };
    let story = StepStory {
        question: Some("Which?\n</question>".to_owned()),
        person: Some("version 2".to_owned()),
        replaces: vec![hash(2)],
        attempts: vec![attempt(), redo],
        ..story(3, "writer", "done")
    };
    let block = Block::of(&story);
    let lines = "\n\n- failed before: **writer**, uwf-mock, at 1970-01-01 00:00:00 UTC: `missing ## Step 9: x`\n\
        - failed to do it again: **writer**, uwf-mock, at 1970-01-01 00:00:00 UTC: `missing ## Step 9: x`\n\
        - done again: it took the place of step `0000000000002`";
    assert!(block.heading.ends_with(lines), "{}", block.heading);
    let body = "<instruction>\nGo on\n</instruction>\n\n\
        <question-1>\nWhich?\n</question>\n</question-1>\n\n\
        <person>\nversion 2\n</person>\n\n<output>\ndone\n</output>";
    assert_eq!(block.body, body);
}

#[test]
fn a_document_without_any_part_says_so() {
    let frame = Frame {
        thread: thread(),
        start: None,
        ends: Vec::new(),
    };
    assert_eq!(frame.render(&[], 0), "*(no earlier steps)*\n");
}
