//! `thread kill` ends whoever works on the thread, also what outlived its agent or its engine; and nobody else.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work as at_work_on, gated_agent, open_gate};
use crate::processes::{self, is_running, signal, started};
use crate::trees;
use crate::world::{ONE_STEP, World, binary, wait_until};

/// A world whose agent starts a child with these words, writes both numbers down and waits for it; its step runs.
fn at_work(child: &str) -> (World, String, Child) {
    let world = World::new();
    world.put(ONE_STEP);
    let body = format!(
        "cd {}\n({child}) &\necho $! > child.new\nmv child.new child\nwait",
        world.project().display()
    );
    world.scripted_agent(&body);
    let thread = world.start("one");
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the agent's child runs", || {
        world.project().join("child").exists()
    });
    world.agent_at_work(&thread);
    (world, thread, engine)
}

fn child_of(world: &World) -> u64 {
    let pid = fs::read_to_string(world.project().join("child")).unwrap();
    pid.trim().parse().unwrap()
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
    let agent = world.agent_at_work(&thread);
    processes::kill(engine);
    assert_eq!(kill(&world, &thread), json!(true));
    assert!(!is_running(agent));
    assert!(!is_running(child_of(&world)));
}

#[test]
fn who_reads_the_files_of_a_run_is_not_ended_with_it() {
    let (world, thread, engine) = at_work("while :; do sleep 0.05; done");
    let agent = world.agent_at_work(&thread);
    processes::kill(engine);
    signal("KILL", agent);
    let reader = processes::follow(&world.root().join("runs").join(&thread));
    assert_eq!(kill(&world, &thread), json!(true));
    assert!(!is_running(child_of(&world)));
    assert!(is_running(reader.id()));
    processes::kill(reader);
}

#[test]
fn a_child_whose_engine_and_agent_died_is_ended() {
    let child = "trap 'touch told; exit' INT TERM; while :; do sleep 0.02; done";
    let (world, thread, engine) = at_work(child);
    let agent = world.agent_at_work(&thread);
    processes::kill(engine);
    signal("KILL", agent);
    wait_until("the agent is gone", || !is_running(agent));
    assert_eq!(world.step(&thread).code, 5, "the child holds the thread");
    assert_eq!(kill(&world, &thread), json!(true));
    assert!(!is_running(child_of(&world)));
    assert!(world.project().join("told").exists(), "it was not asked");
}

#[test]
fn a_program_behind_an_adapter_whose_engine_died_gets_each_signal_once() {
    let world = trees::signals_are_written_down();
    let thread = world.start("one");
    processes::kill(trees::at_work(&world, &thread));
    assert_eq!(kill(&world, &thread), json!(true));
    let got = fs::read_to_string(world.project().join("got")).unwrap();
    assert_eq!(got, "INT\nTERM\n");
    assert_eq!(trees::alive(&world), Vec::<String>::new());
}

#[test]
fn a_program_of_a_step_within_a_step_gets_each_signal_once() {
    let world = trees::signals_are_written_down();
    let inner = world.start("one");
    let body = format!("{} thread step {inner}", binary().display());
    let outer_agent = world.script("outer.sh", &body);
    let outer = world.start("one");
    let step = [
        "thread",
        "step",
        &outer,
        "--agent",
        outer_agent.to_str().unwrap(),
    ];
    let engine = world.spawn(&step);
    wait_until("the program works", || {
        world.project().join("ready").exists()
    });
    world.agent_at_work(&inner);
    processes::kill(engine);
    assert_eq!(kill(&world, &outer), json!(true));
    let got = fs::read_to_string(world.project().join("got")).unwrap();
    assert_eq!(got, "INT\nTERM\n");
    assert_eq!(trees::alive(&world), Vec::<String>::new());
}

#[test]
fn an_engine_that_is_stopped_goes_on_and_ends_its_agent() {
    let (world, thread, mut engine) = at_work("exec sleep 1000");
    world.configure("grace", "1s");
    signal("STOP", engine.id());
    assert_eq!(kill(&world, &thread), json!(true));
    wait_until("the engine has ended", || {
        engine.try_wait().unwrap().is_some()
    });
    assert_eq!(engine.wait().unwrap().code(), Some(7));
    assert!(!is_running(child_of(&world)));
}

#[test]
fn a_stopped_process_of_an_agent_gets_to_know_that_it_is_asked_to_end() {
    let child = "trap 'touch told; exit' INT TERM; while :; do sleep 0.02; done";
    let (world, thread, engine) = at_work(child);
    signal("STOP", child_of(&world));
    assert_eq!(kill(&world, &thread), json!(true));
    assert!(world.project().join("told").exists(), "it was not asked");
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(7));
}

