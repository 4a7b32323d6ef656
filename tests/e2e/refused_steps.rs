//! A finished step whose thread has gone on elsewhere meanwhile: it was paid for, so it is kept and named.

use std::fs;

use serde_json::{Value, json};

use crate::counted_once::dies_before_it_counts;
use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::gc::{DAY, age_all, gc, has, text};
use crate::processes::kill;
use crate::world::{ONE_STEP, REVIEW, World, wait_until};

/// A thread that was moved back to its start by hand while its second step is at work.
struct Moved {
    world: World,
    thread: String,
    first: String,
    engine: std::process::Child,
}

fn moved() -> Moved {
    let world = World::new();
    world.put(REVIEW);
    let script = "roles:\n  writer: [{ output: { plan: p } }]\n  reviewer: [{ output: { $status: approved, summary: s } }]\n";
    gated_agent(&world, script);
    let thread = world.start("review");
    let start = text(&world.show(&thread)["head"]);
    let first = text(&world.step(&thread).exits(0).json()["step"]);
    let engine = at_work(&world, &["thread", "step", &thread]);
    // The engine looks at the head a last time right after its agent is on record.
    world.agent_at_work(&thread);
    world.show(&thread);
    let heads = world.state("threads.yaml").replace(&first, &start);
    world.write("heads", &heads);
    let moved = fs::rename(
        world.project().join("heads"),
        world.root().join("threads.yaml"),
    );
    moved.unwrap();
    Moved {
        world,
        thread,
        first,
        engine,
    }
}

/// Lets the agent finish whose engine was killed, and returns its step.
fn finished_without_engine(world: &World, thread: &str) -> String {
    open_gate(world);
    wait_until("the agent has finished", || world.pending(thread).is_some());
    world.wait_until_free(thread);
    text(&world.pending(thread).unwrap()["step"])
}

/// Checks that the refused step is shown, that the collector leaves it alone, and that one can go on from it.
#[track_caller]
fn is_kept(world: &World, thread: &str, step: &str, after: &str) {
    let shown = world.show(thread);
    let refused = &shown["refusedSteps"];
    assert_eq!(refused.as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(
        (&refused[0]["step"], &refused[0]["head"]),
        (&json!(step), &json!(after))
    );
    let told = world.uwf(&["thread", "show", thread, "--format", "text"]);
    for command in ["thread fork", "step read"] {
        let command = format!("uwf {command} {step}");
        assert!(told.stdout.contains(&command), "{}", told.stdout);
    }
    is_listed_and_read(world, thread, step);
    age_all(world, 30 * DAY);
    gc(world, &[]).exits(0);
    assert!(has(world, step));
    world.uwf(&["cas", "verify"]).exits(0);
    world.uwf(&["thread", "fork", step]).exits(0);
}

/// Checks that what the refused step used up counts, beside what the steps of the chain did.
#[track_caller]
fn is_counted(world: &World, thread: &str) {
    let shown = world.show(thread);
    let runs = shown["steps"].as_u64().unwrap() + 1;
    assert_eq!(shown["usage"]["runs"], json!(runs), "{shown}");
}

/// Checks that the refused step is in the list of the thread's steps, beside its chain, and that it can be read.
#[track_caller]
fn is_listed_and_read(world: &World, thread: &str, step: &str) {
    let listed = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let refused = &listed["refusedSteps"][0];
    assert_eq!(refused["step"], json!(step), "{listed}");
    assert_eq!(refused["agent"], json!("uwf-mock"), "{listed}");
    let chain = listed["steps"].as_array().unwrap();
    assert!(chain.iter().all(|one| one["hash"] != json!(step)));
    let shown = world.uwf(&["thread", "steps", thread, "--format", "text"]);
    let row = shown.stdout.lines().find(|line| line.contains(step));
    assert!(
        row.is_some_and(|row| row.contains("(kept)")),
        "{}",
        shown.stdout
    );
    world.uwf(&["step", "read", step]).exits(0);
}

/// Checks that a call said on stderr that it keeps the step, and how it is read.
#[track_caller]
fn is_told(stderr: &str, step: &str) {
    for command in ["thread fork", "step read"] {
        let command = format!("`uwf {command} {step}`");
        assert!(stderr.contains(&command), "{stderr}");
    }
}

#[test]
fn a_step_whose_head_was_moved_while_it_ran_is_kept_and_named() {
    let Moved {
        world,
        thread,
        first,
        engine,
    } = moved();
    open_gate(&world);
    let ended = engine.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(5), "{told}");
    let step = text(&world.show(&thread)["refusedSteps"][0]["step"]);
    assert!(told.contains(&step), "{told}");
    is_kept(&world, &thread, &step, &first);
    is_counted(&world, &thread);
    world.step(&thread).exits(0);
    is_kept(&world, &thread, &step, &first);
    is_counted(&world, &thread);
}

