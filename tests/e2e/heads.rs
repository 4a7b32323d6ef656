//! `--head`: a call that names the head at which somebody saw the thread does nothing at another one.

use std::process::Stdio;

use serde_json::json;

use crate::world::{AGAIN, World, wait_until};

fn head(world: &World, thread: &str) -> String {
    world.show(thread)["head"].as_str().unwrap().to_owned()
}

#[test]
fn what_was_decided_at_another_head_is_not_done() {
    let world = World::new();
    let workflow = world.put(&AGAIN.replace('@', ""));
    world.mock("roles: { writer: [ { output: { status: more } } ] }");
    let thread = world.start(&workflow);
    let seen = format!("--head={}", head(&world, &thread));
    world.step(&thread).exits(0);
    let now = head(&world, &thread);
    for command in ["step", "run", "resume", "poke", "kill"] {
        let refused = world.uwf(&["thread", command, &thread, &seen]).exits(5);
        let said = refused.says("has changed").says("nothing was done");
        said.says(&format!(
            "`uwf thread show {thread}` tells where it stands now"
        ));
        assert_eq!(head(&world, &thread), now, "{command}");
        assert_eq!(world.show(&thread)["status"], json!("idle"), "{command}");
    }
    let background = ["thread", "step", &thread, &seen, "--background"];
    world.uwf(&background).exits(5);
    let dry = ["thread", "step", &thread, &seen, "--dry-run"];
    world.uwf(&dry).exits(5).says("has changed");
    let seen = format!("--head={now}");
    let dry = ["thread", "step", &thread, &seen, "--dry-run"];
    world.uwf(&dry).exits(0);
    assert_eq!(head(&world, &thread), now);
}

#[test]
fn the_head_is_compared_once_and_is_of_one_thread() {
    let world = World::new();
    let workflow = world.put(&AGAIN.replace('@', ""));
    world.mock("roles: { writer: [ { output: { status: more } }, { output: { status: more } }, { output: { status: done } } ] }");
    let thread = world.start(&workflow);
    let at = |command: &[&str]| {
        let head = format!("--head={}", head(&world, &thread));
        world.uwf(&[command, &[&*thread, &*head]].concat())
    };
    at(&["thread", "step", "--count=2"]).exits(0);
    at(&["thread", "run"]).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("completed"));
    let (one, other) = (world.start(&workflow), world.start(&workflow));
    for command in ["step", "kill"] {
        let head = format!("--head={}", head(&world, &one));
        let both = ["thread", command, &one, &other, &head];
        world.uwf(&both).exits(2).says("one thread");
    }
    assert_eq!(world.show(&one)["status"], json!("idle"));
}

#[test]
fn a_run_that_waits_for_an_attempt_still_compares_the_head() {
    let world = World::new();
    world.put(&AGAIN.replace('@', ""));
    world.mock(
        "roles: { writer: [ { output: { status: more } }, { exit: 1, class: overloaded } ] }",
    );
    world.configure("agents.default.retry.max", "1");
    world.configure("agents.default.retry.backoff", "1h");
    let thread = world.start("again");
    world.step(&thread).exits(0);
    let seen = format!("--head={}", head(&world, &thread));
    world.step(&thread).exits(3);
    let mut run = world.command(&["thread", "run", &thread, &seen]);
    let told = world.dir().join("told");
    run.stderr(std::fs::File::create(&told).unwrap());
    let mut run = run.stdout(Stdio::piped()).spawn().unwrap();
    let told = || std::fs::read_to_string(&told).unwrap();
    wait_until("the run waits", || told().contains("waits until"));
    world
        .uwf(&["thread", "poke", &thread, "-p", "Better"])
        .exits(0);
    let poked = head(&world, &thread);
    wait_until("the run has ended", || run.try_wait().unwrap().is_some());
    let ended = run.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(5), "{stdout}");
    assert!(stdout.contains("changed"), "{stdout}");
    assert!(told().contains("has changed"), "{}", told());
    assert_eq!(head(&world, &thread), poked);
}