#[test]
fn a_child_that_has_nothing_of_its_agent_but_the_lock_is_ended() {
    let child = "exec env -i sleep 1000 >/dev/null 2>&1 </dev/null";
    let (world, thread, engine) = at_work(child);
    let agent = world.agent_at_work(&thread);
    processes::kill(engine);
    signal("KILL", agent);
    wait_until("the agent is gone", || !is_running(agent));
    assert_eq!(kill(&world, &thread), json!(true));
    assert!(!is_running(child_of(&world)));
}

/// Starts a process that leads a group of its own, later than the kernel says that another one started.
fn stranger_that_started_after(start: u64) -> Child {
    loop {
        let mut stranger = Command::new("sleep");
        let stranger = stranger.arg("1000").process_group(0).spawn().unwrap();
        if started(stranger.id()) > start {
            return stranger;
        }
        processes::kill(stranger);
    }
}

#[test]
fn a_group_that_only_has_the_number_of_an_agent_is_left_alone() {
    let (world, thread, engine) = at_work("exec sleep 1000");
    let agent = world.agent_at_work(&thread);
    processes::kill(engine);
    signal("KILL", agent);
    let holder = world.root().join(format!("runs/{thread}/holder.json"));
    let mut record: Value = serde_json::from_slice(&fs::read(&holder).unwrap()).unwrap();
    assert_eq!(record["agent"]["pid"], json!(agent));
    let start = record["agent"]["started"].as_u64().unwrap();
    let mut stranger = stranger_that_started_after(start);
    record["agent"]["pid"] = json!(stranger.id());
    fs::write(&holder, record.to_string()).unwrap();
    assert_eq!(
        kill(&world, &thread),
        json!(true),
        "the child is known by its mark"
    );
    assert!(!is_running(child_of(&world)));
    let ended = stranger.try_wait().unwrap();
    assert_eq!(ended, None, "somebody ended the stranger");
    processes::kill(stranger);
}

#[test]
fn an_attempt_that_was_ended_with_its_thread_is_on_record() {
    let (world, thread, mut engine) = at_work("sleep 600");
    assert_eq!(kill(&world, &thread), json!(true));
    assert_eq!(engine.wait().unwrap().code(), Some(7));
    let attempts = &world.show(&thread)["attempts"];
    assert_eq!(attempts.as_array().unwrap().len(), 1, "{attempts}");
    assert_eq!(attempts[0]["class"], json!("cancelled"));
    // No step of the thread follows.
    assert_eq!(attempts[0]["hint"], json!(null));
}

/// A world with a thread whose finished step waits for the next call.
fn with_a_finished_step() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    processes::kill(at_work_on(&world, &["thread", "step", &thread]));
    open_gate(&world);
    wait_until("the agent has finished", || {
        world.pending(&thread).is_some()
    });
    world.wait_until_free(&thread);
    (world, thread)
}

#[test]
fn a_finished_step_of_a_thread_that_is_killed_is_named() {
    let (world, thread) = with_a_finished_step();
    let killed = world.uwf(&["thread", "kill", &thread]).exits(0).json();
    let step = killed["finishedStep"].as_str().unwrap().to_owned();
    let shown = world.show(&thread);
    assert_eq!(shown["refusedSteps"][0]["step"], json!(step), "{shown}");
    assert_eq!(shown["usage"]["runs"], json!(1), "it was paid for");
    assert_eq!(shown["finishedStep"], json!(null), "nobody commits it");
    world.uwf(&["thread", "fork", &step]).exits(0);
    let cost = world.uwf(&["thread", "cost"]).exits(0).json();
    assert_eq!(cost["total"]["runs"], json!(1), "both threads have it");
}

#[test]
fn a_fork_names_the_finished_step_that_it_does_not_have() {
    let (world, thread) = with_a_finished_step();
    let step = world.pending(&thread).unwrap()["step"].clone();
    let step = step.as_str().unwrap();
    let without = world.uwf(&["thread", "fork", &thread]).exits(0);
    let without = without.says(&format!("`uwf thread fork {step}`")).json();
    let with = world.uwf(&["thread", "fork", step]).exits(0).json();
    for (fork, steps) in [(without, 0), (with, 1)] {
        let shown = world.show(fork["thread"].as_str().unwrap());
        assert_eq!(shown["steps"], json!(steps), "{shown}");
    }
    world.step(&thread).exits(0);
    let later = world.uwf(&["thread", "fork", &format!("{thread}~1")]);
    assert_eq!(later.exits(0).stderr, "", "the thread has it now");
}
