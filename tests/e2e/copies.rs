//! An agent that is built in plays in a copy of the engine: to all others it is a process like any other.

use std::fs;

use serde_json::json;

use crate::world::{REVIEW, World};

#[test]
fn what_nobody_reads_of_our_output_does_not_end_in_the_agents() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer:\n    - { output: { plan: p }, sleepMs: 100 }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n",
    );
    let thread = world.start("review");
    let mut engine = world.spawn(&["thread", "step", &thread, "-c", "2"]);
    drop(engine.stdout.take());
    assert_eq!(engine.wait().unwrap().code(), Some(0));
    let head = world.show(&thread)["head"].clone();
    let said = fs::read_to_string(world.root().join("runs").join(&thread).join("stdout"));
    assert_eq!(json!(said.unwrap().trim_end()), head);
}
