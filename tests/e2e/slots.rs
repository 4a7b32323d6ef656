//! No more agents work at once than may, whoever is killed when; and nobody waits for ever.

use std::process::Child;

use serde_json::json;

use crate::processes::{is_running, kill, kill_group, signal};
use crate::world::{ONE_STEP, Run, World, binary, wait_until};

/// A world whose agent writes down when it begins and ends, works while there is a file `wait`, and then answers.
fn world() -> World {
    let world = World::new();
    world.write(
        "answers.yaml",
        "roles:\n  writer:\n    - output: { note: n }\n",
    );
    world.put(ONE_STEP);
    let body = format!(
        "echo \"+ $$ $1\" >> {project}/times\nsleep 0.15\nwhile [ -e {project}/wait ]; do sleep 0.02; done\n\
         {uwf} agent mock {project}/answers.yaml \"$@\"\ncode=$?\necho \"- $$ $1\" >> {project}/times\nexit $code",
        project = world.project().display(),
        uwf = binary().display(),
    );
    world.scripted_agent(&body);
    world
}

/// What the agents wrote down: `+ <pid> <thread>` or `- <pid> <thread>`.
fn times(world: &World) -> Vec<String> {
    let times = std::fs::read_to_string(world.project().join("times"));
    times
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn begun(world: &World) -> usize {
    times(world)
        .iter()
        .filter(|line| line.starts_with('+'))
        .count()
}

/// Returns the most agents that were at work at once.
fn most_at_once(world: &World) -> i32 {
    let (mut now, mut most) = (0, 0);
    for line in times(world) {
        now += if line.starts_with('+') { 1 } else { -1 };
        most = most.max(now);
    }
    most
}

fn step(world: &World, thread: &str) -> Child {
    world.spawn(&["thread", "step", thread])
}

fn finish(child: Child) -> Run {
    child.wait_with_output().unwrap().into()
}

/// Has no agent end its work from now on, and starts the first.
fn step_that_works(world: &World, thread: &str) -> Child {
    world.write("wait", "");
    let worker = step(world, thread);
    wait_until("the first works", || begun(world) == 1);
    worker
}

fn step_that_waits(world: &World, thread: &str) -> Child {
    let waiter = step(world, thread);
    wait_until("the next waits", || is_waiting(world, thread));
    waiter
}

fn let_agents_go(world: &World) {
    std::fs::remove_file(world.project().join("wait")).unwrap();
}

fn is_waiting(world: &World, thread: &str) -> bool {
    world.show(thread)["running"]["waiting"] == json!(true)
}

#[test]
fn six_shells_with_two_slots_all_finish_and_never_more_than_two_work() {
    let world = world();
    world.configure("concurrency.maxRunning", "2");
    let threads: Vec<String> = (0..6).map(|_| world.start("one")).collect();
    let shells: Vec<Child> = threads.iter().map(|thread| step(&world, thread)).collect();
    let runs: Vec<Run> = shells.into_iter().map(finish).collect();
    for run in &runs {
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let waited = runs
        .iter()
        .filter(|run| run.stderr.contains("waiting for a free slot"));
    assert!(waited.count() >= 3);
    assert_eq!(begun(&world), 6);
    assert_eq!(most_at_once(&world), 2);
}

#[test]
fn who_waits_says_for_whom_and_is_shown_as_waiting() {
    let world = world();
    world.configure("concurrency.maxRunning", "1");
    let (first, second) = (world.start("one"), world.start("one"));
    let worker = step_that_works(&world, &first);
    let waiter = step_that_waits(&world, &second);
    let listed = world.uwf(&["thread", "list"]).json();
    let display = |thread: &str| {
        let items = listed.as_array().unwrap();
        let item = items.iter().find(|item| item["thread"] == json!(thread));
        item.unwrap()["statusDisplay"].clone()
    };
    assert_eq!(display(&first), json!("running"));
    assert_eq!(display(&second), json!("running [waiting]"));
    let status = |thread: &str| {
        let show = world.uwf(&["thread", "show", thread, "--format", "text"]);
        let text = show.exits(0).stdout;
        let status = text.lines().find_map(|line| line.strip_prefix("status "));
        status.unwrap().trim().to_owned()
    };
    assert_eq!(status(&first), "running, writer is at work");
    assert_eq!(
        status(&second),
        "running, writer waits until its agent may start"
    );
    world
        .step(&second)
        .exits(5)
        .says("waits until its agent may start");
    let third = world.start("one");
    world
        .uwf(&["thread", "step", &third, "--no-wait"])
        .exits(5)
        .says("no slot is free")
        .says(&first);
    assert_eq!(world.show(&third)["status"], json!("idle"));
    let_agents_go(&world);
    assert_eq!(finish(worker).code, 0);
    let waiter = finish(waiter).exits(0);
    let told = waiter.stderr.matches("waiting for a free slot").count();
    assert_eq!(told, 1, "{}", waiter.stderr);
    waiter.says(&format!(
        "at most 1 agent under this root may work at once (thread {first})"
    ));
    world.uwf(&["thread", "step", &third, "--no-wait"]).exits(0);
}

#[test]
fn an_agent_whose_engine_was_killed_keeps_its_slot_until_it_ends() {
    let world = world();
    world.configure("concurrency.maxRunning", "1");
    let (first, second) = (world.start("one"), world.start("one"));
    let engine = step_that_works(&world, &first);
    kill(engine);
    world
        .uwf(&["thread", "step", &second, "--no-wait"])
        .exits(5);
    let waiter = step_that_waits(&world, &second);
    let_agents_go(&world);
    assert_eq!(finish(waiter).code, 0);
    assert_eq!(most_at_once(&world), 1);
    let report = world.step(&first).exits(0).json();
    assert_eq!(report["adopted"], json!(true));
}

#[test]
fn killing_the_agent_and_its_engine_frees_the_slot() {
    let world = world();
    world.configure("concurrency.maxRunning", "1");
    let (first, second) = (world.start("one"), world.start("one"));
    let engine = step_that_works(&world, &first);
    let waiter = step_that_waits(&world, &second);
    kill(engine);
    // The agent leads a process group of its own: all of it is killed.
    let agent = times(&world)[0].split(' ').nth(1).unwrap().to_owned();
    assert!(is_running(&agent));
    kill_group(agent);
    wait_until("the second works", || begun(&world) == 2);
    let_agents_go(&world);
    assert_eq!(finish(waiter).code, 0);
}

#[test]
fn a_killed_waiter_is_in_nobodys_way() {
    let world = world();
    world.configure("concurrency.maxRunning", "1");
    let threads: Vec<String> = (0..3).map(|_| world.start("one")).collect();
    let worker = step_that_works(&world, &threads[0]);
    let killed = step_that_waits(&world, &threads[1]);
    let waiter = step_that_waits(&world, &threads[2]);
    kill(killed);
    assert_eq!(world.show(&threads[1])["status"], json!("idle"));
    let_agents_go(&world);
    assert_eq!(finish(worker).code, 0);
    assert_eq!(finish(waiter).code, 0);
    world.step(&threads[1]).exits(0);
}

#[test]
fn a_waiter_that_is_interrupted_ends_at_once_and_starts_nothing() {
    let world = world();
    world.configure("agents.default.maxRunning", "1");
    let (first, second) = (world.start("one"), world.start("one"));
    let worker = step_that_works(&world, &first);
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let waiter = step_that_waits(&world, &second);
        signal(name, waiter.id());
        // The one that it waits for works until its gate is opened.
        finish(waiter).exits(code).says("no agent was started");
        assert_eq!(world.show(&second)["status"], json!("idle"));
    }
    let waiter = step_that_waits(&world, &second);
    world.uwf(&["thread", "kill", &second]).exits(0);
    finish(waiter).exits(7);
    let_agents_go(&world);
    assert_eq!(finish(worker).code, 0);
    assert_eq!(begun(&world), 1);
}

#[test]
fn an_agent_has_slots_of_its_own() {
    let world = world();
    world.configure("agents.default.maxRunning", "1");
    world.configure("concurrency.maxRunning", "2");
    let answers = world.project().join("answers.yaml");
    world.configure("agents.other.command", "uwf-mock");
    let args = format!("[{:?}]", answers.to_str().unwrap());
    world.configure("agents.other.args", &args);
    let threads: Vec<String> = (0..3).map(|_| world.start("one")).collect();
    let worker = step_that_works(&world, &threads[0]);
    let waiter = step_that_waits(&world, &threads[1]);
    // Who waits for a slot of its agent takes none of the root's.
    let other = [
        "thread",
        "step",
        &threads[2],
        "--agent",
        "other",
        "--no-wait",
    ];
    world.uwf(&other).exits(0);
    let_agents_go(&world);
    assert_eq!(finish(worker).code, 0);
    finish(waiter).exits(0).says("of agent `default`");
    assert_eq!(most_at_once(&world), 1);
}

#[test]
fn without_the_config_there_are_no_slots() {
    let world = world();
    let thread = world.start("one");
    world.step(&thread).exits(0);
    assert!(!world.root().join("locks/slots").exists());
}

#[test]
fn more_than_a_thousand_agents_at_once_are_no_setting() {
    let world = World::new();
    let set = |key: &str| world.uwf(&["config", "set", key, "1001"]);
    for key in ["concurrency.maxRunning", "agents.mock.maxRunning"] {
        set(key).exits(1).says("a whole number from 1 to 1000");
    }
}
