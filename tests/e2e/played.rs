//! Roles that other workflows play: one child thread each, which lives, asks, fails and dies with its parent.

use serde_json::{Value, json};

use crate::children_care::elsewhere;
use crate::gates::{at_work, close_gate, gated_agent, open_gate, runs};
use crate::processes::signal;
use crate::world::{Run, World, wait_until};

const TOP: &str = r#"
name: top
roles:
  prepare:
    goal: It is prepared.
    frontmatter: { type: object, required: [plan], properties: { plan: { type: string } } }
  develop:
    goal: The change is made.
    workflow: ./middle.yaml
  close:
    goal: It is closed.
    frontmatter: { type: object, required: [note], properties: { note: { type: string } } }
graph:
  $START: { _: { role: prepare, prompt: "Prepare." } }
  prepare: { _: { role: develop, prompt: "Do {{plan}}." } }
  develop:
    built: { role: close, prompt: "Close {{file}}." }
    given-up: { role: $END, prompt: "Nothing was done." }
  close: { _: { role: $END, prompt: "Done: {{note}}" } }
"#;

const MIDDLE: &str = r#"
name: middle
roles:
  build:
    goal: It is built.
    workflow: ./bottom.yaml
  report:
    goal: It is reported.
    frontmatter:
      oneOf:
        - { required: [$status, file], properties: { $status: { const: built }, file: { type: string } } }
        - { required: [$status], properties: { $status: { const: given-up } } }
graph:
  $START: { _: { role: build, prompt: "Build." } }
  build: { _: { role: report, prompt: "Report {{file}}." } }
  report:
    built: { role: $END, prompt: "" }
    given-up: { role: $END, prompt: "" }
"#;

const BOTTOM: &str = r#"
name: bottom
roles:
  coder:
    goal: It is coded.
    frontmatter: { type: object, required: [file], properties: { file: { type: string } } }
graph:
  $START: { _: { role: coder, prompt: "Code." } }
  coder: { _: { role: $END, prompt: "{{file}}" } }
"#;

pub(crate) const ANSWERS: &str = r#"roles:
  prepare: [{ output: { plan: p }, usage: { inputTokens: 1, outputTokens: 1, costUsd: 1 } }]
  coder: [{ output: { file: a.rs }, usage: { inputTokens: 2, outputTokens: 2, costUsd: 2 } }]
  report: [{ output: { $status: built, file: b.rs }, usage: { inputTokens: 4, outputTokens: 4, costUsd: 4 } }]
  close: [{ output: { note: n }, usage: { inputTokens: 8, outputTokens: 8, costUsd: 8 } }]
"#;

/// A world with the three workflows and a thread of the first, whose agents count their runs.
pub(crate) fn world(answers: &str) -> (World, String) {
    let world = World::new();
    world.write("bottom.yaml", BOTTOM);
    world.write("middle.yaml", MIDDLE);
    world.put(TOP);
    gated_agent(&world, answers);
    let thread = world.start("top");
    (world, thread)
}

/// Steps a thread as often as that.
pub(crate) fn step(world: &World, thread: &str, times: usize) -> Value {
    for _ in 1..times {
        world.step(thread).exits(0);
    }
    world.step(thread).exits(0).json()
}

