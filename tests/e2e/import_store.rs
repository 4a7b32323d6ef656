//! A store of the reference program that is taken over: its threads and names arrive whole, from every form in which the
//! program kept them, and nothing of it changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::compat::{
    ID_A, ID_B, ID_C, MINI, MINI_FIRST, MINI_HEAD, MINI_START, SHIFTED, copy_nodes,
};
use crate::gc::text;
use crate::golden::Transcript;
use crate::world::{ONE_STEP, REVIEW, Run, World, fixture};

/// The tables as the program makes them.
const TABLES: &str = "
    CREATE TABLE variables (name TEXT NOT NULL, schema TEXT NOT NULL, value TEXT NOT NULL,
        created INTEGER NOT NULL, updated INTEGER NOT NULL, PRIMARY KEY (name, schema));
    CREATE TABLE variable_tags (variable_name TEXT NOT NULL, variable_schema TEXT NOT NULL, key TEXT NOT NULL,
        value TEXT NOT NULL, PRIMARY KEY (variable_name, variable_schema, key));";

/// What the head of a thread is typed by does not matter here.
const TYPE: &str = "CTS5P6RD8HMCS";

/// A folder with the nodes of the reference program and no state.
pub(crate) fn nodes(world: &World) -> PathBuf {
    let dir = world.dir().join("ocas");
    copy_nodes(&fixture("store/cas"), &dir);
    dir
}

/// Makes the database of a store.
pub(crate) fn database(dir: &Path) -> Connection {
    let database = Connection::open(dir.join("variables.db")).unwrap();
    database.execute_batch(TABLES).unwrap();
    database
}

/// Adds a variable with its tags.
pub(crate) fn set(database: &Connection, name: &str, value: &str, tags: &[(&str, &str)]) {
    let sql = "INSERT INTO variables VALUES (?1, ?2, ?3, 1780444833000, 1780444833000)";
    database.execute(sql, (name, TYPE, value)).unwrap();
    for (key, tag) in tags {
        let sql = "INSERT INTO variable_tags VALUES (?1, ?2, ?3, ?4)";
        database.execute(sql, (name, TYPE, key, tag)).unwrap();
    }
}

/// Adds a thread that is suspended, one that was completed, one that was cancelled, and the name of their workflow.
fn fill(database: &Connection) {
    let suspended = [
        ("suspendedRole", "worker"),
        ("suspendMessage", "Which one?"),
    ];
    set(
        database,
        &format!("@uwf/thread/{ID_A}"),
        MINI_FIRST,
        &suspended,
    );
    let ended = |reason| {
        [
            ("workflow", MINI),
            ("completedAt", "1780444833000"),
            ("reason", reason),
        ]
    };
    set(
        database,
        &format!("@uwf/history/{SHIFTED}"),
        MINI_HEAD,
        &ended("completed"),
    );
    set(
        database,
        &format!("@uwf/history/{ID_B}"),
        MINI_START,
        &ended("cancelled"),
    );
    set(database, "@uwf/registry/mini", MINI, &[]);
    set(database, "@ocas/other", MINI, &[]);
}

/// A store of the newest form.
pub(crate) fn full_store(world: &World) -> PathBuf {
    let dir = nodes(world);
    fill(&database(&dir));
    dir
}

pub(crate) fn import(world: &World, dir: &Path) -> Run {
    world.uwf(&["import-store", dir.to_str().unwrap()])
}

/// Imports from a root whose nodes are elsewhere.
fn import_from_two(world: &World, root: &Path, store: &Path) -> Run {
    let (root, store) = (root.to_str().unwrap(), store.to_str().unwrap());
    world.uwf(&["import-store", root, "--cas", store])
}

/// Returns what happened to the threads or the workflows.
pub(crate) fn outcomes(run: &Run, what: &str) -> BTreeMap<String, String> {
    let result = run.json();
    let key = if what == "threads" { "thread" } else { "name" };
    let items = result[what].as_array().unwrap().iter();
    let outcome = |one: &Value| (text(&one[key]), text(&one["outcome"]));
    items.map(outcome).collect()
}

