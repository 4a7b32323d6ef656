//! What `--all` and `--jobs` make of threads that go, fail, wait or are damaged meanwhile, and what they say about it.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, close_gate, gated_agent, open_gate, runs};
use crate::processes::signal;
use crate::pty::Terminal;
use crate::world::{ONE_STEP, REVIEW, Run, World, binary, wait_until};

/// A world with some threads of one step.
fn world_with(count: usize) -> (World, Vec<String>) {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let threads = (0..count).map(|_| world.start("one")).collect();
    (world, threads)
}

fn step_all(world: &World, jobs: &str) -> Run {
    world.uwf(&["thread", "step", "--all", "--jobs", jobs, "--shared-ok"])
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
fn damaged_threads_are_named_once_get_no_step_and_do_not_count_against_the_limit() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles: { writer: [{ output: { plan: p } }] }");
    let (good, damaged) = (world.start("review"), world.start("review"));
    let head = world.step(&damaged).exits(0).json()["head"].clone();
    let node = format!("cas/{}.bin", head.as_str().unwrap());
    std::fs::write(world.root().join(node), "x").unwrap();
    let all = |more: &[&str]| {
        let run = world.uwf(&[&["thread", "step", "--all"], more].concat());
        let run = run.exits(4);
        assert_eq!(run.stderr.matches(&damaged).count(), 1, "{}", run.stderr);
        assert_eq!(line_of(&run, &damaged)["exit"], json!(4));
        run
    };
    let run = all(&["--limit", "1"]).says("2 threads: 1 stepped, 1 failed");
    assert_eq!(line_of(&run, &good)["role"], json!("writer"));
    all(&["--status", "failed"]).says("1 thread: 1 failed");
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

#[test]
fn errors_of_jobs_are_text_unless_json_was_asked_for() {
    let (world, threads) = world_with(2);
    world.scripted_agent("echo broken >&2; exit 9");
    let run = step_all(&world, "2").exits(3);
    for thread in &threads {
        let error = format!("{thread} error: ");
        assert!(run.stderr.contains(&error), "{}", run.stderr);
    }
    assert!(!run.stderr.contains('{'), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 2);
    let args = [
        "thread",
        "step",
        "--all",
        "--jobs",
        "2",
        "--status",
        "failed",
        "--shared-ok",
    ];
    let asked = world.uwf(&[&args[..], &["--format", "json"]].concat());
    let asked = asked.exits(3);
    for line in asked.stderr.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

#[test]
fn jobs_name_the_signal_that_ended_them() {
    let (world, threads) = world_with(2);
    close_gate(&world);
    let engine = world.spawn(&["thread", "step", "--all", "--jobs", "2"]);
    wait_until("both agents work", || runs(&world) == 2);
    signal("TERM", engine.id());
    let run = Run::from(engine.wait_with_output().unwrap()).exits(143);
    assert!(!run.stderr.contains("SIGINT"), "{}", run.stderr);
    for thread in &threads {
        let attempts = world.show(thread)["attempts"].to_string();
        assert!(attempts.contains("SIGTERM"), "{attempts}");
    }
    run.says("interrupted by SIGTERM");
}

#[test]
fn verbose_jobs_say_what_happens_as_it_happens_each_with_its_thread() {
    let (world, threads) = world_with(2);
    close_gate(&world);
    world.scripted_agent(&format!(
        "echo heard >&2\nwhile [ -e wait ]; do sleep 0.02; done\nexec {} agent mock answers.yaml \"$@\"",
        binary().display(),
    ));
    let args = [
        "-v",
        "thread",
        "step",
        "--all",
        "--jobs",
        "2",
        "--shared-ok",
    ];
    let mut engine = world.spawn(&args);
    let mut lines = BufReader::new(engine.stderr.take().unwrap()).lines();
    let mut heard: Vec<String> = (0..2).map(|_| lines.next().unwrap().unwrap()).collect();
    heard.sort();
    let mut expected: Vec<String> = threads.iter().map(|id| format!("{id} | heard")).collect();
    expected.sort();
    assert_eq!(heard, expected);
    open_gate(&world);
    assert!(engine.wait_with_output().unwrap().status.success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(rest, ["note: 2 threads: 2 stepped"]);
}

#[test]
fn a_step_that_waits_for_a_slot_gives_a_sign_of_life() {
    let (world, threads) = world_with(3);
    world.configure("concurrency.maxRunning", "1");
    let engine = at_work(&world, &["thread", "step", &threads[0]]);
    let mut one = Terminal::start(&world, &["thread", "step", &threads[1]], &[]);
    one.shows("waiting for a free slot")
        .shows("0:01  waits for a slot");
    one.shows("0:02  waits for a slot");
    let args = ["thread", "step", &threads[1], &threads[2], "--jobs", "2"];
    one.interrupts();
    one.end().exits(130);
    let mut several = Terminal::start(&world, &args, &[]);
    several.shows("0 threads at work, 2 wait for a slot, 0 of 2 done");
    open_gate(&world);
    several.end().exits(0);
    Run::from(engine.wait_with_output().unwrap()).exits(0);
}