pub(crate) fn threads(world: &World, args: &[&str]) -> Vec<Value> {
    let list = world.uwf(&[&["thread", "list", "--all"], args].concat());
    list.exits(0).json().as_array().unwrap().clone()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the ids of the child and of its child.
pub(crate) fn children(world: &World, thread: &str) -> (String, String) {
    let child = text(&world.show(thread)["children"][0]["thread"]);
    let below = text(&world.show(&child)["children"][0]["thread"]);
    (child, below)
}

pub(crate) fn resume(world: &World, thread: &str, words: &str) -> Run {
    world.uwf(&["thread", "resume", thread, "-p", words])
}

#[test]
fn a_call_does_one_step_of_a_child_and_the_last_one_records_the_step_of_the_parent() {
    let (world, thread) = world(ANSWERS);
    let prepared = step(&world, &thread, 1);
    let progress = step(&world, &thread, 1);
    assert_eq!(progress["head"], prepared["head"], "the head did not move");
    assert_eq!(
        (&progress["step"], &progress["role"], &progress["status"]),
        (&Value::Null, &json!("develop"), &json!("idle"))
    );
    let child = &progress["child"];
    assert_eq!(child["child"]["role"], json!("coder"), "{child}");
    assert_eq!(child["child"]["status"], json!("completed"));
    assert_eq!(child["role"], json!("build"));
    let shown = world.show(&thread);
    assert_eq!(shown["children"][0]["currentRole"], json!("report"));
    let parent = &world.show(shown["children"][0]["thread"].as_str().unwrap())["parent"];
    assert_eq!(
        (&parent["thread"], &parent["depth"]),
        (&json!(thread), &json!(1))
    );
    let done = step(&world, &thread, 1);
    assert_eq!(
        (&done["role"], &done["currentRole"]),
        (&json!("develop"), &json!("close"))
    );
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let played = &steps["steps"][2];
    assert_eq!(
        played["output"],
        json!({ "$status": "built", "file": "b.rs" })
    );
    assert_eq!(played["children"][0]["steps"], json!(3));
    assert_eq!(step(&world, &thread, 1)["result"], json!("Done: n"));
    assert_eq!(runs(&world), 4);
    let read = world
        .uwf(&["thread", "read", &thread, "--format", "text"])
        .exits(0);
    assert!(read.stdout.contains("**Threads:** `"), "{}", read.stdout);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn children_are_listed_with_their_parents_only_if_that_is_asked_for() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 2);
    assert_eq!(threads(&world, &[]).len(), 1);
    assert_eq!(threads(&world, &["--children"]).len(), 3);
    // Only the parent is stepped.
    let all = world.uwf(&["thread", "step", "--all"]).exits(0);
    assert_eq!(all.stdout.lines().count(), 1, "{}", all.stdout);
}

#[test]
fn a_run_goes_through_all_levels_and_counts_every_step() {
    let (world, thread) = world(ANSWERS);
    let run = world.uwf(&["thread", "run", &thread]).exits(0);
    let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["stopped"], &last["steps"]),
        (&json!("completed"), &json!(6))
    );
}

#[test]
fn what_children_used_up_counts_once_and_for_the_limits_of_the_parent() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 3);
    let shown = world.show(&thread);
    assert_eq!(shown["usage"]["costUsd"], json!(7.0), "{shown}");
    let cost = |args: &[&str]| {
        let cost = world.uwf(&[&["thread", "cost"], args].concat());
        cost.exits(0).json()["total"]["costUsd"].clone()
    };
    assert_eq!((cost(&[]), cost(&[&thread])), (json!(7.0), json!(7.0)));
    // Two steps of its own, three of its children.
    world.configure("limits.maxSteps", "5");
    let refused = world.step(&thread).exits(6);
    let raise = refused.says("maxSteps");
    assert!(
        raise.stderr.contains("--raise maxSteps="),
        "{}",
        raise.stderr
    );
    world
        .uwf(&["thread", "resume", &thread, "--raise", "maxSteps=9"])
        .exits(0);
}

#[test]
fn a_limit_stops_the_children_of_a_thread_too() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 2);
    world.configure("limits.maxCostUsd", "2.5");
    world.step(&thread).exits(6).says("maxCostUsd");
    assert_eq!(world.show(&thread)["status"], json!("suspended"));
    assert_eq!(runs(&world), 2);
}

#[test]
fn a_child_whose_agent_fails_is_tried_again() {
    let (world, thread) = world(&ANSWERS.replace("coder: [", "coder: [{ exit: 3 }, "));
    step(&world, &thread, 1);
    let failed = world.step(&thread).exits(3);
    assert_eq!(failed.json()["role"], json!("coder"));
    assert_eq!(world.show(&thread)["status"], json!("failed"));
    world.mock(ANSWERS);
    assert_eq!(step(&world, &thread, 3)["status"], json!("completed"));
    assert_eq!(threads(&world, &["--children"]).len(), 3);
}

