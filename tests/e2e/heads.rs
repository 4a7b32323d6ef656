//! `--head`: a call that names the head at which somebody saw the thread does nothing at another one.

use serde_json::json;

use crate::world::{AGAIN, World};

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