fn all(outcome: &str, names: &[&str]) -> BTreeMap<String, String> {
    let pair = |name: &&str| ((*name).to_owned(), outcome.to_owned());
    names.iter().map(pair).collect()
}

/// Returns every file below a folder with its bytes and its time.
pub(crate) fn everything(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let look = path.symlink_metadata().unwrap();
            if look.is_dir() {
                dirs.push(path.clone());
            }
            let is_small = look.is_file() && look.len() < 1 << 20;
            let bytes = is_small.then(|| fs::read(&path).unwrap());
            found.insert(path, (bytes.unwrap_or_default(), look.modified().unwrap()));
        }
    }
    found
}

#[test]
fn threads_and_names_arrive_and_a_second_call_changes_nothing() {
    let world = World::new();
    let store = full_store(&world);
    let before = everything(&store);
    let first = import(&world, &store).exits(0);
    assert_eq!(
        outcomes(&first, "threads"),
        all("added", &[ID_A, ID_B, SHIFTED])
    );
    assert_eq!(outcomes(&first, "workflows"), all("added", &["mini"]));
    assert_eq!(first.json()["read"], json!([store.join("variables.db")]));
    assert_eq!(everything(&store), before, "the source");

    for (thread, status) in [(SHIFTED, "completed"), (ID_B, "cancelled")] {
        assert_eq!(world.show(thread)["status"], json!(status), "{thread}");
        world.step(thread).exits(7);
    }
    assert_eq!(world.show(ID_A)["head"], json!(MINI_FIRST));
    let line = world.state("history.jsonl");
    assert!(line.contains(r#""completedAt":1780444833000"#), "{line}");
    let read = world.uwf(&["thread", "read", SHIFTED]).exits(0).stdout;
    assert!(read.contains("verdict: good"), "{read}");
    world.uwf(&["thread", "start", "mini", "-p", "x"]).exits(0);
    world.uwf(&["cas", "verify"]).exits(0);

    let state = [
        "threads.yaml",
        "history.jsonl",
        "registry.yaml",
        "registry.history.jsonl",
    ];
    let written = state.map(|file| world.state(file));
    let again = import(&world, &store).exits(0);
    assert_eq!(
        outcomes(&again, "threads"),
        all("unchanged", &[ID_A, ID_B, SHIFTED])
    );
    assert_eq!(outcomes(&again, "workflows"), all("unchanged", &["mini"]));
    assert_eq!(state.map(|file| world.state(file)), written);
    let said = world.uwf(&["import-store", store.to_str().unwrap(), "--format", "text"]);
    assert!(
        said.stdout.contains("nothing is new here"),
        "{}",
        said.stdout
    );
}

#[test]
fn what_only_the_log_beside_the_database_has_is_taken_and_no_file_is_made_there() {
    let world = World::new();
    let store = nodes(&world);
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let database = database(&elsewhere);
    let wal: String = database
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .unwrap();
    assert_eq!(wal, "wal");
    database
        .execute_batch("PRAGMA wal_autocheckpoint = 0")
        .unwrap();
    fill(&database);
    // As a program leaves them that was killed: the last connection empties the log when it is closed.
    for name in ["variables.db", "variables.db-wal"] {
        fs::copy(elsewhere.join(name), store.join(name)).unwrap();
    }
    assert!(store.join("variables.db-wal").metadata().unwrap().len() > 0);
    let before = everything(&store);
    let taken = import(&world, &store).exits(0);
    assert_eq!(outcomes(&taken, "threads").len(), 3);
    assert_eq!(everything(&store), before);
}

/// Copies our root into a root of the older form, which our own files have, too.
pub(crate) fn older_root(world: &World) -> PathBuf {
    let source = world.dir().join("source");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([&world.root(), &source])
        .status();
    assert!(copied.unwrap().success());
    only_older_files(&source);
    source
}

/// Removes what the older form does not have.
pub(crate) fn only_older_files(root: &Path) {
    for folder in ["runs", "locks", "logs"] {
        let _ = fs::remove_dir_all(root.join(folder));
    }
    for file in ["labels.jsonl", "registry.history.jsonl"] {
        let _ = fs::remove_file(root.join(file));
    }
}

/// Writes the three files of the older form, with an ending.
fn older_files(dir: &Path, ending: &str, active: &str) {
    fs::create_dir_all(dir).unwrap();
    let write = |name: &str, text: String| {
        fs::write(dir.join(format!("{name}{ending}")), text).unwrap();
    };
    let suspended = format!("{ID_C}:\n  head: {MINI_FIRST}\n  suspendedRole: worker\n");
    write("threads.yaml", format!("{ID_A}: {active}\n{suspended}"));
    let ended = json!({ "thread": ID_B, "workflow": MINI, "head": MINI_HEAD, "completedAt": 7 });
    write("history.jsonl", format!("{ended}\n{{\"thread\":\"torn"));
    write("workflows.yaml", format!("mini: {MINI}\n"));
}

#[test]
fn every_form_in_which_the_program_kept_its_state_is_read() {
    let three = [ID_A, ID_B, ID_C];
    // All in one root, before there was a database.
    let world = World::new();
    let root = world.dir().join("older");
    older_files(&root, "", MINI_FIRST);
    copy_nodes(&fixture("store/cas"), &root.join("cas"));
    let before = everything(&root);
    let taken = import(&world, &root).exits(0);
    assert_eq!(outcomes(&taken, "threads"), all("added", &three));
    assert_eq!(outcomes(&taken, "workflows"), all("added", &["mini"]));
    assert_eq!(world.show(ID_B)["status"], "completed");
    assert_eq!(everything(&root), before);

    // Files that were moved into a database that is gone, and nodes elsewhere.
    let world = World::new();
    let root = world.dir().join("older");
    older_files(&root, ".migrated", MINI_FIRST);
    let store = nodes(&world);
    import(&world, &root)
        .exits(1)
        .says("has no nodes")
        .says("--cas");
    assert!(!world.root().exists(), "nothing of ours is changed");
    let taken = import_from_two(&world, &root, &store).exits(0);
    assert_eq!(outcomes(&taken, "threads"), all("added", &three));

    // With the database: what it says counts, and the files add only what it does not know.
    let world = World::new();
    let root = world.dir().join("older");
    older_files(&root, ".migrated", MINI_START);
    let store = full_store(&world);
    let taken = import_from_two(&world, &root, &store).exits(0);
    assert_eq!(
        outcomes(&taken, "threads"),
        all("added", &[ID_A, ID_B, ID_C, SHIFTED])
    );
    assert_eq!(world.show(ID_A)["head"], json!(MINI_FIRST));
    assert_eq!(world.show(ID_B)["status"], "cancelled");
}

#[test]
fn an_active_thread_that_ended_before_and_a_name_with_two_rows_are_as_the_program_had_them() {
    let world = World::new();
    let store = nodes(&world);
    let database = database(&store);
    fill(&database);
    set(
        &database,
        &format!("@uwf/thread/{SHIFTED}"),
        MINI_FIRST,
        &[],
    );
    let newer = "INSERT INTO variables VALUES ('@uwf/registry/mini', 'OTHER', ?1, 1, 1)";
    database.execute(newer, [MINI_HEAD]).unwrap();
    drop(database);
    let taken = import(&world, &store).exits(0);
    assert_eq!(
        taken.json()["workflows"][0]["hash"],
        json!(MINI),
        "the newest row"
    );
    assert_eq!(world.show(SHIFTED)["head"], json!(MINI_FIRST));
    assert_ne!(world.show(SHIFTED)["status"], "completed");
}

#[test]
fn a_thread_that_is_behind_moves_forward_and_one_that_is_ahead_stays() {
    let world = World::new();
    let store = nodes(&world);
    let state = database(&store);
    let thread =
        |thread: &str, head: &str| set(&state, &format!("@uwf/thread/{thread}"), head, &[]);
    thread(ID_A, MINI_START);
    thread(ID_B, MINI_FIRST);
    import(&world, &store).exits(0);
    let move_to = "UPDATE variables SET value = ?2 WHERE name = '@uwf/thread/' || ?1";
    state.execute(move_to, (ID_A, MINI_FIRST)).unwrap();
    state.execute(move_to, (ID_B, MINI_START)).unwrap();
    drop(state);
    let taken = outcomes(&import(&world, &store).exits(0), "threads");
    assert_eq!(taken[ID_A], "fastForwarded");
    assert_eq!(taken[ID_B], "ahead");
    assert_eq!(world.show(ID_A)["head"], json!(MINI_FIRST));
    assert_eq!(world.show(ID_B)["head"], json!(MINI_FIRST));
}

#[test]
fn a_thread_that_went_on_in_both_places_is_refused_by_name_and_the_others_are_taken() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: q }\n");
    let diverged = world.start("review");
    let source = older_root(&world);
    let there = ["--root", source.to_str().unwrap()];
    let there = |args: &[&str]| world.uwf(&[&there, args].concat()).exits(0);
    let new = there(&["thread", "start", "review", "-p", "another"]).json();
    there(&["thread", "step", &diverged]);
    only_older_files(&source);
    world.step(&diverged).exits(0);
    let head = world.show(&diverged)["head"].clone();
    let taken = import(&world, &source).exits(1);
    let taken = taken
        .says(&diverged)
        .says("went on here to")
        .says("`uwf --root <other root> thread export")
        .says("--as-fork");
    // The hint keeps the other root, and names this one where a command needs it.
    let root = world.root();
    let (root, dir) = (root.to_str().unwrap(), source.to_str().unwrap());
    world
        .uwf(&["--root", root, "import-store", dir])
        .exits(1)
        .says("`uwf --root <other root> thread export")
        .says(&format!("`uwf --root {root} thread import"));
    let threads = outcomes(&taken, "threads");
    assert_eq!(threads[&diverged], "refused");
    assert_eq!(threads[&text(&new["thread"])], "added");
    assert_eq!(world.show(&diverged)["head"], head);
}

