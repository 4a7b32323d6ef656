//! An attempt that fails, of which something cannot be ended: why it failed is on record once, and what lives is named.

use serde_json::{Value, json};

use super::tracer::{Traced, Verdict, trace};
use crate::gates::{NOTE, runs};
use crate::processes::signal;
use crate::world::{ONE_STEP, World, binary};

/// Does a step whose agent hangs, and outlives all that is done to end it. `meanwhile` gets the number of the engine when
/// the agent works.
fn step_that_leaves_a_survivor(world: &World, meanwhile: impl Fn(u64)) -> (String, Traced) {
    world.put(ONE_STEP);
    world.write("answers.yaml", NOTE);
    world.scripted_agent(&format!(
        "cd {project}\necho run >> runs\nif [ -e hang ]; then rm hang; exec sleep 1000; fi\n\
         exec {uwf} agent mock answers.yaml \"$@\"",
        project = world.project().display(),
        uwf = binary().display(),
    ));
    world.configure("grace", "200ms");
    world.write("hang", "");
    let thread = world.start("one");
    let holder = world.root().join("runs").join(&thread).join("holder.json");
    let traced = trace(world, &["thread", "step", &thread], |point| {
        let hangs = point.call.starts_with("become ") && point.call.ends_with("/sleep");
        if !hangs {
            return Verdict::GoOn;
        }
        let holder: Value = serde_json::from_slice(&std::fs::read(&holder).unwrap()).unwrap();
        meanwhile(holder["engine"]["pid"].as_u64().unwrap());
        Verdict::Outlive
    });
    (thread, traced)
}

/// Asserts that the attempt is on record once, with this class, before and after the next step.
fn is_recorded_once(world: &World, thread: &str, class: &str, error: &str) {
    let recorded = || {
        let attempts = world
            .root()
            .join("runs")
            .join(thread)
            .join("attempts.jsonl");
        let attempts = std::fs::read_to_string(attempts).unwrap();
        let attempts = attempts
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        attempts.collect::<Vec<Value>>()
    };
    let before = recorded();
    assert_eq!(before.len(), 1, "{before:?}");
    assert_eq!(before[0]["class"], json!(class), "{before:?}");
    assert_eq!(before[0]["error"], json!(error), "{before:?}");
    world.step(thread).exits(0);
    assert_eq!((recorded(), runs(world)), (before, 2));
}

#[test]
fn a_limit_of_time_is_on_record_though_the_agent_cannot_be_ended() {
    let world = World::new();
    world.configure("agents.default.timeout", "1s");
    let (thread, traced) = step_that_leaves_a_survivor(&world, |_| {});
    assert_eq!(traced.code, Some(5), "{}", traced.stderr);
    assert!(traced.stderr.contains("still run: "), "{}", traced.stderr);
    let error = "the agent was ended after its time limit of 1s";
    assert!(traced.stderr.contains(error), "{}", traced.stderr);
    // What lives keeps the claim of the working tree.
    let trees = world.root().join("locks/trees");
    let claims = || std::fs::read_dir(&trees).unwrap().count() - 1;
    assert_eq!(claims(), 1);
    let object: Value = serde_json::from_str(&traced.stdout).unwrap();
    assert_eq!(object["class"], json!("timeout"), "{object}");
    is_recorded_once(&world, &thread, "timeout", error);
    assert_eq!(claims(), 0);
}

#[test]
fn a_signal_is_on_record_though_the_agent_cannot_be_ended() {
    let world = World::new();
    let (thread, traced) = step_that_leaves_a_survivor(&world, |engine| signal("INT", engine));
    assert_eq!(traced.code, Some(130), "{}", traced.stderr);
    assert!(traced.stderr.contains("still run: "), "{}", traced.stderr);
    is_recorded_once(
        &world,
        &thread,
        "cancelled",
        "interrupted by SIGINT (Ctrl-C)",
    );
}
