//! Programs that print what they are asked: the prompt, and the example in it, are no answers.

use crate::processes::{kill, signal};
use crate::trees::LOOP;
use crate::world::{World, wait_until};

/// Schemas whose every example could be taken for an answer by who does not look closely.
const SCHEMAS: [&str; 12] = [
    "{ type: object, properties: { a: { type: string } } }",
    "{ type: object, properties: { a: { type: string } }, required: [a] }",
    "{ type: object, properties: { a: { type: boolean } }, required: [a] }",
    "{ type: object, properties: { a: { type: number } }, required: [a] }",
    "{ type: object, properties: { a: { type: array, items: { type: string } } }, required: [a] }",
    "{ type: object, properties: { a: { type: array, items: { type: array } } }, required: [a] }",
    "{ type: object, properties: { a: { enum: [one, two] } }, required: [a] }",
    "{ type: object, properties: { a: { anyOf: [{ enum: [one, two] }, { type: string }] } }, required: [a] }",
    "{ type: object, properties: { $status: { const: done } }, required: [$status] }",
    "{ type: object, properties: { a: { type: object, properties: { b: { type: string } } } }, required: [a] }",
    "{ type: object, properties: { a: {} }, required: [a] }",
    "{ type: object, properties: { $status: { const: done }, kind: { const: 7 } }, required: [$status] }",
];

/// A schema without fields.
const ANY: &str = "{ type: object }";

/// Returns a workflow of one role with a schema for its answer.
fn workflow(schema: &str) -> String {
    crate::world::ONE_STEP
        .replace(
            "{ type: object, properties: { note: { type: string } }, required: [note] }",
            schema,
        )
        .replace("Done: {{note}}", "Done")
}

#[track_caller]
fn check_refused(world: &World, schema: &str, agent: &str, why: &str) {
    world.put(&workflow(schema));
    let thread = world.start("one");
    let run = world.uwf(&["thread", "step", &thread, "--agent", agent]);
    assert_eq!(run.code, 3, "{schema}\n{}{}", run.stdout, run.stderr);
    run.says(why);
    assert_eq!(world.show(&thread)["steps"], 0, "{schema}");
}

#[test]
fn a_program_that_prints_its_prompt_has_not_answered() {
    let world = World::new();
    for schema in SCHEMAS.into_iter().chain([ANY]) {
        check_refused(&world, schema, "uwf-command -- cat", "is the prompt itself");
    }
}

#[test]
fn the_example_of_the_prompt_is_no_answer() {
    let world = World::new();
    for schema in SCHEMAS {
        check_refused(
            &world,
            schema,
            "uwf-command -- tail -n +2",
            "repeats the example of the prompt",
        );
    }
    check_refused(&world, ANY, "uwf-command -- tail -n +2", "no front matter");
}

#[test]
fn an_example_for_each_status_is_none_of_them() {
    let world = World::new();
    world.put(crate::world::REVIEW);
    let thread = world.start("review");
    world.script("plan.sh", "printf -- '---\\nplan: x\\n---\\n'");
    let step = |agent: &str| world.uwf(&["thread", "step", &thread, "--agent", agent]);
    step("uwf-command -- ./plan.sh").exits(0);
    step("uwf-command -- cat")
        .exits(3)
        .says("is the prompt itself");
    step("uwf-command -- tail -n +2")
        .exits(3)
        .says("several blocks");
}

#[test]
fn what_a_program_answers_after_its_prompt_counts() {
    let world = World::new();
    let script = world.script("tee.sh", "cat; printf -- '---\\nnote: mine\\n---\\n'");
    world.put(crate::world::ONE_STEP);
    let thread = world.start("one");
    world.agent("uwf-command", &["--", script.to_str().unwrap()]);
    world.step(&thread).exits(0);
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(steps["steps"][1]["output"]["note"], "mine");
}

/// A tool that prints what it is asked before its answer, waits for a file `gate` then, and counts its runs.
const PRINTS_ITS_PROMPT: &str = r#"echo run >> runs
cat
echo 'session=s1' >&2
touch ready
while [ ! -e gate ]; do sleep 0.02; done
printf -- '\n---\n$status: again\n---\nthe answer\n'
"#;

/// Ends adapter and engine while their program works, lets the program finish, and asks for the step again. Returns how
/// often the program ran.
fn runs_until_the_answer_is_used(world: &World, thread: &str) -> usize {
    let engine = world.spawn(&["thread", "step", thread]);
    wait_until("the tool works", || world.project().join("ready").exists());
    let adapter = world.agent_at_work(thread);
    kill(engine);
    signal("KILL", adapter);
    world.write("gate", "");
    world.wait_until_free(thread);
    world.step(thread).exits(0);
    let read = world.uwf(&["thread", "read", thread]).exits(0).stdout;
    assert!(read.contains("the answer"), "{read}");
    let runs = std::fs::read_to_string(world.project().join("runs")).unwrap();
    runs.lines().count()
}

#[test]
fn the_answer_behind_a_printed_prompt_outlives_a_crash() {
    let world = World::new();
    world.put(LOOP);
    let tool = world.script("tool", PRINTS_ITS_PROMPT);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("loop");
    assert_eq!(runs_until_the_answer_is_used(&world, &thread), 1);
}

#[test]
fn the_answer_behind_a_printed_correction_outlives_a_crash() {
    let world = World::new();
    world.put(LOOP);
    let body = format!(
        "if [ ! -e runs ]; then echo run >> runs; echo session=s1 >&2; echo no front matter; exit; fi\n{PRINTS_ITS_PROMPT}"
    );
    let tool = world.script("tool", &body);
    let tool = tool.to_str().unwrap();
    let session = [
        "--session-regex",
        "session=(\\w+)",
        "--resume-args",
        "{session}",
    ];
    world.agent("uwf-command", &[&session[..], &["--", tool]].concat());
    let thread = world.start("loop");
    assert_eq!(runs_until_the_answer_is_used(&world, &thread), 2);
}
