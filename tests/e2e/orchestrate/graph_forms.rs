//! What commands about a workflow file print, whatever the format, and when the file cannot be used.

use serde_json::json;

use super::threads::thread_of;
use crate::world::World;

const FLOW: &str = "steps: [{name: A, command: ['true']}]";

#[test]
fn a_graph_is_printed_in_the_format_that_every_command_has() {
    let world = World::new();
    world.write("p.yaml", FLOW);
    let graph = |format: &[&str]| {
        let args = [format, &["orchestrate", "graph", "p.yaml"]].concat();
        world.uwf(&args).exits(0).stdout
    };
    assert!(graph(&[]).starts_with("flowchart TD"));
    assert_eq!(graph(&["--format", "text"]), graph(&[]));
    assert!(graph(&["--format", "json"]).starts_with('{'));
    assert!(graph(&["--format", "yaml"]).starts_with("name: p\n"));
}

#[test]
fn a_dry_run_of_an_unusable_file_tells_programs_so() {
    let world = World::new();
    world.write("bad.yaml", "steps: 5");
    for file in ["bad.yaml", "none.yaml"] {
        let args = ["orchestrate", "run", file, "--dry-run", "--json"];
        let told = world.uwf(&args).exits(2).json();
        assert_eq!(told["run_id"], json!(null));
        assert_eq!(told["exit_code"], 2);
    }
    world.write("bad.yaml", FLOW);
    let args = ["orchestrate", "run", "bad.yaml", "--dry-run", "--json"];
    world.uwf(&args).exits(0);
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_reason() {
    let world = World::new();
    // Not even root can read what is below a file.
    world.write("file", "");
    let file = "file/p.yaml";
    for args in [
        &["run", file][..],
        &["validate", file],
        &["graph", file],
        &["status-json", "validate", file],
        &["task", "list", "--workflow", file],
    ] {
        let said = world
            .uwf(&[&["orchestrate"], args].concat())
            .exits(2)
            .stderr;
        assert!(said.contains("cause: Not a directory"), "{args:?}: {said}");
    }
}

#[test]
fn a_status_file_may_begin_with_a_mark_and_is_not_cut_without_a_word() {
    let world = World::new();
    let status = "{\"schema\": \"status/v1\", \"timestamp\": \"2026-01-01T00:00:00Z\", \"success\": true, \"exit_code\": 0, \"message\": \"m\"}";
    let check = |text: &str| {
        world.write("status.json", text);
        world.uwf(&["orchestrate", "status-json", "validate", "status.json"])
    };
    check(status).exits(0);
    check(&format!("\u{feff}{status}")).exits(0);
    let large = status.replace("\"m\"", &format!("\"{}\"", "m".repeat(4 << 20)));
    check(&large)
        .exits(2)
        .says("`status.json` is larger than 4 MiB");
}

#[test]
fn a_migration_of_a_run_that_has_ended_proposes_a_new_run() {
    let world = World::new();
    world.write("p.yaml", FLOW);
    world
        .uwf(&["orchestrate", "run", "p.yaml", "--run-id", "r"])
        .exits(0);
    let thread = thread_of(&world, "r");
    let said = world
        .uwf(&["thread", "migrate", &thread, "p.yaml"])
        .exits(7);
    let proposed = format!("uwf orchestrate resume {thread} --force-restart");
    said.says(&format!("`{proposed}`"));
    let words: Vec<&str> = proposed.split(' ').skip(1).collect();
    world.uwf(&words).exits(0);
}
