//! Commands that pause and remove threads are killed before many of their system calls: a thread is there as it was, or
//! gone; and readers are never told that something is lost.

use serde_json::json;

use super::commands::{was_killed_before, world};
use super::reader::Ledger;
use super::sweep::{kill_at_many, kill_before, kill_everywhere};
use super::tracer::{Verdict, trace};
use crate::gates::NOTE;
use crate::resumes::again;
use crate::world::{ONE_STEP, REVIEW, World};

const PLANNED: &str = "roles:\n  writer:\n    - output: { plan: p }\n";
const COMMAND: &str = " thread ";

/// Asserts that nothing looks lost, and tells whether the thread is there.
#[track_caller]
fn is_there(world: &World, thread: &str) -> bool {
    let listed = world.uwf(&["thread", "list", "--all"]).exits(0);
    assert_eq!(listed.stderr, "");
    world.uwf(&["cas", "gc", "--dry-run"]).exits(0);
    let is_listed = listed.stdout.contains(thread);
    let shown = world.uwf(&["thread", "show", thread]);
    let shown = shown.exits(if is_listed { 0 } else { 1 });
    assert!(is_listed || shown.stderr.contains("was removed"));
    is_listed
}

/// Removes a thread, killed anywhere, and again. Another thread must stay as it is and go on.
fn removed_anywhere(world: &World, thread: &str, args: &[&str], other: &str) -> Vec<String> {
    let [before, beside] = [thread, other].map(|thread| world.show(thread));
    let mut seen = std::collections::BTreeSet::new();
    let calls = kill_at_many(world, args, COMMAND, |_| {
        let there = is_there(world, thread);
        seen.insert(there);
        if there {
            assert_eq!(world.show(thread), before);
        }
        assert_eq!(world.show(other), beside);
        // The same command finishes what was begun.
        let again = world.uwf(args);
        assert!([0, 1].contains(&again.code), "{}", again.stderr);
        assert!(!is_there(world, thread));
        assert!(!world.root().join("runs").join(thread).exists());
        let history = world.state("history.jsonl");
        assert_eq!(history.matches(thread).count(), 1, "{history}");
        world.uwf(&["doctor"]).exits(0);
        world.step(other).exits(0);
    });
    assert_eq!(seen.len(), 2, "both sides of the change were seen");
    was_killed_before(&calls, "write root/history.jsonl");
    was_killed_before(&calls, "remove");
    calls
}

#[test]
fn a_removal_of_an_ended_thread_that_is_killed_anywhere_leaves_it_whole_or_gone() {
    let (world, thread) = world(ONE_STEP, NOTE);
    world.step(&thread).exits(0);
    let other = world.start("one");
    removed_anywhere(&world, &thread, &["thread", "rm", &thread], &other);
}

#[test]
fn a_removal_of_an_active_thread_that_is_killed_anywhere_leaves_it_whole_or_gone() {
    // The thread ended once, went on, and a step of it was done again: it has lines in both files.
    let (world, _) = world(REVIEW, PLANNED);
    let thread = world.start("review");
    world.step(&thread).exits(0);
    world.uwf(&["thread", "poke", &thread]).exits(0);
    let other = world.start("review");
    let args = ["thread", "rm", "--force", &thread];
    let calls = removed_anywhere(&world, &thread, &args, &other);
    was_killed_before(&calls, "rename root/.uwf-temp-");
}

#[test]
fn a_removal_of_a_thread_with_an_earlier_end_that_is_killed_anywhere_leaves_it_whole_or_gone() {
    let (world, _) = world(&again(), NOTE);
    let thread = world.start("again");
    world.step(&thread).exits(0);
    world.uwf(&["thread", "resume", &thread]).exits(0);
    let other = world.start("again");
    removed_anywhere(&world, &thread, &["thread", "rm", &thread], &other);
}

