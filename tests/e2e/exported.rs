//! Workflows whose roles other workflows play, and that are taken to another root.

use std::fs;

use serde_json::json;

use crate::world::{ONE_STEP, Run, World};

/// Returns a workflow of one role for each of these, which play one after the other.
fn playing(name: &str, roles: &[(&str, &str)]) -> String {
    let mut yaml = format!("name: {name}\nroles:\n");
    for (role, work) in roles {
        yaml += &format!("  {role}:\n    goal: It is done.\n    {work}\n");
    }
    yaml += "graph:\n";
    let froms = ["$START"]
        .into_iter()
        .chain(roles.iter().map(|role| role.0));
    let tos = roles.iter().map(|role| role.0).chain(["$END"]);
    for (from, to) in froms.zip(tos) {
        yaml += &format!("  {from}: {{ _: {{ role: {to}, prompt: Go. }} }}\n");
    }
    yaml
}

const WRITES: &str =
    "frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }";

/// A world with `outer`, which plays two versions of `inner`, and `middle`, which plays the newer one, too. Returns the hash
/// of `outer`.
fn nested() -> (World, String) {
    let world = World::new();
    let old = world.put(&playing("inner", &[("write", WRITES)]));
    world.put(&playing("inner", &[("write", WRITES), ("again", WRITES)]));
    world.put(&playing(
        "middle",
        &[("inner", "workflow: inner"), ("write", WRITES)],
    ));
    let by_hash = format!("workflow: {old}");
    let branches = "branches: { one: { workflow: middle }, two: { workflow: inner } }";
    let outer = [
        ("newer", "workflow: middle"),
        ("older", by_hash.as_str()),
        ("both", branches),
    ];
    let outer = playing("outer", &outer).replace(
        "both: { _:",
        "both: { done: { role: $END, prompt: '' }, failed:",
    );
    let outer = world.put(&outer);
    fs::create_dir(world.project().join("out")).unwrap();
    (world, outer)
}

/// Runs a command in another root, which is empty at first.
fn there(world: &World, args: &[&str]) -> Run {
    let root = world.dir().join("elsewhere");
    world.uwf(&[&["--root", root.to_str().unwrap()], args].concat())
}

fn export(world: &World, workflow: &str) -> Run {
    world.uwf(&["workflow", "export", workflow, "-o", "out/outer.yaml"])
}

#[test]
fn a_workflow_is_exported_with_those_that_play_its_roles_and_is_the_same_in_another_root() {
    let (world, hash) = nested();
    export(&world, "outer")
        .exits(0)
        .says("`out/middle.yaml` is written, too")
        .says("`out/inner.yaml` is written, too");
    let put = there(&world, &["workflow", "put", "out/outer.yaml"]).exits(0);
    assert_eq!(put.json()["hash"], json!(hash));
    // Only what was named is registered; what plays its roles is in the store.
    let list = there(&world, &["workflow", "list"]).exits(0).json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    there(&world, &["thread", "start", "outer", "-p", "the task"]).exits(0);
    there(&world, &["cas", "verify"]).exits(0);
    // The same again changes nothing, and is no mistake.
    export(&world, &hash).exits(0);
    // A file that is not registered is written out in the same way.
    let again = [
        "workflow",
        "export",
        "out/outer.yaml",
        "-o",
        "again/outer.yaml",
    ];
    fs::create_dir(world.project().join("again")).unwrap();
    there(&world, &again).exits(0);
    let put = there(&world, &["workflow", "put", "again/outer.yaml"]).exits(0);
    assert_eq!(put.json()["hash"], json!(hash));
}

#[test]
fn an_export_overwrites_no_file_that_nobody_named() {
    let (world, _) = nested();
    world.write("out/middle.yaml", "mine");
    export(&world, "outer")
        .exits(1)
        .says("`out/middle.yaml` is there already with other content")
        .says("`-o export/outer.yaml`");
    let elsewhere = ["workflow", "export", "outer", "-o", "export/outer.yaml"];
    world.uwf(&elsewhere).exits(0);
    assert_eq!(
        fs::read_dir(world.project().join("out")).unwrap().count(),
        1
    );
}

#[test]
fn a_text_that_names_workflows_by_hash_says_so() {
    let (world, hash) = nested();
    let printed = world.uwf(&["workflow", "export", "outer"]).exits(0);
    let printed = printed.says("`-o outer.yaml` writes them, too");
    world.write("outer.yaml", &printed.stdout);
    let put = world.uwf(&["workflow", "put", "outer.yaml"]).exits(0);
    assert_eq!(put.json()["hash"], json!(hash));
    there(&world, &["workflow", "put", "outer.yaml"]).exits(1);
    // A file is printed as it names others.
    let file = ["workflow", "export", "outer.yaml"];
    assert!(!world.uwf(&file).exits(0).stderr.contains("warning"));
    world.put(ONE_STEP);
    let alone = world.uwf(&["workflow", "export", "one"]).exits(0);
    assert_eq!(alone.stderr, "");
}

#[test]
fn a_workflow_that_came_with_a_thread_is_started_by_its_hash_and_registered_by_its_file() {
    let (world, hash) = nested();
    let thread = world.start("outer");
    world
        .uwf(&["thread", "export", &thread, "-o", "all.tar"])
        .exits(0);
    there(&world, &["thread", "import", "all.tar"]).exits(0);
    world.write(
        "answers.yaml",
        "roles:\n  write: [{ output: { note: n } }]\n  again: [{ output: { note: n } }]\n",
    );
    let run = [
        "run",
        &hash,
        "-p",
        "the task",
        "--agent",
        "uwf-mock answers.yaml",
    ];
    there(&world, &run).exits(0);
    assert_eq!(
        there(&world, &["thread", "show", "@"]).exits(0).json()["status"],
        "completed"
    );
    there(&world, &["thread", "start", "outer", "-p", "x"]).exits(1);
    let export = ["workflow", "export", &hash, "-o", "out/outer.yaml"];
    there(&world, &export).exits(0);
    let put = there(&world, &["workflow", "put", "out/outer.yaml"]).exits(0);
    assert_eq!(put.json()["hash"], json!(hash));
    there(&world, &["thread", "start", "outer", "-p", "x"]).exits(0);
}
