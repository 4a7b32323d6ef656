//! What counts as an answer: front matter as models write it, what is refused and why, and how it is corrected.

use serde_json::{Value, json};

use crate::world::{REVIEW, World};

/// A role whose answer has a field of every kind, none of which must be there.
const FIELDS: &str = r#"
name: fields
description: Fields of all kinds
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: Fields.
    frontmatter:
      type: object
      properties:
        text: { type: string }
        hash: { type: string }
        count: { type: integer }
        ready: { type: boolean }
        tags: { type: array, items: { type: string } }
        inner: { type: object, properties: { deep: { type: string } } }
        status: { type: string }
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { _: { role: $END } }
"#;

/// The same with a field that must be there.
fn strict() -> String {
    FIELDS.replace(
        "      properties:\n",
        "      required: [text]\n      properties:\n",
    )
}

/// Makes the mock answer with texts: the first one, then corrections in turn.
fn answers(world: &World, texts: &[&str]) {
    let script =
        json!({ "roles": { "writer": [{ "output": texts[0], "corrections": texts[1..] }] } });
    world.mock(&script.to_string());
}

/// Returns the output of the thread's last step.
fn output(world: &World, thread: &str) -> Value {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap();
    steps.last().unwrap()["output"].clone()
}

/// Asserts what becomes of answers whose authors mean the same.
#[track_caller]
fn accepted(world: &World, text: &str, expected: &Value) {
    answers(world, &[text]);
    let thread = world.start("fields");
    world.step(&thread).exits(0);
    assert_eq!(output(world, &thread), *expected, "{text:?}");
}

#[test]
fn front_matter_is_read_as_it_is_written() {
    let world = World::new();
    world.put(FIELDS);
    let plain = json!({ "text": "one" });
    for text in [
        "---\ntext: one\n---\nBody.",
        "---\r\ntext: one\r\n---\r\n\r\nBody.",
        "\u{feff}---\ntext: one\n---\n",
        "\n\n  \n---\ntext: one\n---\n",
        "---\ntext: one\n---",
        "---\n\ttext: one\n---\n",
        "---\ntext: \"one\"\n---\n",
        "---\ntext: 'one' # said the writer\n---\n",
        "---\ntext: one\nmore: [1, 2]\n---\nAn extra field is dropped.",
        "---\ntext: one\n---\nA rule in the body:\n\n---\n\ntext: two\n",
        "Here is what you asked for.\n\n---\ntext: one\n---\nBody.",
        "```\n---\ntext: one\n---\n```\n",
        "```markdown\n---\ntext: one\n---\nBody.\n```",
    ] {
        accepted(&world, text, &plain);
    }
    accepted(&world, "---\n---\nNothing to say.", &json!({}));
    accepted(
        &world,
        "---\ntags:\n  - a\n  - b c\ninner:\n  deep: \"x: y\"\nready: true\ncount: 12\n---\n",
        &json!({ "tags": ["a", "b c"], "inner": { "deep": "x: y" }, "ready": true, "count": 12 }),
    );
    accepted(
        &world,
        "---\ntext: |\n  first\n  second\nhash: >-\n  folded\n  here\n---\n",
        &json!({ "text": "first\nsecond\n", "hash": "folded here" }),
    );
    accepted(
        &world,
        "---\ntext: größer 日本 \"und\" {x}\n---\n",
        &json!({ "text": "größer 日本 \"und\" {x}" }),
    );
}

#[test]
fn text_that_looks_like_a_number_stays_text() {
    let world = World::new();
    world.put(FIELDS);
    for hash in [
        "0123456789012",
        "12E4567890123",
        "1234567890123",
        "1_000",
        "0x1F",
        "true",
        "1.0",
    ] {
        accepted(
            &world,
            &format!("---\nhash: {hash}\ntags: [{hash}]\ninner: {{ deep: {hash} }}\n---\n"),
            &json!({ "hash": hash, "tags": [hash], "inner": { "deep": hash } }),
        );
    }
    accepted(
        &world,
        "---\ncount: '7'\nready: 'false'\n---\n",
        &json!({ "count": 7, "ready": false }),
    );
}

