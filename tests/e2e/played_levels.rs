//! Threads below threads: a question comes up to the first, its answer goes down, and there may only be so many levels.

use serde_json::json;

use crate::gates::runs;
use crate::played::{ANSWERS, children, resume, step, text, threads, world};

/// A coder who asks before it codes.
const ASKING: &str = r#"roles:
  prepare: [{ output: { plan: p } }]
  coder: [{ output: { $status: $SUSPEND, reason: "Which file?" } }, { output: { file: a.rs } }]
  report: [{ output: { $status: built, file: b.rs } }]
  close: [{ output: { note: n } }]
"#;

#[test]
fn a_question_three_levels_down_reaches_the_top_and_its_answer_goes_back_down() {
    let (world, thread) = world(ASKING);
    let asked = step(&world, &thread, 2);
    assert_eq!(
        (&asked["status"], &asked["suspendMessage"]),
        (&json!("suspended"), &json!("Which file?"))
    );
    let (_, below) = children(&world, &thread);
    assert_eq!(asked["waitingChild"], json!(below));
    let shown = world.show(&thread);
    assert_eq!(shown["suspendMessage"], json!("Which file?"));
    let hint = format!("uwf thread resume {thread} -p");
    assert!(text(&shown["hint"]).contains(&hint), "{shown}");
    world
        .step(&thread)
        .exits(6)
        .says("asks: Which file?")
        .says(&hint);
    let listed = &threads(&world, &[])[0];
    assert_eq!(listed["status"], json!("suspended"));
    resume(&world, &thread, "a.rs, please").exits(0);
    let read = world.uwf(&["thread", "read", &below]).exits(0);
    assert!(read.stdout.contains("a.rs, please"), "{}", read.stdout);
    assert_eq!(step(&world, &thread, 2)["status"], json!("completed"));
    // An ended thread takes no answer.
    resume(&world, &thread, "more").exits(7);
}

#[test]
fn a_run_stops_at_a_question_three_levels_down_and_its_answer_leads_to_the_end() {
    let (world, _) = world(ASKING);
    let asked = world.uwf(&["run", "top", "-p", "the task"]).exits(6);
    let last = asked.stdout.lines().last().unwrap();
    assert!(last.contains("Which file?"), "{last}");
    let thread = text(&world.show("@")["thread"]);
    let resumed = resume(&world, &thread, "a.rs, please").exits(0).json();
    assert_eq!(
        resumed["child"]["child"]["role"],
        json!("coder"),
        "{resumed}"
    );
    world.uwf(&["thread", "run", &thread]).exits(0);
    assert_eq!(world.show(&thread)["result"], json!("Done: n"));
    assert_eq!(threads(&world, &["--children"]).len(), 4);
}

#[test]
fn threads_may_only_be_so_deep() {
    let (world, thread) = world(ANSWERS);
    world.configure("maxDepth", "1");
    step(&world, &thread, 1);
    let refused = world.step(&thread).exits(1);
    refused
        .says("2 threads above it, and 1 are allowed")
        .says("uwf config set maxDepth 2");
    assert_eq!(runs(&world), 1);
    world.configure("maxDepth", "2");
    assert_eq!(step(&world, &thread, 3)["status"], json!("completed"));
}

#[test]
fn a_workflow_with_too_many_levels_is_not_started_and_its_file_gets_a_warning() {
    let (world, thread) = world(ANSWERS);
    world.configure("maxDepth", "1");
    let warned = |args: &[&str]| {
        world
            .uwf(args)
            .exits(0)
            .says("warning: top.yaml:")
            .says("`develop` needs a child thread with 2 threads above it, and `maxDepth` in the config allows 1");
    };
    warned(&["workflow", "validate", "top.yaml", "--format", "text"]);
    warned(&["workflow", "put", "top.yaml", "--format", "text"]);
    let start = ["thread", "start", "top", "-p", "the task"];
    for args in [&start[..], &["run", "top.yaml", "-p", "the task"]] {
        let refused = world.uwf(args).exits(1);
        refused
            .says("workflow `top` needs a child thread with 2 threads above it, and 1 are allowed")
            .says("hint: `uwf config set maxDepth 2` allows it");
    }
    assert_eq!(threads(&world, &["--children"]).len(), 1);
    assert_eq!(world.show(&thread)["status"], json!("idle"));
    assert_eq!(runs(&world), 0);
    // What plays no role that is too deep can be started.
    world
        .uwf(&["thread", "start", "middle.yaml", "-p", "x"])
        .exits(0);
    world.configure("maxDepth", "2");
    let put = ["workflow", "put", "top.yaml", "--format", "text"];
    assert_eq!(world.uwf(&put).exits(0).stderr, "");
    world.uwf(&start).exits(0);
}
