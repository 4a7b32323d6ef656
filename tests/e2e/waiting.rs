//! `thread wait`: it ends when something has happened to the thread, and its exit code says what.

use serde_json::json;

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::processes::{kill, signal, sleeps};
use crate::world::{ONE_STEP, REVIEW, Run, World, wait_until};

fn world() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    world
}

fn wait(world: &World, thread: &str, options: &[&str]) -> Run {
    world.uwf(&[&["thread", "wait", thread], options].concat())
}

#[test]
fn a_wait_ends_when_nobody_works_on_the_thread() {
    let world = world();
    let thread = world.start("one");
    wait(&world, &thread, &[]).exits(0);
    let engine = at_work(&world, &["thread", "step", &thread]);
    wait(&world, &thread, &["--timeout", "200ms"])
        .exits(5)
        .says("still being worked on");
    let waiter = world.spawn(&["thread", "wait", &thread]);
    open_gate(&world);
    let run = Run::from(waiter.wait_with_output().unwrap()).exits(0);
    assert_eq!(run.json()["status"], json!("completed"));
    Run::from(engine.wait_with_output().unwrap()).exits(0);
}

#[test]
fn a_wait_for_the_end_goes_on_while_the_thread_is_idle() {
    let world = world();
    let thread = world.start("one");
    let ended = ["--for", "ended"];
    wait(&world, &thread, &["--for", "ended", "--timeout", "200ms"]).exits(5);
    let waiter = world.spawn(&[&["thread", "wait", &thread][..], &ended].concat());
    world.step(&thread).exits(0);
    let run = Run::from(waiter.wait_with_output().unwrap()).exits(0);
    assert_eq!(run.json()["status"], json!("completed"));
    wait(&world, &thread, &ended).exits(0);
    wait(&world, &thread, &["--for", "suspended"]).exits(7);
    wait(&world, &thread, &["--for", "step"]).exits(7);
}

#[test]
fn a_wait_for_a_step_ends_with_the_next_head() {
    let world = world();
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    let waiter = world.spawn(&["thread", "wait", &thread, "--for", "step"]);
    // A wait that began after the step would wait for another one.
    wait_until("the wait has begun", || sleeps(waiter.id()));
    open_gate(&world);
    Run::from(waiter.wait_with_output().unwrap()).exits(0);
    Run::from(engine.wait_with_output().unwrap()).exits(0);
}

#[test]
fn what_needs_a_person_ends_every_wait() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "
roles:
  writer: [{ output: { plan: p } }, { exit: 9 }]
  reviewer: [{ output: { $status: ask, question: which } }]
",
    );
    let run = world.uwf(&["run", "review", "-p", "t", "-q"]).exits(6);
    let first: serde_json::Value =
        serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
    let asks = first["thread"].as_str().unwrap();
    wait(&world, asks, &["--for", "suspended"]).exits(0);
    let run = wait(&world, asks, &["--for", "ended"]).exits(6);
    assert_eq!(run.json()["suspendMessage"], json!("Need: which"));
    wait(&world, asks, &[]).exits(6);
    let failing = world.start("review");
    world
        .uwf(&["thread", "step", &failing, "--agent", "false"])
        .exits(3);
    wait(&world, &failing, &["--for", "ended"]).exits(3);
    let killed = world.start("review");
    world.uwf(&["thread", "kill", &killed]).exits(0);
    wait(&world, &killed, &[]).exits(7);
    wait(&world, &killed, &["--for", "ended"]).exits(0);
    // Of several, the first that came to something else decides.
    wait(&world, &killed, &[asks, "--for", "ended"]).exits(6);
    world.uwf(&["thread", "wait", "nonsense"]).exits(1);
}

#[test]
fn an_engine_that_was_killed_ends_no_wait_while_its_agent_works() {
    let world = world();
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    kill(engine);
    wait(&world, &thread, &["--timeout", "200ms"]).exits(5);
    open_gate(&world);
    wait(&world, &thread, &[]).exits(0);
}

#[test]
fn an_interrupt_ends_a_wait() {
    let world = world();
    let thread = world.start("one");
    let waiter = world.spawn(&["thread", "wait", &thread, "--for", "ended"]);
    wait_until("the wait has begun", || sleeps(waiter.id()));
    signal("INT", waiter.id());
    let ended = waiter.wait_with_output().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&ended.status),
        Some(2)
    );
}