#[test]
fn killing_the_parent_ends_its_children_and_their_agents() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 1);
    let engine = at_work(&world, &["thread", "step", &thread]);
    let (child, below) = children(&world, &thread);
    let agent = world.agent_at_work(&below);
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
    assert_eq!(killed["children"], json!([child, below]));
    assert_eq!(killed["agentEnded"], json!(true));
    assert!(!std::path::Path::new(&format!("/proc/{agent}")).exists());
    engine.wait_with_output().unwrap();
    for one in [&thread, &child, &below] {
        assert_eq!(world.show(one)["status"], json!("cancelled"), "{one}");
    }
    open_gate(&world);
    world.step(&thread).exits(7);
    assert_eq!(runs(&world), 2);
}

#[test]
fn a_child_that_was_killed_is_replaced_by_a_new_one_and_what_it_cost_still_counts() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 2);
    let (child, _) = children_of_the_middle(&world, &thread);
    world.uwf(&["thread", "kill", &child]).exits(0);
    step(&world, &thread, 1);
    let (other, _) = children_of_the_middle(&world, &thread);
    assert_ne!(child, other);
    step(&world, &thread, 1);
    // The coder was paid twice, everybody else once.
    assert_eq!(world.show(&thread)["usage"]["costUsd"], json!(9.0));
}

/// Returns the child and its status.
fn children_of_the_middle(world: &World, thread: &str) -> (String, String) {
    let child = &world.show(thread)["children"][0];
    (text(&child["thread"]), text(&child["status"]))
}

#[test]
fn a_child_may_be_stepped_by_itself_and_its_parent_takes_what_is_there() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 2);
    let (child, _) = children_of_the_middle(&world, &thread);
    step(&world, &child, 1);
    let before = runs(&world);
    let done = step(&world, &thread, 1);
    assert_eq!((&done["role"], runs(&world)), (&json!("develop"), before));
    assert_eq!(done["currentRole"], json!("close"));
}

#[test]
fn while_an_agent_of_a_child_lives_nobody_starts_another_one() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 1);
    let engine = at_work(&world, &["thread", "step", &thread]);
    let (child, below) = children(&world, &thread);
    for one in [&thread, &child, &below] {
        world.step(one).exits(5);
    }
    signal("KILL", engine.id());
    engine.wait_with_output().unwrap();
    for one in [&thread, &child, &below] {
        world.step(one).exits(5);
    }
    assert_eq!(runs(&world), 2);
    let waits = world.spawn(&["thread", "step", &thread, "--wait"]);
    open_gate(&world);
    // The agent finished what nobody waited for: it is used, and did not run again.
    let adopted = Run::from(waits.wait_with_output().unwrap()).exits(0).json();
    assert_eq!((&adopted["role"], runs(&world)), (&json!("develop"), 2));
    assert_eq!(threads(&world, &["--children"]).len(), 3);
    assert_eq!(step(&world, &thread, 2)["status"], json!("completed"));
}

#[test]
fn an_interrupted_step_of_a_child_ends_its_agent_and_is_the_parents_too() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 1);
    let engine = at_work(&world, &["thread", "step", &thread]);
    let (_, below) = children(&world, &thread);
    let agent = world.agent_at_work(&below);
    signal("TERM", engine.id());
    Run::from(engine.wait_with_output().unwrap()).exits(143);
    assert!(!std::path::Path::new(&format!("/proc/{agent}")).exists());
    open_gate(&world);
    assert_eq!(step(&world, &thread, 3)["status"], json!("completed"));
}