#[test]
fn a_name_that_stands_for_another_workflow_here_is_kept() {
    let world = World::new();
    let store = full_store(&world);
    let ours = world.put(&ONE_STEP.replace("name: one", "name: mini"));
    let taken = import(&world, &store).exits(0).json();
    let expected = json!([{ "name": "mini", "hash": MINI, "outcome": "kept", "here": ours }]);
    assert_eq!(taken["workflows"], expected);
    let listed = world.uwf(&["workflow", "list"]).exits(0).json();
    assert_eq!(listed[0]["hash"], json!(ours));
}

#[test]
fn the_last_line_says_what_is_new() {
    let world = World::new();
    let store = nodes(&world);
    let state = database(&store);
    let last = || {
        let run = world.uwf(&["import-store", store.to_str().unwrap(), "--format", "text"]);
        text(&json!(run.exits(0).stdout.trim_end().lines().last()))
    };
    set(&state, "@uwf/registry/mini", MINI, &[]);
    let expected = "1 workflow name is new here; the source was not changed";
    assert_eq!(last(), expected);
    set(&state, "@uwf/registry/other", MINI, &[]);
    set(&state, &format!("@uwf/thread/{ID_A}"), MINI_FIRST, &[]);
    let expected = "1 thread and 1 workflow name are new here; the source was not changed";
    assert_eq!(last(), expected);
}

#[test]
fn a_store_that_is_taken_over() {
    let world = World::new();
    let store = full_store(&world);
    let mut transcript = Transcript::of(&world);
    let import = ["import-store", "--cas", "../ocas", "../ocas"];
    transcript.show_each([&import, &import, &import]);
    let state = Connection::open(store.join("variables.db")).unwrap();
    let other = "UPDATE variables SET value = ?1 WHERE name = '@uwf/registry/mini'";
    state.execute(other, [MINI_HEAD]).unwrap();
    set(&state, &format!("@uwf/thread/{ID_C}"), "0000000000000", &[]);
    set(&state, "@uwf/registry/..", MINI, &[]);
    drop(state);
    for format in ["json", "text"] {
        transcript.say(&[&import[..], &["--format", format]].concat());
    }
    transcript.say(&["import-store", "."]);
    transcript.matches("a-store-that-is-taken-over");
}