#[test]
fn the_variant_that_fits_is_taken() {
    let world = World::new();
    world.put(REVIEW);
    let script = json!({ "roles": {
        "writer": [{ "output": "---\nplan: p\n---\n" }],
        "reviewer": [
            { "output": "---\n$status: rejected\nreason: too long\nsummary: not asked\n---\n" },
            { "output": "---\n\"$status\": 'approved'\nsummary: fine\n---\n" },
        ],
    } });
    world.mock(&script.to_string());
    let thread = world.start("review");
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let rejected = output(&world, &thread);
    assert_eq!(
        (&rejected["$status"], &rejected["reason"]),
        (&json!("rejected"), &json!("too long"))
    );
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    assert_eq!(
        output(&world, &thread),
        json!({ "$status": "approved", "summary": "fine" })
    );
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

/// Asserts that an answer fails its step with these words, and that nothing is recorded for it.
#[track_caller]
fn refused(world: &World, text: &str, words: &str) {
    answers(world, &[text]);
    let thread = world.start("fields");
    let run = world.step(&thread);
    assert_eq!(run.code, 3, "{text:?} was accepted");
    let run = run.says("not accepted after 1 attempt");
    assert!(
        run.stderr.contains(words),
        "no `{words}` for {text:?} in\n{}",
        run.stderr
    );
    let shown = world.show(&thread);
    assert_eq!(
        (&shown["status"], &shown["steps"]),
        (&json!("failed"), &json!(0))
    );
    assert_eq!(shown["attempts"][0]["phase"], json!("extract"));
    // The answer is not lost: the hint leads to it.
    let raw = run.stderr.split("`uwf cas get ").nth(1).unwrap();
    let hash = &raw[..13];
    assert_eq!(
        world.uwf(&["cas", "get", hash]).exits(0).json()["payload"],
        json!(text)
    );
}

#[test]
fn what_is_not_front_matter_is_refused_with_the_reason() {
    let world = World::new();
    world.put(FIELDS);
    refused(&world, "I am done.", "front matter");
    refused(&world, "---\ntext: one\nno end", "front matter");
    refused(&world, "---\ntext: one\n----\nbody", "front matter");
    refused(&world, "---\ntext: one\n---x\nbody", "front matter");
    refused(&world, "---\n- a\n- b\n---\n", "not a mapping");
    refused(&world, "---\njust words\n---\n", "not a mapping");
}

#[test]
fn malformed_yaml_is_never_taken_for_an_empty_answer() {
    let world = World::new();
    world.put(FIELDS);
    for text in [
        "---\ntext: [one\n---\nbody",
        "---\ntext: one: two\n---\nbody",
        "---\ntext: \"one\n---\nbody",
        "---\ninner:\n\tdeep: one\n---\nbody",
        "---\ntext: one\n text: two\n---\nbody",
        "---\ntext: one\ntext: two\n---\nbody",
        "---\ntext: @one\n---\nbody",
        "---\ntext: *none\n---\nbody",
    ] {
        refused(&world, text, "not valid YAML");
    }
}

#[test]
fn what_does_not_fit_the_schema_is_refused_with_the_field() {
    let world = World::new();
    world.put(&strict());
    refused(&world, "---\n---\nbody", "text");
    refused(&world, "---\ncount: 3\n---\nbody", "text");
    refused(&world, "---\ntext: one\ncount: many\n---\nbody", "count");
    refused(&world, "---\ntext: [one]\n---\nbody", "text");
    refused(&world, "---\ntext: one\ntags: one\n---\nbody", "tags");
    refused(
        &world,
        "---\ntest: one\n---\nbody",
        "the schema does not know `test`",
    );
}

/// Returns how the data of the thread's last step was got.
fn extraction(world: &World, step: &Value) -> Value {
    let details = world
        .uwf(&["step", "show", step.as_str().unwrap()])
        .exits(0)
        .json();
    let text = details.to_string();
    let start = text.find("\"extraction\":").unwrap() + "\"extraction\":".len();
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    values.next().unwrap().unwrap()
}

#[test]
fn a_corrected_answer_is_accepted_and_says_that_it_was_corrected() {
    let world = World::new();
    world.put(&strict());
    answers(
        &world,
        &[
            "no front matter",
            "---\ntext: [1\n---\n",
            "---\ntext: good\n---\nBody.",
        ],
    );
    let thread = world.start("fields");
    let report = world.step(&thread).exits(0).json();
    assert_eq!(output(&world, &thread), json!({ "text": "good" }));
    let extraction = extraction(&world, &report["step"]);
    assert_eq!(
        (&extraction["method"], &extraction["attempts"]),
        (&json!("correction"), &json!(3))
    );
    // What was said on the way is part of the step.
    let read = world
        .uwf(&["step", "read", report["step"].as_str().unwrap()])
        .exits(0);
    for said in ["no front matter", "not valid YAML", "text: good"] {
        assert!(
            read.stdout.contains(said),
            "no `{said}` in\n{}",
            read.stdout
        );
    }
}

#[test]
fn three_bad_answers_fail_the_step_and_the_next_call_goes_on_in_the_session() {
    let world = World::new();
    world.put(&strict());
    let script = json!({ "roles": { "writer": [{
        "output": "bad one", "corrections": ["bad two", "bad three"], "continued": "---\ntext: at last\n---\n",
    }] } });
    world.mock(&script.to_string());
    let thread = world.start("fields");
    world
        .step(&thread)
        .exits(3)
        .says("not accepted after 3 attempts");
    let attempt = world.show(&thread)["attempts"][0].clone();
    assert_eq!(attempt["sessionId"], json!("mock-writer-1"));
    let report = world.step(&thread).exits(0).json();
    assert_eq!(output(&world, &thread), json!({ "text": "at last" }));
    let extraction = extraction(&world, &report["step"]);
    assert_eq!(extraction["method"], json!("correction"));
}
