//! What `--all` and `--jobs` make of threads that go, fail, wait or are damaged meanwhile, and what they say about it.

use serde_json::{Value, json};

use crate::gates::{NOTE, gated_agent, runs};
use crate::world::{ONE_STEP, REVIEW, Run, World, binary};

/// A world with some threads of one step.
fn world_with(count: usize) -> (World, Vec<String>) {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let threads = (0..count).map(|_| world.start("one")).collect();
    (world, threads)
}

fn step_all(world: &World, jobs: &str) -> Run {
    world.uwf(&["thread", "step", "--all", "--jobs", jobs])
}

/// Returns the line of stdout about a thread.
fn line_of(run: &Run, thread: &str) -> Value {
    let mut lines = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.find(|line| line["thread"] == json!(thread)).unwrap()
}

#[test]
fn a_thread_that_is_removed_meanwhile_is_skipped() {
    for jobs in ["1", "2"] {
        let (world, threads) = world_with(3);
        let last = &threads[2];
        let uwf = binary().display();
        world.scripted_agent(&format!(
            "{uwf} thread rm {last} --force > removed 2>&1\nexec {uwf} agent mock answers.yaml \"$@\""
        ));
        let run = step_all(&world, jobs).exits(0);
        let skipped = line_of(&run, last);
        assert_eq!(skipped["skipped"], json!(true), "{}", run.stdout);
        assert!(skipped["message"].as_str().unwrap().contains("was removed"));
        run.says("3 threads: 2 stepped, 1 skipped");
        assert!(!world.root().join("runs").join(last).exists());
    }
}

#[test]
fn a_damaged_thread_is_named_and_fails_and_stops_no_other() {
    for jobs in ["1", "2"] {
        let world = World::new();
        world.put(REVIEW);
        world.mock("roles: { writer: [{ output: { plan: p } }] }");
        let (damaged, good) = (world.start("review"), world.start("review"));
        let head = world.step(&damaged).exits(0).json()["head"].clone();
        let node = format!("cas/{}.bin", head.as_str().unwrap());
        std::fs::write(world.root().join(node), "x").unwrap();
        let run = step_all(&world, jobs).exits(4).says(&damaged);
        assert_eq!(line_of(&run, &damaged)["exit"], json!(4));
        assert_eq!(line_of(&run, &good)["role"], json!("writer"));
        run.says("2 threads: 1 stepped, 1 failed");
    }
}

#[test]
fn names_are_checked_before_the_first_step_also_those_that_look_like_ids() {
    let (world, threads) = world_with(1);
    for unknown in ["nonsense", "01J7K9Z000000000000000000A"] {
        world
            .uwf(&["thread", "step", &threads[0], unknown])
            .exits(1)
            .says(unknown)
            .says("no thread got a step");
    }
    assert_eq!(runs(&world), 0);
}
