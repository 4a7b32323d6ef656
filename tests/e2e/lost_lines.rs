//! Lines that the files of the state have lost, where no run folder tells of them.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::lost_state::doctor;
use crate::world::{ONE_STEP, REVIEW, World};

const SCRIPT: &str =
    "roles:\n  writer:\n    - output: { plan: p, note: n }\n    - output: { plan: q, note: m }\n";

fn world() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    world.put(REVIEW);
    world.mock(SCRIPT);
    world
}

fn file(world: &World, name: &str) -> PathBuf {
    world.root().join(name)
}

fn state_is_damaged(world: &World) -> bool {
    doctor(world, "state").0 == "error"
}

/// A world with a thread whose step was done again, and what the history says of that.
fn redone() -> (World, String, String) {
    let world = world();
    let thread = world.start("review");
    world.step(&thread).exits(0);
    world.uwf(&["thread", "poke", &thread]).exits(0);
    let good = world.state("history.jsonl");
    assert!(good.starts_with("{\"replaced\":"), "{good}");
    (world, thread, good)
}

#[test]
fn a_cut_off_line_of_a_replaced_step_is_damage_and_nothing_is_written_behind_it() {
    let (world, thread, good) = redone();
    let other = world.start("review");
    let path = file(&world, "history.jsonl");
    let has_locks = [true, false];
    for (length, keeps_locks) in [4, 20, 30, 60, good.len() - 2]
        .into_iter()
        .flat_map(|length| has_locks.map(|keeps| (length, keeps)))
    {
        if !keeps_locks && length < 30 {
            // Nothing tells what it was.
            continue;
        }
        let sealed = fs::read(file(&world, "locks/state.seal")).unwrap();
        if !keeps_locks {
            fs::remove_file(file(&world, "locks/state.seal")).unwrap();
        }
        let torn = &good[..length];
        fs::write(&path, torn).unwrap();
        for command in [
            &["thread", "steps", &thread][..],
            &["thread", "read", &thread],
            &["thread", "step", &other],
            &["thread", "poke", &thread],
            &["thread", "kill", &other],
            &["thread", "start", "one", "-p", "x"],
            &["thread", "list"],
            &["cas", "gc"],
        ] {
            let run = world.uwf(command).exits(4).says("history.jsonl:1`");
            run.says("cut off").says("hint: fix that line by hand");
        }
        assert!(state_is_damaged(&world));
        assert_eq!(fs::read_to_string(&path).unwrap(), torn);
        assert!(!file(&world, "history.torn").exists());
        fs::write(file(&world, "locks/state.seal"), sealed).unwrap();
    }
    fs::write(&path, &good).unwrap();
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(steps["steps"][1]["replaces"].as_array().unwrap().len(), 1);
    world.uwf(&["thread", "kill", &other]).exits(0);
}

#[test]
fn a_line_that_a_crash_left_unfinished_is_no_damage_and_is_set_aside() {
    let (world, thread, good) = redone();
    let path = file(&world, "history.jsonl");
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    // The head has not moved yet: whatever the line was to tell has not happened.
    let torn = format!("{{\"replaced\":\"{head}\",\"by\":\"01");
    fs::write(&path, format!("{good}{torn}")).unwrap();
    world.uwf(&["thread", "list"]).exits(0);
    world.uwf(&["thread", "steps", &thread]).exits(0);
    assert!(!state_is_damaged(&world));
    // The next writer of any file sets it aside, so that it is not taken for damage when the head moves on.
    world.start("one");
    assert_eq!(world.state("history.torn").trim_end(), torn);
    assert_eq!(fs::read_to_string(&path).unwrap(), good);
    world.uwf(&["thread", "poke", &thread]).exits(0);
    world.uwf(&["thread", "steps", &thread]).exits(0);
    assert_eq!(world.state("history.jsonl").lines().count(), 2);
}

