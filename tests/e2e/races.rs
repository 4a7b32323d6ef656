//! Two processes cannot run one thread, and many threads do not lose each other's steps.

use std::process::Child;

use serde_json::json;

use crate::gates::{NOTE, at_work, close_gate, gated_agent, open_gate, runs, wait_for_ends};
use crate::worktrees;
use crate::world::{ONE_STEP, REVIEW, Run, World, wait_until};

#[test]
fn of_two_steps_on_one_thread_one_runs_and_the_other_is_told_at_once() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let first = at_work(&world, &["thread", "step", &thread]);
    assert_eq!(world.show(&thread)["status"], json!("running"));
    // The first cannot end before the gate is opened, so the second did not wait for it.
    world.step(&thread).exits(5).says("busy").says("writer");
    open_gate(&world);
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(0));
    world.step(&thread).exits(7);
}

#[test]
fn an_agent_that_is_started_by_hand_waits_its_turn() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let script = world.write(
        "quick.yaml",
        "roles:\n  writer:\n    - output: { note: q }\n",
    );
    let thread = world.start("one");
    let by_hand = ["agent", "mock", script.to_str().unwrap(), &thread, "writer"];
    let first = at_work(&world, &["thread", "step", &thread]);
    world.uwf(&by_hand).exits(5).says("busy").says("hint: ");
    open_gate(&world);
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(0));

    let thread = world.start("one");
    let by_hand = ["agent", "mock", script.to_str().unwrap(), &thread, "writer"];
    world.uwf(&by_hand).exits(0);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["adopted"], json!(true));
}

#[test]
fn of_twenty_steps_at_once_exactly_one_runs() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    close_gate(&world);
    let thread = world.start("one");
    let mut all: Vec<Child> = (0..20)
        .map(|_| world.spawn(&["thread", "step", &thread]))
        .collect();
    // The winner works until all others have been told.
    wait_for_ends(&mut all, 19);
    open_gate(&world);
    let mut codes: Vec<i32> = all
        .into_iter()
        .map(|child| child.wait_with_output().unwrap().status.code().unwrap())
        .collect();
    codes.sort_unstable();
    assert_eq!(codes[0], 0);
    assert!(codes[1..].iter().all(|code| *code == 5), "{codes:?}");
    assert_eq!(runs(&world), 1);
}

#[test]
fn twenty_threads_from_twenty_shells_lose_nothing() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n    - output: { $status: ask, question: q }\n",
    );
    let threads: Vec<String> = (0..20).map(|_| world.start("review")).collect();
    let shells: Vec<Child> = threads
        .iter()
        .map(|thread| world.spawn(&["thread", "step", thread, "-c", "9"]))
        .collect();
    for shell in shells {
        let output = shell.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(6),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let heads = world.state("threads.yaml");
    assert_eq!(heads.lines().count(), 20);
    for thread in &threads {
        let shown = world.show(thread);
        assert_eq!(shown["status"], json!("suspended"));
        let head = shown["head"].as_str().unwrap();
        assert!(heads.contains(&format!("{thread}: {head}")), "{heads}");
        let steps = world.uwf(&["thread", "steps", thread]).json();
        assert_eq!(steps["steps"].as_array().unwrap().len(), 5);
    }
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_thread_killed_during_a_step_stays_killed() {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "echo $$ > {0}/pid\nexec sleep 1000",
        world.project().display()
    );
    world.scripted_agent(&body);
    let thread = world.start("one");
    let step = world.spawn(&["thread", "step", &thread]);
    world.agent_at_work(&thread);
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
    assert_eq!(killed["agentEnded"], json!(true));
    assert_ne!(step.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(world.show(&thread)["status"], json!("cancelled"));
    assert_eq!(world.state("threads.yaml").trim(), "");
    world.step(&thread).exits(7);
}

/// Chooses an agent that does not let itself be ended by a signal that can be caught: it finishes its step when one comes. It makes the
/// file `ready` before it waits for one.
pub(crate) fn heedless_agent(world: &World, answers: &str) {
    world.write("answer.yaml", answers);
    let body = format!(
        "trap 'told=yes' INT TERM\necho ready > {project}/ready\nuntil [ \"$told\" ]; do sleep 0.02; done\n\
         trap '' INT TERM\nexec {uwf} agent mock {project}/answer.yaml \"$@\"",
        project = world.project().display(),
        uwf = crate::world::binary().display(),
    );
    world.scripted_agent(&body);
}

#[test]
fn a_step_that_outlives_the_cancelling_does_not_bring_the_thread_back() {
    let world = World::new();
    world.put(ONE_STEP);
    heedless_agent(&world, NOTE);
    let thread = world.start("one");
    let step = world.spawn(&["thread", "step", &thread]);
    wait_until("the agent heeds no signal", || {
        world.project().join("ready").exists()
    });
    world.agent_at_work(&thread);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let step = Run::from(step.wait_with_output().unwrap()).exits(7);
    step.says("the work is not lost: `uwf thread fork ");
    assert_eq!(world.state("threads.yaml").trim(), "");
    let shown = world.show(&thread);
    let ended = (&shown["status"], &shown["usage"]["runs"]);
    assert_eq!(ended, (&json!("cancelled"), &json!(1)), "{shown}");
}

#[test]
fn threads_make_and_remove_their_worktrees_at_the_same_time() {
    let world = worktrees::world();
    for _ in 0..3 {
        let threads: Vec<String> = (0..8).map(|_| world.start("again")).collect();
        let all_at_once = |words: &[&str]| {
            let call = |thread: &String| world.spawn(&[words, &[thread]].concat());
            let calls: Vec<_> = threads.iter().map(call).collect();
            for call in calls {
                Run::from(call.wait_with_output().unwrap()).exits(0);
            }
        };
        all_at_once(&["thread", "step"]);
        for thread in &threads {
            assert!(worktrees::place(&world, thread).join("kept").exists());
        }
        all_at_once(&["thread", "rm", "--force"]);
        assert_eq!(
            worktrees::git(&world, &["worktree", "list"])
                .lines()
                .count(),
            1
        );
    }
}