#[test]
fn twenty_steps_of_a_parent_and_its_children_at_once_make_one_child_each() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 1);
    let race = |threads: &[&str]| {
        let calls: Vec<_> = (0..20)
            .map(|nth| world.spawn(&["thread", "step", threads[nth % threads.len()]]))
            .collect();
        for call in calls {
            let code = Run::from(call.wait_with_output().unwrap()).code;
            assert!([0, 5, 7].contains(&code), "{code}");
        }
    };
    race(&[&thread]);
    let all = threads(&world, &["--children"]);
    let ids: Vec<&str> = all
        .iter()
        .map(|one| one["thread"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 3);
    race(&ids);
    wait_until("the thread is at its end", || {
        world.step(&thread);
        world.show(&thread)["status"] == "completed"
    });
    assert_eq!(threads(&world, &["--children"]).len(), 3);
    assert_eq!(runs(&world), 4);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_step_of_a_child_can_be_done_again_with_a_remark() {
    let (world, thread) = world(ANSWERS);
    let before = step(&world, &thread, 3);
    world.mock(&ANSWERS.replace("file: b.rs", "file: c.rs"));
    let poked = world.uwf(&["thread", "poke", &thread, "-p", "other file"]);
    let poked = poked.exits(0).json();
    assert_eq!(poked["replaced"], before["head"]);
    let child = text(&poked_step(&world, &thread)["children"][0]["thread"]);
    assert_eq!(poked_step(&world, &thread)["output"]["file"], json!("c.rs"));
    let read = world.uwf(&["thread", "read", &child]).exits(0);
    assert!(read.stdout.contains("other file"), "{}", read.stdout);
    assert_eq!(world.show(&child)["status"], json!("completed"));
    // The report was paid twice.
    assert_eq!(world.show(&thread)["usage"]["costUsd"], json!(11.0));
}

fn poked_step(world: &World, thread: &str) -> Value {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["steps"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn a_fork_gets_children_of_its_own_and_leaves_those_of_the_original() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 2);
    let fork = world
        .uwf(&["thread", "fork", &format!("{thread}@1")])
        .exits(0);
    let fork = text(&fork.json()["thread"]);
    let before = world.show(&thread);
    step(&world, &fork, 1);
    let (of_fork, _) = children_of_the_middle(&world, &fork);
    let (of_thread, _) = children_of_the_middle(&world, &thread);
    assert_ne!(of_fork, of_thread);
    assert_eq!(world.show(&thread), before);
}

#[test]
fn a_parent_travels_with_its_children_and_goes_on_elsewhere() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 2);
    let there = elsewhere(&world, &thread);
    let before = runs(&world);
    for _ in 0..2 {
        there(&["thread", "step", &thread]).exits(0);
    }
    assert_eq!(runs(&world), before + 2);
    there(&["thread", "step", &thread]).exits(7);
    there(&["cas", "verify"]).exits(0);
}

#[test]
fn garbage_collection_keeps_what_children_need() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 2);
    world.uwf(&["cas", "gc", "--grace", "0s"]);
    assert_eq!(step(&world, &thread, 2)["status"], json!("completed"));
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_child_that_was_killed_with_its_engine_is_found_again() {
    let (world, thread) = world(ANSWERS);
    step(&world, &thread, 1);
    let engine = at_work(&world, &["thread", "step", &thread]);
    let (_, below) = children(&world, &thread);
    let agent = world.agent_at_work(&below);
    signal("KILL", engine.id());
    signal("KILL", agent);
    engine.wait_with_output().unwrap();
    open_gate(&world);
    world.wait_until_free(&below);
    assert_eq!(step(&world, &thread, 3)["status"], json!("completed"));
    assert_eq!(
        (threads(&world, &["--children"]).len(), runs(&world)),
        (3, 5)
    );
    close_gate(&world);
}

#[test]
fn one_slot_is_enough_for_all_levels() {
    let (world, thread) = world(ANSWERS);
    world.configure("concurrency.maxRunning", "1");
    // A level that kept the slot would have the one below end with "busy".
    world.uwf(&["thread", "run", &thread, "--no-wait"]).exits(0);
    assert_eq!(runs(&world), 4);
}
