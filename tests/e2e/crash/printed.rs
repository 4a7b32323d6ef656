//! An agent that speaks the contract by itself and only prints its step: the step is not done again, wherever its engine or the
//! call that adopts it is killed.

use serde_json::json;

use super::reader::Ledger;
use super::sweep::{kill_before, kill_everywhere};
use super::tracer::{Traced, Verdict, trace};
use crate::gates::{NOTE, gated_agent, runs};
use crate::postgres::new_schema;
use crate::sharing::{at_remote, with_remote, with_server};
use crate::world::{ONE_STEP, World, binary};

const ENGINE: &str = " thread ";

/// A world with a thread whose agent leaves nothing but the hash that it prints. It counts its runs.
fn printing() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.write("answers.yaml", NOTE);
    world.scripted_agent(&format!(
        "cd {project}\necho run >> runs\nstep=$({uwf} agent mock answers.yaml \"$@\")\nrm {root}/runs/$1/pending.json\necho \"$step\"",
        project = world.project().display(),
        uwf = binary().display(),
        root = world.root().display(),
    ));
    let thread = world.start("one");
    (world, thread)
}

/// Goes on after a kill, and asserts that the step is done once.
fn is_done_once(world: &World, thread: &str, traced: &Traced) {
    let call = &traced.killed().unwrap().call;
    world.wait_until_free(thread);
    let again = world.step(thread);
    assert!([0, 7].contains(&again.code), "{call}: {}", again.stderr);
    world.step(thread).exits(7);
    let steps = Ledger::read(&world.root()).threads[thread].len();
    assert_eq!((steps, runs(world)), (1, 1), "{call}");
}

#[test]
fn a_step_that_was_only_printed_is_done_once_wherever_its_engine_is_killed() {
    let (world, thread) = printing();
    let args = ["thread", "step", &thread];
    let calls = kill_everywhere(&world, &args, ENGINE, |traced| {
        is_done_once(&world, &thread, traced);
    });
    let at = |what: &dyn Fn(&str) -> bool| calls.iter().position(|call| what(call)).unwrap();
    let is_recorded = at(&|call| call.ends_with("/pending.json"));
    let is_synced = at(&|call| call.starts_with("sync root/cas/"));
    assert!(is_recorded < is_synced, "{calls:#?}");
}

#[test]
fn a_step_that_was_only_printed_is_done_once_wherever_its_adoption_is_killed() {
    let (world, thread) = printing();
    let args = ["thread", "step", &thread];
    // The first lease record is renamed into place. The engine is killed before it writes the agent into it.
    kill_before(&world, &args, ENGINE, |call| {
        call.starts_with("write ") && call.ends_with("/holder.json")
    });
    assert_eq!((world.pending(&thread), runs(&world)), (None, 1));
    kill_everywhere(&world, &args, ENGINE, |traced| {
        is_done_once(&world, &thread, traced);
    });
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

#[test]
fn the_engine_syncs_no_more_for_a_step_that_was_only_printed() {
    let syncs = |world: &World, thread: &str| {
        let traced = trace(world, &["thread", "step", thread], |_| Verdict::GoOn);
        assert_eq!(traced.code, Some(0), "{}", traced.stderr);
        let all = traced.points.iter();
        all.filter(|point| point.call.starts_with("sync ")).count()
    };
    let (world, thread) = printing();
    // The first step of a root makes what all share.
    world.step(&thread).exits(0);
    let printed = syncs(&world, &world.start("one"));
    gated_agent(&world, NOTE);
    let recorded = syncs(&world, &world.start("one"));
    assert_eq!(printed, recorded);
}

/// Kills the engine before it has written down that its agent works.
fn kill_engine(world: &World, thread: &str) {
    let args = ["thread", "step", thread];
    kill_before(world, &args, ENGINE, |call| {
        call.starts_with("write ") && call.ends_with("/holder.json")
    });
    world.wait_until_free(thread);
    assert_eq!(world.pending(thread), None);
}

#[test]
fn a_step_that_was_only_printed_is_kept_when_its_thread_is_killed() {
    let (world, thread) = printing();
    kill_engine(&world, &thread);
    let waiting = world.show(&thread)["finishedStep"].clone();
    assert!(waiting.is_string());
    let removed = world.uwf(&["thread", "rm", &thread]).exits(1);
    removed.says("a finished step");
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
    assert_eq!(killed["finishedStep"], waiting, "{killed}");
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["runs"], json!(1), "{cost}");
}

#[test]
fn a_step_that_was_only_printed_is_shared_by_a_push() {
    with_server(|server| {
        let (world, _) = printing();
        with_remote(&world, server, &new_schema());
        let thread = world.start("one");
        world.uwf(&["push", &thread]).exits(0);
        kill_engine(&world, &thread);
        assert_eq!(at_remote(&world, &thread)["waiting"], json!(true));
        let pushed = world.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("forwarded"), "{pushed}");
        assert_eq!(
            (runs(&world), at_remote(&world, &thread)["status"].clone()),
            (1, json!("ended"))
        );
    });
}
