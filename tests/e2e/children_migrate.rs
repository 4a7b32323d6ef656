//! Migrations of threads whose next step children do: what the children did is kept.

use serde_json::json;

use crate::children_care::{ANSWERS, child, done, elsewhere, outer, world};
use crate::gates::runs;
use crate::world::World;

const INNER: &str = "workflow: ./inner.yaml";

/// Registers `outer` with another role `it`, and lets a thread go on under it.
fn migrate(world: &World, thread: &str, role: &str, code: i32) -> String {
    world.put(&outer(role));
    let migrated = world.uwf(&["thread", "migrate", thread]);
    migrated.exits(code).stderr
}

#[test]
fn a_mistake_in_what_a_child_returns_is_mended_without_paying_the_child_again() {
    let (world, thread) = world(&format!("{INNER}, returns: 'steps[9].output'"), ANSWERS);
    world.step(&thread).exits(0);
    let child = child(&world, &thread);
    world
        .step(&thread)
        .exits(1)
        .says(&format!("uwf thread migrate {thread}"));
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("blocked"));
    let reason = shown["blockedReason"].as_str().unwrap();
    assert!(reason.contains("does not fit the schema"), "{reason}");
    let before = runs(&world);
    migrate(&world, &thread, INNER, 0);
    world.uwf(&["thread", "prune", "--ended"]).exits(0);
    world
        .uwf(&["thread", "rm", &child])
        .exits(1)
        .says(&format!("uwf thread rm --force {child}"));
    world.step(&thread).exits(0);
    assert_eq!((done(&world, &thread), runs(&world)), (json!(true), before));
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let last = steps["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(last["output"]["note"], json!("b"));
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_child_at_work_goes_on_after_two_migrations() {
    let (world, thread) = world(INNER, ANSWERS);
    world.step(&thread).exits(0);
    let at_work = child(&world, &thread);
    for returns in ["steps[0].output", "steps[1].output"] {
        migrate(
            &world,
            &thread,
            &format!("{INNER}, returns: '{returns}'"),
            0,
        );
        assert_eq!(child(&world, &thread), at_work);
    }
    world.step(&thread).exits(0);
    assert_eq!((done(&world, &thread), runs(&world)), (json!(true), 3));
    let list = world.uwf(&["thread", "list", "--all", "--children"]);
    assert_eq!(list.json().as_array().unwrap().len(), 2);
}

#[test]
fn a_child_that_would_be_left_behind_keeps_its_parent() {
    let (world, thread) = world(INNER, ANSWERS);
    world.step(&thread).exits(0);
    let at_work = child(&world, &thread);
    let inner = std::fs::read_to_string(world.project().join("inner.yaml")).unwrap();
    world.write("inner.yaml", &inner.replace("goal: g", "goal: better"));
    let refused = migrate(&world, &thread, INNER, 1);
    assert!(
        refused.contains(&format!("uwf thread kill {at_work}")),
        "{refused}"
    );
    world.step(&thread).exits(0);
    assert_eq!(done(&world, &thread), json!(true));
}

#[test]
fn a_child_that_a_person_killed_is_not_taken_up_by_a_migration() {
    let (world, thread) = world(INNER, ANSWERS);
    world.step(&thread).exits(0);
    world
        .uwf(&["thread", "kill", &child(&world, &thread)])
        .exits(0);
    migrate(
        &world,
        &thread,
        &format!("{INNER}, returns: 'steps[1].output'"),
        0,
    );
    for _ in 0..2 {
        world.step(&thread).exits(0);
    }
    assert_eq!((done(&world, &thread), runs(&world)), (json!(true), 4));
    let cost = world.show(&thread)["usage"]["costUsd"].clone();
    assert_eq!(cost, json!(9.0), "what the killed child cost counts");
}

#[test]
fn branches_that_have_ended_are_kept_and_others_are_added() {
    let (world, thread) = world("each: [a, b], role: branch, max: 1", ANSWERS);
    world.step(&thread).exits(0);
    migrate(&world, &thread, "each: [a, b, c], role: branch, max: 4", 0);
    world.step(&thread).exits(0);
    assert_eq!((done(&world, &thread), runs(&world)), (json!(true), 4));
}

#[test]
fn a_migrated_parent_and_its_child_go_on_in_another_root() {
    let (world, thread) = world(INNER, ANSWERS);
    world.step(&thread).exits(0);
    migrate(
        &world,
        &thread,
        &format!("{INNER}, returns: 'steps[1].output'"),
        0,
    );
    let there = elsewhere(&world, &thread);
    let done = there(&["thread", "step", &thread]).exits(0).json()["done"].clone();
    assert_eq!((done, runs(&world)), (json!(true), 3));
}
