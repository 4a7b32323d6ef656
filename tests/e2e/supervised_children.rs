//! Supervisors of threads whose steps children do.

use serde_json::json;

use crate::children_care::{ANSWERS, done, world};
use crate::gates::runs;
use crate::model_server::{ModelServer, Scripted};
use crate::world::World;

fn says(decision: &str, reason: &str) -> Scripted {
    Scripted::says(&json!({ "decision": decision, "reason": reason }).to_string())
}

/// A thread before its branches, which is looked at after every step.
fn supervised(server: &ModelServer) -> (World, String) {
    let (world, thread) = world("each: [a, b, c], role: branch, max: 1", ANSWERS);
    world.model("small", &server.base_url());
    world.configure("supervisor.every", "1");
    world.configure("supervisor.model", "small");
    (world, thread)
}

#[test]
fn a_thread_is_judged_once_before_its_branches() {
    let server = ModelServer::start(vec![says("continue", "All is well.")]);
    let (world, thread) = supervised(&server);
    for _ in 0..3 {
        world.step(&thread).exits(0);
    }
    assert_eq!((done(&world, &thread), runs(&world)), (json!(true), 4));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_review_that_failed_is_not_asked_for_again_while_the_branches_work() {
    let server = ModelServer::start(vec![Scripted::body(401, "{}")]);
    let (world, thread) = supervised(&server);
    for _ in 0..3 {
        world.step(&thread).exits(0);
    }
    assert_eq!(done(&world, &thread), json!(true));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn what_a_person_says_to_a_held_thread_reaches_every_branch() {
    let server = ModelServer::start(vec![says("suspend", "It loops.")]);
    let (world, thread) = supervised(&server);
    world.step(&thread).exits(6);
    assert_eq!(runs(&world), 1);
    world
        .uwf(&["thread", "resume", &thread, "-p", "Be {{brief}}."])
        .exits(0);
    for _ in 0..2 {
        world.step(&thread).exits(0);
    }
    assert_eq!((done(&world, &thread), runs(&world)), (json!(true), 4));
    let list = world.uwf(&["thread", "list", "--all", "--children"]).json();
    let ids = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["thread"].as_str());
    let told = |id: &&str| {
        let read = world.uwf(&["thread", "read", id]).exits(0).stdout;
        read.contains("Be {{brief}}.")
    };
    assert_eq!(
        ids.flatten().filter(told).count(),
        3,
        "every branch, not the parent"
    );
    assert_eq!(server.requests().len(), 1);
}