#[test]
fn a_pruning_that_is_killed_anywhere_leaves_each_thread_whole_or_gone() {
    let (world, first) = world(ONE_STEP, NOTE);
    world.step(&first).exits(0);
    let second = world.start("one");
    world.uwf(&["thread", "kill", &second]).exits(0);
    let other = world.start("one");
    let beside = world.show(&other);
    let args = ["thread", "prune", "--ended"];
    let calls = kill_everywhere(&world, &args, COMMAND, |_| {
        let there = [&first, &second].map(|thread| is_there(&world, thread));
        assert_eq!(there[0], there[1], "one change removes both");
        assert_eq!(world.show(&other), beside);
        let again = world.uwf(&args).exits(0).json();
        assert_eq!(again["removed"], json!(if there[0] { 2 } else { 0 }));
        for thread in [&first, &second] {
            assert!(!is_there(&world, thread));
            assert!(!world.root().join("runs").join(thread).exists());
        }
        world.uwf(&["doctor"]).exits(0);
        world.step(&other).exits(0);
    });
    let changes = |start: &str| {
        let is_one =
            |call: &&String| call.starts_with(start) && call.ends_with(" root/history.jsonl");
        calls.iter().filter(is_one).count()
    };
    assert_eq!(["write ", "rename "].map(changes), [1, 1], "{calls:#?}");
    // The seal of the shorter file is on the disk before the file is: otherwise lines would seem to be lost.
    let after = |from: usize, start: &str, end: &str| {
        let is_it = |call: &String| call.starts_with(start) && call.ends_with(end);
        let found = calls[from..].iter().position(is_it);
        from + found.unwrap_or_else(|| panic!("no `{start}…{end}` from {from}: {calls:#?}"))
    };
    let sealed = after(0, "rename ", " root/locks/state.seal");
    let synced = after(sealed, "sync ", " root/locks");
    let renamed = after(synced, "rename ", " root/history.jsonl");
    after(renamed, "remove ", "");
}

#[test]
fn a_thread_whose_removal_was_interrupted_goes_on_and_ends_as_others_do() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let args = ["thread", "rm", "--force", &thread];
    kill_before(&world, &args, COMMAND, |call| {
        call.starts_with("rename ") && call.ends_with(" root/threads.yaml")
    });
    assert!(world.state("history.jsonl").contains("removed"));
    world.step(&thread).exits(0);
    let cancelled = world.start("one");
    world.uwf(&["thread", "kill", &cancelled]).exits(0);
    let folder = world.root().join("runs").join(&thread);
    let prune = ["thread", "prune", "--ended", "--status"];
    for (status, is_left) in [("cancelled", true), ("completed", false)] {
        let pruned = world.uwf(&[&prune[..], &[status]].concat()).exits(0);
        assert_eq!(pruned.json()["removed"], json!(1));
        assert_eq!(is_there(&world, &thread), is_left);
        assert_eq!(folder.exists(), is_left);
    }
}

#[test]
fn readers_find_each_thread_whole_or_gone_while_it_is_removed() {
    let (world, thread) = world(ONE_STEP, NOTE);
    world.step(&thread).exits(0);
    let other = world.start("one");
    let mut seen = Vec::new();
    let args = ["thread", "rm", "--force", &other, &thread];
    let traced = trace(&world, &args, |_| {
        let there = [&other, &thread].map(|thread| is_there(&world, thread));
        if seen.last() != Some(&there) {
            seen.push(there);
        }
        Verdict::GoOn
    });
    assert_eq!(traced.code, Some(0), "{}", traced.stderr);
    assert_eq!(seen, [[true, true], [false, true], [false, false]]);
}

#[test]
fn a_pause_that_is_killed_anywhere_is_whole_or_not_made() {
    let (world, thread) = world(ONE_STEP, NOTE);
    let args = ["thread", "pause", &thread, "-m", "why"];
    let mut seen = std::collections::BTreeSet::new();
    let calls = kill_at_many(&world, &args, COMMAND, |_| {
        let reason = world.show(&thread)["paused"]["reason"].clone();
        seen.insert(reason == json!("why"));
        assert!(reason.is_null() || reason == json!("why"), "{reason}");
        world.uwf(&args).exits(0);
        world.step(&thread).exits(6);
        world.uwf(&["thread", "unpause", &thread]).exits(0);
        world.step(&thread).exits(0);
    });
    assert_eq!(seen.len(), 2, "{calls:?}");
}

#[test]
fn an_end_of_a_pause_that_is_killed_anywhere_can_be_repeated() {
    let (world, thread) = world(ONE_STEP, NOTE);
    world.uwf(&["thread", "pause", &thread]).exits(0);
    let args = ["thread", "unpause", &thread];
    let calls = kill_at_many(&world, &args, COMMAND, |_| {
        world.uwf(&args).exits(0);
        world.step(&thread).exits(0);
        Ledger::read(&world.root());
    });
    was_killed_before(&calls, "remove root/runs/");
}
