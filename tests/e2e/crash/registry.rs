//! The commands that change names of workflows are killed before each of their system calls.

use std::collections::BTreeSet;

use super::commands::was_killed_before;
use super::sweep::kill_everywhere;
use crate::world::{ONE_STEP, World};

const WORKFLOW: &str = " workflow ";

/// Kills a command everywhere in a world in which `one` stood for two workflows. After each kill, the name stands for what
/// it stood for before or for the result, no version is lost, and the same command can be repeated.
fn sweep(args: &[&str], repeated: &[i32], result: impl Fn(&str, &str) -> String) -> Vec<String> {
    let world = World::new();
    let old = world.put(ONE_STEP);
    let new = world.put(&ONE_STEP.replacen("goal: ", "goal: NOW ", 1));
    world.write("one.yaml", ONE_STEP);
    let before = format!("one: {new}\n");
    let after = result(&old, &new);
    let mut seen = BTreeSet::new();
    let calls = kill_everywhere(&world, args, WORKFLOW, |_| {
        let registry = world.state("registry.yaml");
        assert!([&before, &after].contains(&&registry), "{registry}");
        seen.insert(registry == after);
        world.uwf(&["workflow", "list"]).exits(0);
        let again = world.uwf(args);
        assert!(repeated.contains(&again.code), "{}", again.stderr);
        let history = world.uwf(&["workflow", "history", "one"]).exits(0).stdout;
        assert!(
            history.contains(&old) && history.contains(&new),
            "{history}"
        );
        for version in [&old, &new] {
            world
                .uwf(&["workflow", "rollback", "one", version])
                .exits(0);
            assert_eq!(world.state("registry.yaml"), format!("one: {version}\n"));
        }
    });
    assert_eq!(seen.len(), 2, "both sides of the change were seen");
    was_killed_before(&calls, "rename root/.uwf-temp-");
    calls
}

#[test]
fn a_registration_that_is_killed_anywhere_loses_no_version() {
    let args = ["workflow", "put", "one.yaml"];
    let calls = sweep(&args, &[0], |old, _| format!("one: {old}\n"));
    was_killed_before(&calls, "write root/registry.history.jsonl");
}

#[test]
fn a_removal_of_a_name_that_is_killed_anywhere_loses_no_version() {
    let calls = sweep(&["workflow", "rm", "one"], &[0, 1], |_, _| {
        "{}\n".to_owned()
    });
    was_killed_before(&calls, "write root/registry.history.jsonl");
}

#[test]
fn a_rollback_that_is_killed_anywhere_loses_no_version() {
    sweep(&["workflow", "rollback", "one", "1"], &[0], |old, _| {
        format!("one: {old}\n")
    });
}