#[test]
fn threads_that_are_lost_together_with_their_run_folders_are_named() {
    let world = world();
    let threads = [(); 3].map(|()| world.start("review"));
    world.step(&threads[1]).exits(0);
    let path = file(&world, "threads.yaml");
    let good = fs::read_to_string(&path).unwrap();
    fs::remove_dir_all(file(&world, "runs")).unwrap();
    world.uwf(&["thread", "list"]).exits(0);
    let first_line = &good[..=good.find('\n').unwrap()];
    for content in [None, Some(""), Some(first_line)] {
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        for command in [
            &["thread", "list"][..],
            &["thread", "show", &threads[1]],
            &["thread", "start", "one", "-p", "x"],
            &["cas", "gc"],
        ] {
            let run = world.uwf(command).exits(4).says("threads.yaml");
            run.says("active when").says("hint: bring");
        }
        assert!(state_is_damaged(&world));
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), content);
    }
    // The last of them is missing, and the hint knows where it was.
    let run = world.uwf(&["thread", "list"]).exits(4);
    let head = good.lines().last().unwrap().split_once(": ").unwrap().1;
    run.follow_hint("echo ");
    world.uwf(&["thread", "list"]).exits(0);
    assert_eq!(world.show(&threads[2])["head"], json!(head));
    // Or all are to be forgotten.
    fs::write(&path, "").unwrap();
    world.uwf(&["thread", "list"]).exits(4).follow_hint("rm ");
    world.uwf(&["thread", "list"]).exits(0);
    world.start("one");
}

#[test]
fn threads_that_ended_or_are_forgotten_are_not_missing() {
    let world = world();
    let ended = world.start("one");
    let forgotten = world.start("one");
    let run = format!("runs/{forgotten}");
    let heads = world.state("threads.yaml");
    let others = heads.lines().filter(|line| !line.starts_with(&forgotten));
    let others: String = others.map(|line| format!("{line}\n")).collect();
    fs::write(file(&world, "threads.yaml"), others).unwrap();
    let run_folder = file(&world, &run);
    fs::rename(&run_folder, file(&world, &format!("{run}.forgotten"))).unwrap();
    world.uwf(&["thread", "list"]).exits(0);
    world.step(&ended).exits(0);
    assert_eq!(world.state("threads.yaml"), "");
    fs::remove_dir_all(file(&world, "runs")).unwrap();
    world.uwf(&["thread", "list", "--all"]).exits(0);
    assert!(!state_is_damaged(&world));
    // Another program ends a thread and seals nothing.
    let other = world.start("one");
    let head = world.show(&other)["head"].as_str().unwrap().to_owned();
    let workflow = world.show(&other)["workflow"].clone();
    let line = json!({ "thread": other, "workflow": workflow, "head": head, "completedAt": 1 });
    let history = world.state("history.jsonl");
    fs::write(file(&world, "history.jsonl"), format!("{history}{line}\n")).unwrap();
    fs::remove_file(file(&world, "threads.yaml")).unwrap();
    world.uwf(&["thread", "list", "--all"]).exits(0);
    world.start("one");
}

#[test]
fn whole_lines_that_the_history_has_lost_are_damage() {
    let (world, thread, good) = redone();
    world.mock(SCRIPT);
    world.uwf(&["thread", "poke", &thread]).exits(0);
    let path = file(&world, "history.jsonl");
    let both = world.state("history.jsonl");
    let blank = "\n".repeat(both.len());
    for left in [Some(good.as_str()), Some(""), Some(&blank), None] {
        match left {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let said = "of its lines: they were there when it was written last";
        for args in [
            &["thread", "steps", &thread][..],
            &["thread", "poke", &thread],
            &["thread", "start", "one", "-p", "x"],
            &["cas", "gc", "--dry-run"],
        ] {
            world.uwf(args).exits(4).says(said);
        }
        assert!(state_is_damaged(&world));
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), left);
        fs::write(&path, &both).unwrap();
        assert!(!state_is_damaged(&world));
    }
    fs::write(&path, &good).unwrap();
    let run = world.uwf(&["thread", "steps", &thread]).exits(4);
    run.follow_hint("rm ");
    world.uwf(&["thread", "poke", &thread]).exits(0);
}

#[test]
fn a_thread_is_found_however_its_id_is_spelled_in_the_history() {
    let world = world();
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let lower = thread.to_ascii_lowercase();
    let history = world.state("history.jsonl").replace(&thread, &lower);
    fs::write(file(&world, "history.jsonl"), history).unwrap();
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}
