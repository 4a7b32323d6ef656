//! Which workflow a word means: a hash, a file, a project's folder or the registry; and that `list`, `show`
//! and `start` mean the same.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::{ONE_STEP, Run, World};

/// The small workflow, told apart by its description.
fn described(description: &str) -> String {
    ONE_STEP.replace(
        "description: One step",
        &format!("description: {description}"),
    )
}

fn at(world: &World, dir: &Path, args: &[&str]) -> Run {
    let mut command = world.command(args);
    command.current_dir(dir).output().unwrap().into()
}

/// Returns the description of the workflow that a word means in a folder, for `show` and for `start`.
#[track_caller]
fn meant(world: &World, dir: &Path, word: &str) -> String {
    let shown = at(world, dir, &["workflow", "show", word]).exits(0).json();
    let started = at(world, dir, &["thread", "start", word, "-p", "x"]);
    assert_eq!(started.exits(0).json()["workflow"], shown["hash"]);
    shown["payload"]["description"].as_str().unwrap().to_owned()
}

fn listed(world: &World, dir: &Path) -> Value {
    at(world, dir, &["workflow", "list"]).exits(0).json()
}

#[test]
fn a_hash_a_path_a_local_name_and_a_registered_name_are_found_in_this_order() {
    let world = World::new();
    let project = world.project();
    world.put(&described("registered"));
    let hash = at(&world, &project, &["workflow", "show", "one"]).json();
    assert_eq!(meant(&world, &project, "one"), "registered");
    world.write(".workflow/one.yaml", &described("local"));
    assert_eq!(meant(&world, &project, "one"), "local");
    assert_eq!(meant(&world, &project, " one "), "local");
    world.write("other/one.yaml", &described("path"));
    assert_eq!(meant(&world, &project, "other/one.yaml"), "path");
    let absolute = project.join("other/one.yaml");
    assert_eq!(meant(&world, &project, absolute.to_str().unwrap()), "path");
    let hash = hash["hash"].as_str().unwrap();
    assert_eq!(meant(&world, &project, hash), "registered");
}

#[test]
fn a_workflow_of_the_project_is_stored_and_not_registered() {
    let world = World::new();
    world.write(".workflow/one.yaml", &described("local"));
    assert_eq!(meant(&world, &world.project(), "one"), "local");
    assert_eq!(world.state("registry.yaml"), "");
    let listed = listed(&world, &world.project());
    assert_eq!(listed[0]["name"], json!("one"));
    assert_eq!(listed[0]["hash"], json!("(local)"));
    assert_eq!(listed[0]["origin"], json!("local"));
}

#[test]
fn the_folders_of_a_project_are_searched_in_order() {
    let world = World::new();
    let project = world.project();
    let places = [
        ".workflows/one/index.yml",
        ".workflows/one/index.yaml",
        ".workflows/one.yml",
        ".workflows/one.yaml",
        ".workflow/one/index.yml",
        ".workflow/one/index.yaml",
        ".workflow/one.yml",
        ".workflow/one.yaml",
    ];
    for place in places {
        world.write(place, &described(place));
        assert_eq!(meant(&world, &project, "one"), place);
        let listed = listed(&world, &project);
        assert_eq!(listed.as_array().unwrap().len(), 1);
        assert!(listed[0]["path"].as_str().unwrap().ends_with(place));
    }
}

#[test]
fn parents_are_searched_up_to_the_root_of_the_repository_and_not_beyond() {
    let world = World::new();
    let inner = world.project().join("repo/a/b");
    fs::create_dir_all(&inner).unwrap();
    world.write(".workflow/one.yaml", &described("outside"));
    let repo = world.write("repo/.workflow/one.yaml", &described("repository"));
    let start = ["thread", "start", "one", "-p", "x"];
    at(&world, &inner, &start)
        .exits(1)
        .says("`one` was not found");
    fs::create_dir(world.project().join("repo/.git")).unwrap();
    assert_eq!(meant(&world, &inner, "one"), "repository");
    assert_eq!(listed(&world, &inner)[0]["path"], json!(repo));
    world.write("repo/a/.workflow/one.yaml", &described("nearer"));
    assert_eq!(meant(&world, &inner, "one"), "nearer");
    assert_eq!(listed(&world, &inner).as_array().unwrap().len(), 1);
    fs::remove_dir_all(world.project().join("repo/a/.workflow")).unwrap();
    fs::remove_dir_all(world.project().join("repo/.workflow")).unwrap();
    at(&world, &inner, &start).exits(1);
    assert_eq!(listed(&world, &inner), json!([]));
}

