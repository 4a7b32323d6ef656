//! The options that choose threads.

use serde_json::json;

use crate::world::{ONE_STEP, REVIEW, Run, World};

/// Returns a world with threads of two workflows, oldest first: `one`, `review` in another folder, and a second version of
/// `one`, which has ended.
fn world() -> (World, [String; 3]) {
    let world = World::new();
    world.put(ONE_STEP);
    world.put(REVIEW);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let start = |workflow: &str, options: &[&str]| {
        let args = [&["thread", "start", workflow, "-p", "x"], options].concat();
        let started = world.uwf(&args).exits(0).json();
        started["thread"].as_str().unwrap().to_owned()
    };
    let first = start("one", &["--label", "team=web", "--label", "env=prod"]);
    let second = start("review", &["--label", "team=core", "--cwd", ".."]);
    world.put(&ONE_STEP.replace("You write.", "You write well."));
    let third = start("one", &["--label", "team=web"]);
    world.step(&third).exits(0);
    (world, [first, second, third])
}

fn list(world: &World, options: &[&str]) -> Run {
    world.uwf(&[&["thread", "list"], options].concat())
}

#[track_caller]
fn lists(world: &World, options: &[&str], threads: &[&String]) {
    let listed = list(world, options).exits(0).json();
    let listed = listed.as_array().unwrap().iter();
    let listed: Vec<_> = listed.map(|one| one["thread"].clone()).collect();
    assert_eq!(json!(listed), json!(threads), "{options:?}");
}

#[test]
fn threads_are_chosen_by_workflow_label_and_folder() {
    let (world, [first, second, third]) = world();
    lists(&world, &[], &[&second, &first]);
    lists(&world, &["--workflow", "one"], &[&first]);
    lists(&world, &["--workflow", "one", "--all"], &[&third, &first]);
    let hash = world.show(&third)["workflow"].clone();
    let hash = hash.as_str().unwrap();
    lists(&world, &["--workflow", hash, "--all"], &[&third]);
    lists(&world, &["--workflow", &hash[..8], "--all"], &[&third]);
    lists(&world, &["--label", "team"], &[&second, &first]);
    lists(&world, &["--label", "team=web", "--all"], &[&third, &first]);
    let both = ["--label", "team=web", "--label", "env", "--all"];
    lists(&world, &both, &[&first]);
    lists(&world, &["--label", "team=none"], &[]);
    world.uwf(&["thread", "rename", &first, "fix-1"]).exits(0);
    world.uwf(&["thread", "rename", &third, "fix-23"]).exits(0);
    lists(&world, &["--name", "fix-*", "--all"], &[&third, &first]);
    lists(&world, &["--name", "fix-1"], &[&first]);
    lists(&world, &["--name", "fix-?", "--label", "env"], &[&first]);
    lists(&world, &["--name", "fix", "--all"], &[]);
    lists(&world, &["--here", "--all"], &[&third, &first]);
    lists(&world, &["--here", "--status", "completed"], &[&third]);
    lists(&world, &["--all", "--limit", "2"], &[&third, &second]);
    lists(
        &world,
        &["--all", "--take", "1", "--here", "--skip", "1"],
        &[&first],
    );
    let text = list(&world, &["--label", "none", "--format", "text"]).exits(0);
    assert!(
        text.stdout.starts_with("no thread matches"),
        "{}",
        text.stdout
    );
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    let (world, _) = world();
    let unknown = list(&world, &["--workflow", "revew"]).exits(1);
    unknown
        .says("workflow `revew` was not found")
        .says("did you mean `review`?");
    list(&world, &["--label", "a b"])
        .exits(2)
        .says("is not a label");
    list(&world, &["--limit", "0"]).exits(2).says("from 1");
}

#[test]
fn a_workflow_that_lost_its_name_is_still_found_by_it() {
    let (world, [first, ..]) = world();
    std::fs::remove_file(world.root().join("registry.yaml")).unwrap();
    std::fs::remove_file(world.root().join("locks/registry.yaml")).unwrap();
    lists(&world, &["--workflow", "one"], &[&first]);
}

#[test]
fn a_thread_that_cannot_be_read_is_named_where_it_may_belong() {
    let (world, [first, second, _]) = world();
    let head = world.show(&first)["head"].as_str().unwrap().to_owned();
    std::fs::write(world.root().join(format!("cas/{head}.bin")), "x").unwrap();
    list(&world, &["--workflow", "review"])
        .exits(0)
        .says(&first);
    let listed = list(&world, &["--label", "team=core", "--here"]).exits(0);
    assert_eq!((listed.json(), &*listed.stderr), (json!([]), ""));
    // Threads that other options leave out are not read.
    let listed = list(&world, &["--label", "team=core"]).exits(0);
    assert_eq!(listed.json()[0]["thread"], json!(second));
    assert_eq!(listed.stderr, "");
}

#[test]
fn ended_threads_are_pruned_by_workflow_name_label_and_folder() {
    let (world, [first, second, third]) = world();
    for thread in [&first, &second] {
        world.uwf(&["thread", "kill", thread]).exits(0);
    }
    world
        .uwf(&["thread", "rename", &second, "night-1"])
        .exits(0);
    let prune = |options: &[&str]| {
        let args = [&["thread", "prune", "--ended"], options].concat();
        let pruned = world.uwf(&args).exits(0).json();
        let threads = pruned["threads"].as_array().unwrap().iter();
        let mut threads: Vec<_> = threads.map(|one| one["thread"].clone()).collect();
        threads.sort_by_key(ToString::to_string);
        json!(threads)
    };
    let looks = |options: &[&str], threads: &[&String]| {
        let options = [&["--dry-run"], options].concat();
        assert_eq!(prune(&options), json!(threads), "{options:?}");
    };
    looks(&[], &[&first, &second, &third]);
    looks(&["--workflow", "one"], &[&first, &third]);
    looks(&["--workflow", "one", "--status", "cancelled"], &[&first]);
    looks(&["--label", "team=web"], &[&first, &third]);
    looks(&["--label", "team", "--label", "env=prod"], &[&first]);
    looks(&["--name", "night-*"], &[&second]);
    looks(&["--here"], &[&first, &third]);
    let wrong = ["thread", "prune", "--ended", "--workflow", "on"];
    world.uwf(&wrong).exits(1).says("did you mean `one`?");
    assert_eq!(prune(&["--label", "team=web"]), json!([&first, &third]));
    lists(&world, &["--all"], &[&second]);
}
