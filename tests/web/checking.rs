//! The checks of the page about the machine: they run as a process of their own, and disturb nothing that the server does.

use std::fs::File;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::attacks::children_of;
use crate::forms::Person;
use crate::scene::Scene;
use crate::world::wait_until;

/// Returns a held scene with one more agent, which is asked for its version.
fn scene() -> Scene {
    let scene = Scene::held();
    let other = scene.world.script("uwf-other", "echo other 7.8.9");
    scene
        .world
        .configure("agents.other.command", other.to_str().unwrap());
    scene
}

#[test]
fn a_check_ends_no_step_that_the_server_started() {
    let scene = scene();
    let thread = scene.thread();
    let sent = scene.act(&format!("threads/{thread}/step"), &json!({}));
    assert_eq!(sent.status, 202, "{}", sent.body);
    scene.world.agent_at_work(&thread);
    let page = Person::of(&scene.server).look("/machine/checks");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("7.8.9"), "{}", page.body);
    let checks = scene.server.get("/api/v1/machine/checks").json();
    let others = |one: &&Value| one["subject"] == "other" && one["status"] == "ok";
    let checks = checks.as_array().unwrap();
    assert!(checks.iter().any(|one| others(&one)), "{checks:?}");
    assert_eq!(scene.world.show(&thread)["status"], "running");
    File::create(scene.go()).unwrap();
    scene.wait_for(&thread, "idle", 1);
}

#[test]
fn a_check_leaves_signals_and_children_of_the_server_as_they_were() {
    let mut scene = scene();
    let checked = scene.server.get("/api/v1/machine/checks");
    assert_eq!(checked.status, 200, "{}", checked.body);
    let server = scene.server.child.id();
    wait_until("no process is left", || children_of(server) == 0);
    // A stream is open, which the server ends itself before it ends.
    let mut stream = crate::events::Stream::ask(&scene.server, "");
    assert_eq!(stream.next().unwrap().0, "hello");
    kill(Pid::from_raw(server.try_into().unwrap()), Signal::SIGTERM).unwrap();
    let status = scene.server.child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{status}");
}

#[test]
fn a_machine_without_a_remote_says_so() {
    let scene = Scene::new(&[]);
    let page = scene.server.get("/machine/remote");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(
        page.body.contains("No remote is configured."),
        "{}",
        page.body
    );
}