#[test]
fn list_shows_what_start_would_take() {
    let world = World::new();
    let project = world.project();
    world.put(&described("registered"));
    let two = described("two").replace("name: one", "name: two");
    let hash = world.put(&two);
    world.write(".workflow/one.yaml", &described("local"));
    world.write(".workflow/readme.md", "no workflow");
    world.write(".workflow/.hidden.yaml", "no workflow");
    fs::create_dir(project.join(".workflow/empty")).unwrap();
    let path = project.join(".workflow/one.yaml");
    let expected = json!([
        { "name": "one", "hash": "(local)", "origin": "local", "path": path },
        { "name": "two", "hash": hash, "origin": "global" },
    ]);
    assert_eq!(listed(&world, &project), expected);
}

#[test]
fn the_search_begins_where_the_command_runs_and_not_where_the_agents_work() {
    let world = World::new();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".workflow")).unwrap();
    fs::write(elsewhere.join(".workflow/one.yaml"), ONE_STEP).unwrap();
    let start = ["thread", "start", "one", "-p", "x", "--cwd"];
    let start = [&start[..], &[elsewhere.to_str().unwrap()]].concat();
    at(&world, &world.project(), &start).exits(1);
}

#[test]
fn a_broken_local_file_is_an_error_and_not_passed_over() {
    let world = World::new();
    world.put(ONE_STEP);
    world.write(".workflow/one.yaml", "name: one\n");
    let start = ["thread", "start", "one", "-p", "x"];
    at(&world, &world.project(), &start)
        .exits(1)
        .says("one.yaml:1:1");
}

#[test]
fn no_word_leads_out_of_the_folders() {
    let world = World::new();
    world.write("one.yaml", ONE_STEP);
    fs::create_dir(world.project().join(".workflow")).unwrap();
    for word in ["..", ".", "../one", "", " ", "index", ".one"] {
        let start = ["thread", "start", word, "-p", "x"];
        at(&world, &world.project(), &start).exits(1);
    }
    assert_eq!(world.state("threads.yaml"), "");
}

#[test]
fn a_hash_must_be_a_workflow() {
    let world = World::new();
    world.put(ONE_STEP);
    let start = ["thread", "start", "4EAEYQKFHTJ23", "-p", "x"];
    let run = at(&world, &world.project(), &start).exits(1);
    run.says("`4EAEYQKFHTJ23` is not a workflow");
    let start = ["thread", "start", "0000000000000", "-p", "x"];
    at(&world, &world.project(), &start)
        .exits(1)
        .says("0000000000000");
}

#[test]
fn a_workflow_that_is_not_found_is_compared_with_those_that_are() {
    let world = World::new();
    world.put(&described("registered").replace("name: one", "name: hello"));
    world.write(".workflow/deploy.yaml", &described("local"));
    world.write("ship.yaml", &described("a file"));
    for (word, near) in [
        ("helo", "hello"),
        ("deplyo", "deploy"),
        ("ship", "./ship.yaml"),
    ] {
        for call in [
            &["thread", "start", word, "-p", "x"][..],
            &["workflow", "show", word],
        ] {
            let run = world.uwf(call).exits(1);
            run.says(&format!("hint: did you mean `{near}`?"));
        }
    }
    let run = world.uwf(&["workflow", "show", "zzz"]).exits(1);
    run.says("hint: `uwf workflow list` shows what can be started");
}
