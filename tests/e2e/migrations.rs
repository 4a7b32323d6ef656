//! Going on under another workflow: a thread keeps its id, its steps and what was paid for; a fork leaves the original.

use serde_json::{Value, json};

use crate::gates::{at_work, gated_agent, open_gate, wait_for_ends};
use crate::world::{REVIEW, Run, World};

const ANSWERS: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n    - output: { $status: approved, summary: s }\n  tester:\n    - output: { ok: true }\n";

/// The review with a tester behind the writer, and a limit.
fn with_tester() -> String {
    let tester = "  tester:\n    description: Tests\n    goal: You test.\n    capabilities: []\n    procedure: Test.\n    output: A result.\n    frontmatter: { type: object, properties: { ok: { type: boolean } }, required: [ok] }\n";
    REVIEW
        .replacen("  reviewer:\n    description", &format!("{tester}  reviewer:\n    description"), 1)
        .replace(
            "  writer: { _: { role: reviewer, prompt: \"Review: {{plan}}\" } }",
            "  writer: { _: { role: tester, prompt: \"Test: {{plan}}\" } }\n  tester: { _: { role: reviewer, prompt: \"Review it\" } }",
        )
        .replace("roles:\n  writer:", "limits: { maxSteps: 9 }\nroles:\n  writer:")
}

/// A world with a review whose writer has done its step.
fn written() -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(ANSWERS);
    let thread = world.start("review");
    world.step(&thread).exits(0);
    (world, thread)
}

fn migrate(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["thread", "migrate"], args].concat())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn steps(world: &World, thread: &str) -> Vec<Value> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["steps"].as_array().unwrap()[1..].to_vec()
}

