//! An engine whose agent has finished, and has left something running, is killed at each of its points, and so is the
//! call that adopts its step: what goes on keeps nobody out, and the step counts once.

use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use super::reader::Ledger;
use super::sweep::{chosen, kill_at, restore, save};
use super::tracer::{Point, Verdict, trace};
use crate::gates::{NOTE, runs};
use crate::kept_running::finish_without_an_engine;
use crate::resumes::again;
use crate::trees::LOOP;
use crate::world::{ONE_STEP, World, binary, is_soak, wait_until};

const ENGINE: &str = " thread ";

/// A world with a thread of this workflow, whose agent leaves a process running that has the lock, and may stay if the
/// config says so.
fn leaver(workflow: &str, script: &str, keeps: &str) -> (World, String) {
    let world = World::new();
    world.put(workflow);
    world.write("answers.yaml", script);
    // What is left lives longer than an engine waits for it, and as long as the test wants it to.
    world.scripted_agent(&format!(
        "cd {project}\necho run >> runs\n\
         (sleep 0.5; while [ -e stay ]; do sleep 0.02; done) >/dev/null 2>&1 &\n\
         while [ -e wait ]; do sleep 0.02; done\nexec {uwf} agent mock answers.yaml \"$@\"",
        project = world.project().display(),
        uwf = binary().display(),
    ));
    world.configure("agents.default.keepRunning", keeps);
    let name = workflow.trim_start().lines().next().unwrap();
    let thread = world.start(name.strip_prefix("name: ").unwrap());
    (world, thread)
}

#[test]
fn what_may_go_on_keeps_no_thread_busy_wherever_its_engine_is_killed() {
    let (world, thread) = leaver(ONE_STEP, NOTE, "true");
    save(&world);
    let args = ["thread", "step", &thread];
    let whole = std::thread::scope(|scope| {
        let stay = Stay::new(&world);
        let traced = scope.spawn(|| trace(&world, &args, |_| Verdict::GoOn));
        // The tracer waits for what is left, too.
        wait_until("the step is done", || {
            world.show(&thread)["status"] == json!("completed")
        });
        drop(stay);
        traced.join().unwrap()
    });
    assert!(whole.stdout.contains("\"keptRunning\":true"), "{whole:?}");
    let of_engine: Vec<&Point> = whole
        .points
        .iter()
        .filter(|point| is_engine(point))
        .collect();
    // From there on the agent may run whose number is not on record yet.
    let names_itself = |point: &&Point| point.call.ends_with("/holder.json");
    let first = of_engine.iter().position(names_itself).unwrap();
    for number in chosen(&of_engine[first..]) {
        restore(&world);
        kill_and_go_on(&world, &thread, first + number);
    }
}

fn is_engine(point: &Point) -> bool {
    point.command.contains(ENGINE)
}

/// Kills the engine of a step before its call with this number, and does the next step while something goes on.
fn kill_and_go_on(world: &World, thread: &str, number: usize) {
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let stay = Stay::new(world);
        scope.spawn(move || {
            let mut passed = 0;
            trace(world, &["thread", "step", thread], |point| {
                passed += usize::from(is_engine(point));
                if !is_engine(point) || passed != number + 1 {
                    return Verdict::GoOn;
                }
                tell.send(point.call.clone()).unwrap();
                Verdict::Kill
            })
        });
        let call = told.recv_timeout(Duration::from_secs(120));
        let call = call.unwrap_or_else(|_| panic!("no point {number}"));
        // The agent may still be about to exit.
        wait_until(
            &format!("a step goes on after a kill before `{call}`"),
            || {
                let step = world.step(thread);
                assert!([0, 5, 7].contains(&step.code), "{call}: {}", step.stderr);
                step.code != 5
            },
        );
        let steps = Ledger::read(&world.root()).threads[thread].len();
        assert_eq!((steps, runs(world)), (1, 1), "{call}");
        drop(stay);
    });
}

#[test]
fn a_step_whose_adoption_is_killed_anywhere_counts_once_whatever_it_left_running() {
    // Two steps are allowed, and a third one that was paid for is not there.
    let workflow = format!("{LOOP}limits: {{ maxCostUsd: 0.5 }}\n");
    let script =
        "roles:\n  writer:\n    - output: { $status: again }\n      usage: { costUsd: 0.25 }\n";
    let calls = std::thread::scope(|scope| {
        // Without a soak, each is killed before every second call.
        let killing = [(0, "true"), (1, "false")].map(|(first, keeps)| {
            let (world, thread) = leaver(&workflow, script, keeps);
            scope.spawn(move || {
                save(&world);
                let (first, step) = if is_soak() { (0, 1) } else { (first, 2) };
                let numbers = (first..).step_by(step);
                let calls = numbers.map_while(|number| {
                    restore(&world);
                    kill_the_adoption_and_go_on(&world, &thread, number)
                });
                let calls: Vec<String> = calls.collect();
                // The lock is given back at the end, after the head was moved.
                assert!(calls.last().unwrap().starts_with("lock "), "{calls:#?}");
                calls
            })
        });
        killing.map(|one| one.join().unwrap()).concat()
    });
    let moves = |call: &String| call.ends_with(" root/threads.yaml");
    assert!(calls.iter().any(moves), "{calls:#?}");
}

/// Kills the call that adopts a finished step before its system call with this number, and does the next step while something
/// goes on. Returns the call; `None` if there was none.
fn kill_the_adoption_and_go_on(world: &World, thread: &str, number: usize) -> Option<String> {
    let _stay = Stay::new(world);
    finish_without_an_engine(world, thread);
    let args = ["thread", "step", thread];
    let killed = kill_at(world, &args, ENGINE, number, Verdict::Kill);
    let call = killed.killed()?.call.clone();
    let steps = || Ledger::read(&world.root()).threads[thread].len();
    let before = steps();
    let next = world.step(thread);
    assert_eq!(next.code, 0, "{number}: {call}: {}", next.stderr);
    assert_eq!(next.json()["adopted"], json!(before == 0), "{call}");
    assert_eq!((steps(), runs(world)), (before + 1, before + 1), "{call}");
    assert!(!has_failed(world, thread), "{call}");
    Some(call)
}

/// Tells whether a failed attempt of a thread is on record, wherever in the thread.
fn has_failed(world: &World, thread: &str) -> bool {
    let attempts = world
        .root()
        .join("runs")
        .join(thread)
        .join("attempts.jsonl");
    attempts.exists()
}

#[test]
fn an_ended_thread_whose_last_step_was_adopted_is_taken_up_again_though_the_adoption_was_killed() {
    for keeps in ["true", "false"] {
        let (world, thread) = leaver(&again(), NOTE, keeps);
        let _stay = Stay::new(&world);
        finish_without_an_engine(&world, &thread);
        let mut has_ended = false;
        trace(&world, &["thread", "step", &thread], |point| {
            has_ended |= point.call.ends_with(" root/threads.yaml");
            match has_ended && point.call.ends_with("/holder.json") {
                true => Verdict::Kill,
                false => Verdict::GoOn,
            }
        });
        assert_eq!(world.show(&thread)["status"], json!("completed"));
        world.uwf(&["thread", "resume", &thread]).exits(0);
        assert_eq!(runs(&world), 2);
        assert!(!has_failed(&world, &thread));
    }
}

/// As long as this lives, so does what an agent leaves running.
struct Stay<'a>(&'a World);

impl<'a> Stay<'a> {
    fn new(world: &'a World) -> Self {
        world.write("stay", "");
        Self(world)
    }
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0.project().join("stay"));
    }
}