/// A thread whose second step was refused, because the head had been moved back, and whose head is there again. Returns that step.
fn there_again() -> (World, String, String) {
    let Moved {
        world,
        thread,
        first,
        engine,
    } = moved();
    open_gate(&world);
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(5));
    let refused = text(&world.show(&thread)["refusedSteps"][0]["step"]);
    let start = text(&world.show(&thread)["head"]);
    let heads = world.state("threads.yaml").replace(&start, &first);
    fs::write(world.root().join("threads.yaml"), heads).unwrap();
    (world, thread, refused)
}

#[test]
fn a_step_whose_head_is_there_again_is_adopted_and_not_done_again() {
    let (world, thread, refused) = there_again();
    let adopted = world.step(&thread).exits(0).json();
    assert_eq!(
        (&adopted["step"], &adopted["adopted"]),
        (&json!(refused), &json!(true))
    );
    let shown = world.show(&thread);
    assert_eq!(shown["refusedSteps"], json!(null));
    assert_eq!(
        (&shown["steps"], &shown["usage"]["costUnknown"]),
        (&json!(2), &json!(2))
    );
}

/// The last step of a thread counts itself, and nobody steps the thread again.
#[test]
fn a_step_whose_head_is_there_again_counts_once_though_the_engine_dies_when_it_has_joined() {
    let (world, thread, refused) = there_again();
    dies_before_it_counts(&world, &["thread", "step", &thread]);
    let shown = world.show(&thread);
    let joined = (&shown["head"], &shown["refusedSteps"]);
    assert_eq!(joined, (&json!(refused), &Value::Null), "{shown}");
    assert_eq!(
        (&shown["steps"], &shown["usage"]["costUnknown"]),
        (&json!(2), &json!(2)),
        "{shown}"
    );
}

#[test]
fn a_step_that_cannot_be_read_when_it_is_refused_is_kept_and_named() {
    let Moved {
        world,
        thread,
        first,
        engine,
    } = moved();
    kill(engine);
    let step = finished_without_engine(&world, &thread);
    let node = world.root().join(format!("cas/{step}.bin"));
    let aside = world.project().join("aside");
    fs::rename(&node, &aside).unwrap();
    fs::create_dir(&node).unwrap();
    world.step(&thread).exits(0);
    fs::remove_dir(&node).unwrap();
    fs::rename(&aside, &node).unwrap();
    is_kept(&world, &thread, &step, &first);
}

#[test]
fn a_step_that_cannot_be_adopted_since_the_head_was_moved_is_kept_and_named() {
    let Moved {
        world,
        thread,
        first,
        engine,
    } = moved();
    kill(engine);
    let step = finished_without_engine(&world, &thread);
    let told = world.step(&thread).exits(0).stderr;
    is_told(&told, &step);
    let details = world.uwf(&["step", "show", &step]).exits(0).json();
    assert_eq!(details["thread"], json!(thread), "{details}");
    is_kept(&world, &thread, &step, &first);
    is_counted(&world, &thread);
}

#[test]
fn the_finished_step_of_a_killed_thread_that_is_taken_up_again_is_kept_and_named() {
    let world = World::new();
    let workflow = ONE_STEP.replace(
        "{ _: { role: writer, prompt: \"Write a note.\" } }",
        "{ new: { role: writer, prompt: Write. }, resume: { role: writer, prompt: Once more. } }",
    );
    world.put(&workflow);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let start = text(&world.show(&thread)["head"]);
    kill(at_work(&world, &["thread", "step", &thread]));
    let finished = finished_without_engine(&world, &thread);
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
    let step = text(&killed["finishedStep"]);
    assert_eq!(step, finished);
    world
        .uwf(&["thread", "resume", &thread, "-p", "again"])
        .exits(0);
    is_kept(&world, &thread, &step, &start);
}
