//! An import or a repair that is killed anywhere: the store is sound, and the same command goes on.

use std::fs;

use super::reader::Ledger;
use super::sweep::{kill_at, kill_at_many, kill_everywhere, restore, save};
use super::tracer::{Verdict, trace};
use crate::gc::node_file;
use crate::import_store::{everything, full_store};
use crate::store_care::{damage, nodes_of_head, repair};
use crate::travel::three_threads;
use crate::world::{REVIEW, World};

const SCRIPT: &str = "roles:\n  writer:\n    - output: { plan: p }\n";

/// A world without threads, with a bundle of one whose step was done again and one that was cancelled; and what its root
/// says in the end.
fn world_with_a_bundle() -> (World, Ledger) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(SCRIPT);
    let [poked, cancelled] = [(); 2].map(|()| world.start("review"));
    world.step(&poked).exits(0);
    world.uwf(&["thread", "poke", &poked]).exits(0);
    world.uwf(&["thread", "kill", &cancelled]).exits(0);
    let expected = Ledger::read(&world.root());
    world
        .uwf(&["thread", "export", "--all", "-o", "all.tar"])
        .exits(0);
    fs::remove_dir_all(world.root()).unwrap();
    world.put(REVIEW);
    (world, expected)
}

#[test]
fn an_import_that_is_killed_anywhere_goes_on() {
    let (world, expected) = world_with_a_bundle();
    let args = ["thread", "import", "all.tar"];
    let calls = kill_everywhere(&world, &args, " thread import ", |_| {
        world.uwf(&args).exits(0);
        let found = Ledger::read(&world.root());
        assert_eq!(found.threads, expected.threads);
        assert_eq!(found.active, expected.active);
        assert_eq!(found.replaced, expected.replaced);
    });
    // Each node is on the disk before the first thread is.
    let first = |start: &str| calls.iter().position(|call| call.starts_with(start));
    let last_node = calls
        .iter()
        .rposition(|call| call.starts_with("rename root/cas/"));
    let state = first("write root/history.jsonl").unwrap();
    assert!(last_node.unwrap() < state, "{calls:#?}");
}

#[test]
fn an_import_that_another_one_overtakes_is_busy_and_goes_on_later() {
    let (world, expected) = world_with_a_bundle();
    let args = ["thread", "import", "all.tar"];
    let is_active = |world: &World| world.root().join("threads.yaml").exists();
    let mut is_overtaken = false;
    let traced = trace(&world, &args, |point| {
        // It has planned to add both threads. From the lock on, another import waits.
        if !is_overtaken && point.call == "lock root/locks/shared" {
            is_overtaken = true;
            assert!(!is_active(&world));
            world.uwf(&args).exits(0);
        }
        Verdict::GoOn
    });
    assert_eq!(
        traced.code,
        Some(5),
        "{}{:#?}",
        traced.stderr,
        traced.points
    );
    assert!(traced.stdout.contains("\"busy\""), "{}", traced.stdout);
    world.uwf(&args).exits(0);
    assert_eq!(Ledger::read(&world.root()).threads, expected.threads);
}

#[test]
fn an_import_of_a_store_that_is_killed_anywhere_goes_on() {
    let world = World::new();
    world.put(REVIEW);
    let store = full_store(&world);
    let source = everything(&store);
    let args = ["import-store", store.to_str().unwrap()];
    kill_at_many(&world, &args, " import-store ", |_| {
        world.uwf(&args).exits(0);
        assert_eq!(Ledger::read(&world.root()).threads.len(), 3);
        assert!(world.state("registry.yaml").contains("mini"));
        assert_eq!(everything(&store), source);
    });
}

#[test]
fn a_repair_that_is_killed_anywhere_goes_on() {
    let (world, threads) = three_threads();
    world
        .uwf(&["thread", "export", "--all", "-o", "all.tar"])
        .exits(0);
    let before = Ledger::read(&world.root());
    let hurt = nodes_of_head(&world, &threads[0]);
    damage(&world, &hurt);
    save(&world);
    let args = ["cas", "repair", "--from", "all.tar"];
    let mut calls = Vec::new();
    loop {
        let traced = kill_at(&world, &args, " cas repair ", calls.len(), Verdict::Kill);
        let Some(point) = traced.killed() else { break };
        // Nothing is deleted: each damaged file is in its place or in quarantine.
        for hash in &hurt {
            let kept = world
                .root()
                .join("cas/quarantine")
                .join(format!("{hash}.bin"));
            assert!(
                kept.exists() || node_file(&world, hash).exists(),
                "{hash}: {point:?}"
            );
        }
        repair(&world, &["--from", "all.tar"]).exits(0);
        Ledger::read(&world.root()).keeps(&before);
        for hash in &hurt {
            let kept = world
                .root()
                .join("cas/quarantine")
                .join(format!("{hash}.bin"));
            assert!(kept.exists(), "{hash}: {point:?}");
        }
        calls.push(point.call.clone());
        restore(&world);
    }
    let moved = calls.iter().filter(|call| call.contains("quarantine"));
    assert!(moved.count() >= 3, "{calls:#?}");
}
