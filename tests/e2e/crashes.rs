//! Whatever dies, whenever: a finished step is never lost and never paid for twice.

use serde_json::json;

use crate::gates::{NOTE, at_work, close_gate, gated_agent, open_gate, runs};
use crate::processes::{is_running, kill, signal};
use crate::world::{ONE_STEP, World, wait_until};

#[test]
fn a_step_whose_engine_was_killed_is_adopted_and_not_run_again() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    kill(at_work(&world, &["thread", "step", &thread]));

    // The agent goes on without its engine, and the thread is busy for as long as it does.
    world.step(&thread).exits(5).says("busy");
    assert_eq!(world.show(&thread)["status"], json!("running"));
    open_gate(&world);
    wait_until("the agent has finished", || {
        world.pending(&thread).is_some()
    });
    world.wait_until_free(&thread);

    let hint = world.show(&thread)["hint"].clone();
    assert!(
        hint.as_str().unwrap().contains("a finished step waits"),
        "{hint}"
    );
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        (&report["adopted"], &report["done"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(runs(&world), 1);
    assert_eq!(world.pending(&thread), None);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_step_whose_agent_was_killed_runs_again() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    close_gate(&world);
    let engine = world.spawn(&["thread", "step", &thread]);
    signal("KILL", world.agent_at_work(&thread));
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(3));
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("failed"));
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 1);
    open_gate(&world);
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
    assert_eq!(runs(&world), 2);
}

#[test]
fn an_interrupt_ends_the_agent_and_its_children_and_keeps_the_thread() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let world = World::new();
        world.put(ONE_STEP);
        let body = format!(
            "sleep 1000 & echo $! > {0}/child\nwait",
            world.project().display()
        );
        world.scripted_agent(&body);
        let thread = world.start("one");
        let engine = world.spawn(&["thread", "step", &thread]);
        let child = world.project().join("child");
        wait_until("the agent has a child", || {
            std::fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n'))
        });
        signal(name, engine.id());
        assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(code));
        let pid = std::fs::read_to_string(&child).unwrap();
        wait_until("the agent's child is gone", || !is_running(pid.trim()));
        assert_eq!(world.show(&thread)["status"], json!("idle"));
    }
}

#[test]
fn everything_but_the_three_files_of_state_can_be_deleted() {
    let world = World::new();
    world.put(crate::world::REVIEW);
    world.mock(
        "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: approved, summary: s }\n",
    );
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let before = world.show(&thread)["head"].clone();
    for folder in ["runs", "locks", "logs", "cas/_index"] {
        std::fs::remove_dir_all(world.root().join(folder)).unwrap();
    }
    assert_eq!(world.show(&thread)["head"], before);
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
}
