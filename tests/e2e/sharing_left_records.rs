//! Records that threads are shared which are not here any more: they keep no other thread from being fetched, and can be removed.

use std::fs;

use serde_json::json;

use crate::postgres::{Server, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{machines_in, shared, with_server};
use crate::world::World;

/// Moves a thread away from the root, as the hint of a lost thread says, so that only the record of it is left.
pub(crate) fn move_away(world: &World, thread: &str) {
    let heads = world.root().join("threads.yaml");
    let lines = fs::read_to_string(&heads).unwrap();
    let others = lines.lines().filter(|line| !line.starts_with(thread));
    let others: String = others.map(|line| format!("{line}\n")).collect();
    fs::write(&heads, others).unwrap();
    let run = world.root().join("runs").join(thread);
    fs::rename(&run, run.with_extension("forgotten")).unwrap();
}

/// Puts an empty remote in the place of that of a machine.
fn replace_by_empty(server: &Server, world: &World, schema: &str) {
    let status = world.uwf(&["remote", "status"]).exits(0).json();
    let lost = status["store"].as_str().unwrap();
    Admin::new(&server.url()).run(&format!("DROP SCHEMA {schema} CASCADE"));
    let url = server.url();
    let add = ["remote", "add", &url, "--schema", schema];
    world.uwf(&add).exits(0);
    world
        .uwf(&[&add[..], &["--replaces", lost]].concat())
        .exits(0);
}

#[test]
fn a_record_of_a_thread_that_is_nowhere_is_removed_by_the_command_that_the_fetch_names() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, _] = &machines;
        let (stays, lost) = (shared(&machines, "again"), shared(&machines, "again"));
        move_away(one, &lost);
        replace_by_empty(server, one, &schema);
        one.uwf(&["push", "--all"]).exits(0);
        let remove = format!("`uwf thread rm {lost}`");
        for fetch in [&["fetch"][..], &["fetch", &lost, &stays]] {
            let fetched = one.uwf(fetch).exits(1);
            assert_eq!(fetched.json()[0]["thread"], json!(stays));
            fetched.says("neither here nor at the remote").says(&remove);
        }
        one.uwf(&["fetch", "--all"]).exits(0);
        let removed = one.uwf(&["thread", "rm", &lost]).exits(0).json();
        assert_eq!(removed, json!({ "thread": lost, "removed": true }));
        one.uwf(&["fetch"]).exits(0);
        one.uwf(&["thread", "rm", &lost]).exits(1);
        one.step(&stays).exits(0);
    });
}

#[test]
fn a_damaged_record_of_a_thread_that_is_not_here_is_removed_too() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let (stays, lost) = (shared(&machines, "again"), shared(&machines, "again"));
        move_away(one, &lost);
        let record = one.root().join("shared").join(format!("{lost}.json"));
        fs::write(&record, "{").unwrap();
        for fetch in [&["fetch"][..], &["fetch", "--all"]] {
            let fetched = one.uwf(fetch);
            assert_ne!(fetched.code, 0, "{}", fetched.stderr);
            assert_eq!(fetched.json()[0]["thread"], json!(stays));
        }
        one.uwf(&["thread", "rm", &lost]).exits(0);
        assert!(!record.exists());
        one.uwf(&["fetch", "--all"]).exits(0);
        one.step(&lost).exits(0);
    });
}
