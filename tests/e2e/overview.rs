//! What threads are about, what they wait for, what they cost and what they result in, at a glance.

use serde_json::{Value, json};

use crate::pty::on_terminal;
use crate::world::{ONE_STEP, REVIEW, World};

/// A writer who fails, which costs something, too.
pub(crate) const FAILING: &str = r"
roles:
  writer:
    - { exit: 3, usage: { inputTokens: 1, outputTokens: 1, costUsd: 0.4 } }
";
/// A writer whose run costs something and a reviewer whose run does not tell it.
const COSTLY: &str = r"
roles:
  writer:
    - { output: { plan: p }, usage: { inputTokens: 100, outputTokens: 50, costUsd: 0.25 } }
  reviewer:
    - { output: { $status: ask, question: which colour? } }
    - { output: { $status: approved, summary: all good } }
";

/// Fails at the first step, and makes the agent one that does not fail.
fn fail_first(world: &World, thread: &str) {
    world.mock(FAILING);
    world.step(thread).exits(3);
    world.mock(COSTLY);
}

fn start(world: &World, workflow: &str, task: &str) -> String {
    let started = world.uwf(&["thread", "start", workflow, "-p", task]);
    let started = started.exits(0).json();
    started["thread"].as_str().unwrap().to_owned()
}

fn listed(world: &World, thread: &str) -> Value {
    let all = world.uwf(&["thread", "list", "--all"]).exits(0).json();
    let items = all.as_array().unwrap();
    let item = items.iter().find(|item| item["thread"] == json!(thread));
    item.unwrap().clone()
}

#[test]
fn a_list_tells_tasks_questions_and_failures() {
    let world = World::new();
    world.put(REVIEW);
    let thread = start(&world, "review", "Paint the roof\nsoon");
    fail_first(&world, &thread);
    let item = listed(&world, &thread);
    assert_eq!(item["task"], json!("Paint the roof"));
    assert_eq!(item["failureReason"], json!("the script says `exit: 3`"));
    let text = on_terminal(&world, 120, &["thread", "list"]);
    assert!(text.contains("the script says `exit: 3`"), "{text}");
    world
        .uwf(&["thread", "step", &thread, "-c", "all"])
        .exits(6);
    let item = listed(&world, &thread);
    assert_eq!(item["suspendMessage"], json!("Need: which colour?"));
    assert_eq!(item["failureReason"], json!(null));
    let text = on_terminal(&world, 120, &["thread", "list"]);
    assert!(
        text.contains("Paint the roof  Need: which colour?"),
        "{text}"
    );
}

#[test]
fn a_list_has_the_names_of_threads() {
    let world = World::new();
    world.put(REVIEW);
    let start = [
        "thread", "start", "review", "-p", "Write", "--name", "fix-42",
    ];
    world.uwf(&start).exits(0);
    let list = world.uwf(&["thread", "list", "--format", "text"]).exits(0);
    assert!(list.stdout.contains("fix-42: Write"), "{}", list.stdout);
}

#[test]
fn the_lines_of_a_list_fit_the_terminal() {
    let world = World::new();
    world.put(REVIEW);
    let thread = start(&world, "review", &"a long task ".repeat(30));
    fail_first(&world, &thread);
    for columns in [80, 120] {
        let text = on_terminal(&world, columns, &["thread", "list"]);
        for line in text.lines() {
            assert!(line.chars().count() <= usize::from(columns), "{line}");
        }
        let row = text.lines().nth(1).unwrap();
        assert!(row.starts_with(&thread), "{row}");
        assert!(
            row.contains("failed  ") && row.contains("a long task"),
            "{row}"
        );
        assert!(row.contains("the script"), "{row}");
    }
}