#[test]
fn a_thread_goes_on_under_the_workflow_that_has_its_name_now() {
    let (world, thread) = written();
    let before = world.show(&thread);
    let done = steps(&world, &thread);
    world.put(&with_tester());

    let migrated = migrate(&world, &[&thread]).exits(0).json();
    assert_eq!(
        (&migrated["migrated"], &migrated["steps"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(migrated["from"], before["workflow"]);
    assert_eq!(migrated["fromHead"], before["head"]);
    assert_eq!(migrated["currentRole"], json!("tester"));
    assert_eq!(
        migrated["diff"]["roles"],
        json!([{ "role": "tester", "change": "added", "fields": [] }])
    );
    let after = world.show(&thread);
    assert_eq!(after["workflow"], migrated["workflow"]);
    assert_eq!(
        (&after["head"], &after["steps"]),
        (&migrated["head"], &json!(1))
    );

    // The copy says what the original said, at the same time.
    let copies = steps(&world, &thread);
    for key in [
        "role",
        "output",
        "detail",
        "agent",
        "timestamp",
        "durationMs",
        "edgePrompt",
    ] {
        assert_eq!(copies[0][key], done[0][key], "{key}");
    }
    assert_eq!(copies[0].get("replaces"), None);
    // The original is there, belongs to the thread, and is not garbage.
    let old = text(&done[0]["hash"]);
    assert_eq!(
        world.uwf(&["step", "show", old]).exits(0).json()["thread"],
        json!(thread)
    );
    world.uwf(&["cas", "verify"]).exits(0);
    let garbage = world.uwf(&["cas", "gc", "--dry-run"]).exits(0);
    assert!(!garbage.stdout.contains(old), "{}", garbage.stdout);

    assert_eq!(world.step(&thread).exits(0).json()["role"], json!("tester"));
    world.uwf(&["thread", "read", &thread]).exits(0);
}

#[test]
fn a_paused_thread_can_be_migrated_and_stays_paused() {
    let (world, thread) = written();
    world.uwf(&["thread", "pause", &thread]).exits(0);
    world.write("review.yaml", &with_tester());
    world.uwf(&["workflow", "put", "review.yaml"]).exits(0);
    let migrated = migrate(&world, &[&thread]).exits(0).json();
    assert_eq!(migrated["status"], json!("paused"));
    world.step(&thread).exits(6);
    world.uwf(&["thread", "unpause", &thread]).exits(0);
    assert_eq!(world.show(&thread)["currentRole"], json!("tester"));
}

#[test]
fn migrating_again_changes_nothing_and_migrating_back_brings_the_old_chain_back() {
    let (world, thread) = written();
    let before = world.show(&thread);
    world.put(&with_tester());
    migrate(&world, &[&thread]).exits(0);
    let state = world.state("threads.yaml");
    let again = migrate(&world, &[&thread]).exits(0).json();
    assert_eq!(
        (&again["migrated"], &again["diff"]["roles"]),
        (&json!(false), &json!([]))
    );
    assert_eq!(world.state("threads.yaml"), state);

    migrate(&world, &[&thread, text(&before["workflow"])]).exits(0);
    assert_eq!(world.show(&thread)["head"], before["head"]);
    migrate(&world, &[&thread]).exits(0);
    assert_eq!(world.state("threads.yaml"), state);
    assert_eq!(steps(&world, &thread).len(), 1);
}

#[test]
fn a_dry_run_shows_the_difference_and_changes_nothing() {
    let (world, thread) = written();
    let file = world.write("review.yaml", &with_tester());
    let state = (world.state("threads.yaml"), world.show(&thread));
    let args = [&thread, file.to_str().unwrap(), "--dry-run"];
    let same = migrate(&world, &[&thread, "--dry-run"]).exits(0).json();
    assert_eq!(
        (&same["dryRun"], &same["migrated"]),
        (&json!(true), &json!(false))
    );
    let shown = migrate(&world, &args).exits(0).json();
    assert_eq!(shown["dryRun"], json!(true));
    assert_eq!(shown["head"], state.1["head"]);
    assert_eq!(shown["currentRole"], json!("tester"));
    let told = migrate(&world, &[&args[..], &["--format", "text"]].concat()).exits(0);
    for line in [
        "+ role tester",
        "~ edge writer [_]: to reviewer → tester",
        "+ limit maxSteps: 9",
    ] {
        assert!(told.stdout.contains(line), "{line}: {}", told.stdout);
    }
    assert_eq!((world.state("threads.yaml"), world.show(&thread)), state);
}

#[test]
fn what_was_done_again_and_failed_is_still_told_of_after_a_migration() {
    let (world, thread) = written();
    let old = world.show(&thread)["head"].clone();
    world
        .uwf(&["thread", "poke", &thread, "-p", "better"])
        .exits(0);
    world.put(&with_tester());
    migrate(&world, &[&thread]).exits(0);
    assert_eq!(steps(&world, &thread)[0]["replaces"], json!([old]));
    world.step(&thread).exits(0);
    let read = world.uwf(&["thread", "read", &thread]).exits(0);
    assert!(read.stdout.contains(text(&old)), "{}", read.stdout);
}

#[test]
fn a_workflow_that_gives_no_next_step_is_refused_with_the_reason() {
    let (world, thread) = written();
    let head = world.show(&thread)["head"].clone();
    // The role that did the last step is gone.
    world.put(&REVIEW.replace("writer", "author"));
    migrate(&world, &[&thread])
        .exits(1)
        .says("cannot go on under workflow")
        .says("the graph has no edges for `writer`")
        .says("uwf thread fork");
    assert_eq!(world.show(&thread)["head"], head);
}

#[test]
fn a_recorded_output_that_routing_needs_must_fit() {
    let (world, thread) = written();
    world.step(&thread).exits(0);
    // The reviewer said `rejected`; now every answer is taken for the one that there is.
    let one_way = REVIEW
        .replace("        - { properties: { $status: { const: rejected }, reason: { type: string } }, required: [$status, reason] }\n", "")
        .replace("        - { properties: { $status: { const: ask }, question: { type: string } }, required: [$status, question] }\n", "")
        .replace("    rejected: { role: writer, prompt: \"Fix {{reason}}\" }\n", "")
        .replace("    ask: { role: $SUSPEND, prompt: \"Need: {{question}}\" }\n", "");
    world.put(&one_way);
    let before = steps(&world, &thread)[0]["hash"].clone();
    let before = text(&before);
    migrate(&world, &[&thread])
        .exits(1)
        .says("the output of step")
        .says("does not fit the schema of role `reviewer` there")
        .says(&format!("uwf thread fork {before} --workflow"));
    // The step is done anew from where the hint says.
    let fork = world.uwf(&["thread", "fork", before, "--workflow", "review"]);
    let fork = fork.exits(0).json();
    let shown = world.show(text(&fork["thread"]));
    assert_eq!(shown["currentRole"], json!("reviewer"));
}

#[test]
fn an_output_that_no_edge_decides_by_is_told_of_and_goes_along() {
    let (world, thread) = written();
    let stricter = REVIEW.replace(
        "properties: { plan: { type: string } }, required: [plan]",
        "properties: { plan: { type: string }, cost: { type: number } }, required: [plan, cost]",
    );
    world.put(&stricter);
    let migrated = migrate(&world, &[&thread]).exits(0).json();
    assert_eq!(migrated["misfits"][0]["role"], json!("writer"));
    assert_eq!(migrated["currentRole"], json!("reviewer"));
}

#[test]
fn what_was_paid_counts_once_after_a_migration() {
    let (world, thread) = written();
    world.put(&REVIEW.replace(
        "roles:\n  writer:",
        "limits: { maxSteps: 2 }\nroles:\n  writer:",
    ));
    migrate(&world, &[&thread]).exits(0);
    world.step(&thread).exits(0);
    world.step(&thread).exits(6).says("2 of 2");
}

#[test]
fn a_thread_that_has_ended_or_is_at_work_is_refused() {
    let (world, thread) = written();
    world.put(&with_tester());
    world.uwf(&["thread", "kill", &thread]).exits(0);
    migrate(&world, &[&thread])
        .exits(7)
        .says("thread fork --thread");

    let thread = world.start("review");
    gated_agent(&world, ANSWERS);
    let mut engine = [at_work(&world, &["thread", "step", &thread])];
    world.put(&REVIEW.replace("You write.", "You write well."));
    migrate(&world, &[&thread]).exits(5);
    migrate(&world, &[&thread, "--dry-run"]).exits(0);
    open_gate(&world);
    wait_for_ends(&mut engine, 1);
    migrate(&world, &[&thread]).exits(0);
}

#[test]
fn a_fork_goes_on_under_another_workflow_and_tells_where_it_came_from() {
    let (world, thread) = written();
    let before = world.show(&thread);
    let head = text(&before["head"]);
    world.put(&with_tester());
    let fork = world
        .uwf(&["thread", "fork", head, "--workflow", "review"])
        .exits(0)
        .json();
    assert_eq!(fork["forkedFrom"]["step"], json!(head));
    let shown = world.show(text(&fork["thread"]));
    let origin = json!({ "step": head, "thread": thread, "workflow": before["workflow"] });
    assert_eq!(shown["forkedFrom"], origin);
    assert_eq!(shown["currentRole"], json!("tester"));
    assert_eq!(world.show(&thread), before);
    let told = world.uwf(&["thread", "show", text(&fork["thread"]), "--format", "text"]);
    assert!(
        told.exits(0)
            .stdout
            .contains(&format!("from {head} of {thread}"))
    );
}

#[test]
fn a_fork_begins_at_a_position_of_a_thread() {
    let (world, thread) = written();
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let done = steps(&world, &thread);
    let fork = |args: &[&str]| {
        let args = [&["thread", "fork", "--thread", &thread], args].concat();
        world.uwf(&args).exits(0).json()["forkedFrom"]["step"].clone()
    };
    assert_eq!(fork(&[]), done[2]["hash"]);
    assert_eq!(fork(&["--from-role", "writer"]), done[2]["hash"]);
    assert_eq!(fork(&["--from-role", "writer", "--last"]), done[2]["hash"]);
    assert_eq!(
        fork(&["--from-role", "writer", "--nth", "1"]),
        done[0]["hash"]
    );
    assert_eq!(fork(&["--from-role", "reviewer"]), done[1]["hash"]);
    let args = [
        "thread",
        "fork",
        "--thread",
        &thread,
        "--from-role",
        "writer",
    ];
    world
        .uwf(&[&args[..], &["--nth", "3"]].concat())
        .exits(1)
        .says("visit 3 of 2");
    world.uwf(&["thread", "fork"]).exits(2);
    world
        .uwf(&["thread", "fork", "@", "--thread", &thread])
        .exits(2);
    world.uwf(&["thread", "fork", "@", "--nth", "1"]).exits(2);
}
