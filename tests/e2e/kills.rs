//! `thread kill` ends whoever works on the thread, also what outlived its agent or its engine; and nobody else.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{ONE_STEP, World, is_running, wait_until};

/// A world whose agent starts a child with these words, writes both numbers down and waits for it; its step runs.
fn at_work(child: &str) -> (World, String, Child) {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "cd {}\n({child}) &\necho $! > child.new\nmv child.new child\nwait",
        world.project().display()
    );
    let agent = world.script("agent.sh", &body);
    world.agent(agent.to_str().unwrap(), &[]);
    let thread = world.start("one");
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the agent's child runs", || {
        world.project().join("child").exists()
            && world.show(&thread)["running"]["agentPid"].is_u64()
    });
    (world, thread, engine)
}

fn agent_of(world: &World, thread: &str) -> u64 {
    world.show(thread)["running"]["agentPid"].as_u64().unwrap()
}

fn child_of(world: &World) -> u64 {
    let pid = fs::read_to_string(world.project().join("child")).unwrap();
    pid.trim().parse().unwrap()
}

fn end(pid: u64) {
    let ended = Command::new("kill").arg("-9").arg(pid.to_string()).status();
    assert!(ended.unwrap().success());
}

fn end_engine(mut engine: Child) {
    engine.kill().unwrap();
    engine.wait().unwrap();
}

fn kill(world: &World, thread: &str) -> Value {
    let killed = world.uwf(&["thread", "kill", thread]).exits(0).json();
    assert_eq!(world.show(thread)["status"], json!("cancelled"));
    killed["agentEnded"].clone()
}

const STUBBORN: &str = "trap '' TERM; while :; do sleep 0.05; done";

#[test]
fn a_child_that_ignores_term_does_not_outlive_its_agent() {
    let (world, thread, engine) = at_work(STUBBORN);
    let agent = agent_of(&world, &thread);
    end_engine(engine);
    assert_eq!(kill(&world, &thread), json!(true));
    assert!(!is_running(&agent.to_string()));
    assert!(!is_running(&child_of(&world).to_string()));
}

#[test]
fn a_child_whose_engine_and_agent_died_is_ended() {
    let (world, thread, engine) = at_work("exec sleep 1000");
    let agent = agent_of(&world, &thread);
    end_engine(engine);
    end(agent);
    wait_until("the agent is gone", || !is_running(&agent.to_string()));
    assert_eq!(world.step(&thread).code, 5, "the child holds the thread");
    let begun = Instant::now();
    assert_eq!(kill(&world, &thread), json!(true));
    assert!(begun.elapsed() < Duration::from_secs(4), "TERM is enough");
    assert!(!is_running(&child_of(&world).to_string()));
}

#[test]
fn a_group_that_only_has_the_number_of_an_agent_is_left_alone() {
    let (world, thread, engine) = at_work("exec sleep 1000");
    let agent = agent_of(&world, &thread);
    end_engine(engine);
    end(agent);
    // The kernel tells starts to 10 ms. A number that is used again has come round all others, and starts later.
    std::thread::sleep(Duration::from_millis(20));
    let mut stranger = Command::new("sleep");
    let mut stranger = stranger.arg("1000").process_group(0).spawn().unwrap();
    let holder = world.root().join(format!("runs/{thread}/holder.json"));
    let mut record: Value = serde_json::from_slice(&fs::read(&holder).unwrap()).unwrap();
    assert_eq!(record["agent"]["pid"], json!(agent));
    record["agent"]["pid"] = json!(stranger.id());
    fs::write(&holder, record.to_string()).unwrap();
    assert_eq!(kill(&world, &thread), json!(false));
    let ended = stranger.try_wait().unwrap();
    assert_eq!(ended, None, "somebody ended the stranger");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    end(child_of(&world));
}