#[test]
fn the_prompt_of_the_edge_to_the_end_is_the_result() {
    let world = World::new();
    world.put(&REVIEW.replace("Done: {{summary}}", "Done: {{summary}}\\nFor ever."));
    world.mock(COSTLY);
    let thread = start(&world, "review", "Paint");
    let before = world.uwf(&["thread", "step", &thread]).exits(0).json();
    assert_eq!(before["result"], json!(null));
    world.step(&thread).exits(0);
    let resumed = world.uwf(&["thread", "resume", &thread, "-p", "red"]);
    let result = json!("Done: all good\nFor ever.");
    assert_eq!(resumed.exits(0).json()["result"], result);
    assert_eq!(world.show(&thread)["result"], result);
    assert_eq!(listed(&world, &thread)["result"], json!("Done: all good"));
    let text = on_terminal(&world, 120, &["thread", "show", &thread]);
    assert!(
        text.contains("result    Done: all good\n          For ever."),
        "{text}"
    );
    // A fork of the last step has the result once it has ended, too.
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    let fork = world.uwf(&["thread", "fork", &head]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap();
    assert_eq!(world.show(fork)["result"], json!(null));
    assert_eq!(world.step(fork).exits(0).json()["result"], result);
    assert_eq!(world.show(fork)["result"], result);
}

#[test]
fn conditions_decide_which_end_is_the_result() {
    let world = World::new();
    let ends = r#"
conditions:
  long: { description: "", expression: "$length($last('writer').note) > 3" }
graph:
  $START: [{ role: writer, prompt: "Write a note." }]
  writer:
    - { role: $END, condition: long, prompt: "Long: {{note}}" }
    - { role: $END, prompt: "Short: {{note}}" }
"#;
    let roles = ONE_STEP.split("graph:").next().unwrap();
    world.put(&format!("{}{}", roles.trim_start(), ends.trim_start()));
    for (note, result) in [("abcdef", "Long: abcdef"), ("ab", "Short: ab")] {
        world.mock(&format!(
            "roles:\n  writer:\n    - output: {{ note: {note} }}\n"
        ));
        let thread = world.start("one");
        assert_eq!(world.step(&thread).exits(0).json()["result"], json!(result));
        assert_eq!(world.show(&thread)["result"], json!(result));
    }
}

#[test]
fn a_result_that_cannot_be_filled_in_breaks_no_thread() {
    let world = World::new();
    let optional = ONE_STEP
        .replace(
            "{ note: { type: string } }",
            "{ note: { type: string }, other: {} }",
        )
        .replace("required: [note]", "required: [other]");
    world.write("one.yaml", &optional);
    let put = world.uwf(&["workflow", "put", "one.yaml"]).exits(0);
    put.says("may be missing from the answer of `writer`");
    world.mock("roles:\n  writer:\n    - output: { other: 1 }\n");
    let thread = world.start("one");
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        (&report["done"], &report["result"]),
        (&json!(true), &json!(null))
    );
    let shown = world.show(&thread);
    for view in [&report, &shown, &listed(&world, &thread)] {
        let problem = view["resultProblem"].as_str().unwrap();
        assert!(problem.contains("`note`"), "{problem}");
    }
}

#[test]
fn an_ended_thread_that_can_be_resumed_says_so() {
    let world = World::new();
    let start = "$START: { new: { role: writer, prompt: a }, resume: { role: writer, prompt: b } }";
    let again = ONE_STEP.replace(
        r#"$START: { _: { role: writer, prompt: "Write a note." } }"#,
        start,
    );
    world.put(&again.replace("name: one", "name: again"));
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    for (workflow, can) in [("again", true), ("one", false)] {
        let thread = world.start(workflow);
        world.step(&thread).exits(0);
        let shown = world.show(&thread);
        assert_eq!(shown["resumable"] == json!(true), can);
        assert_eq!(shown["resumable"], listed(&world, &thread)["resumable"]);
        let text = on_terminal(&world, 120, &["thread", "show", &thread]);
        let resume = format!("next      uwf thread resume {thread} -p");
        assert_eq!(text.contains(&resume), can, "{text}");
    }
}

#[test]
fn a_list_sums_what_was_used_without_reading_the_chain_of_an_ended_thread() {
    let world = World::new();
    world.put(REVIEW);
    let thread = start(&world, "review", "Paint");
    fail_first(&world, &thread);
    world
        .uwf(&["thread", "step", &thread, "-c", "all"])
        .exits(6);
    world.uwf(&["thread", "resume", &thread]).exits(0);
    let usage = listed(&world, &thread)["usage"].clone();
    assert_eq!(usage, world.show(&thread)["usage"]);
    assert_eq!(
        (&usage["runs"], &usage["costUsd"]),
        (&json!(4), &json!(0.65))
    );
    assert_eq!(
        (&usage["costUnknown"], &usage["tokens"]),
        (&json!(2), &json!(152))
    );
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let first = steps["steps"][1]["hash"].as_str().unwrap();
    let node = world.root().join("cas").join(format!("{first}.bin"));
    std::fs::remove_file(node).unwrap();
    assert_eq!(listed(&world, &thread)["usage"], usage);
}
