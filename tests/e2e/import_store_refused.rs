//! Stores of the reference program that are damaged or hostile: each error names the file and the reason, and what cannot
//! be trusted changes nothing here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::compat::{ID_A, ID_B, MINI, MINI_FIRST, MINI_HEAD, SHIFTED};
use crate::import_store::{
    database, everything, full_store, import, nodes, older_root, outcomes, set,
};
use crate::world::{ONE_STEP, REVIEW, World};

/// Imports a store that is refused as a whole.
#[track_caller]
fn refused(world: &World, store: &Path, words: &[&str]) {
    let before = everything(store);
    let mut run = import(world, store).exits(1).says("hint:");
    for word in words {
        run = run.says(word);
    }
    assert_eq!(run.stdout, "");
    assert!(!world.root().exists(), "nothing of ours is changed");
    assert_eq!(everything(store), before);
}

#[test]
fn a_folder_without_a_state_is_refused_with_what_was_looked_for() {
    let world = World::new();
    let store = nodes(&world);
    let looked_for = [
        "variables.db",
        "threads.yaml",
        "history.jsonl.migrated",
        "workflows.yaml",
    ];
    refused(&world, &store, &looked_for);
    let missing = world.dir().join("none");
    import(&world, &missing)
        .exits(1)
        .says("is not a folder")
        .says("~/.ocas");
    let file = store.join(format!("{MINI}.bin"));
    import(&world, &file).exits(1).says("is not a folder");
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let world = World::new();
    let store = full_store(&world);
    let file = store.join("variables.db");
    let sound = fs::read(&file).unwrap();
    fs::write(&file, "this is some text, and no database at all").unwrap();
    refused(&world, &store, &["variables.db", "not a database"]);
    fs::write(&file, "").unwrap();
    refused(&world, &store, &["variables.db", "no table `variables`"]);
    for size in [100, sound.len() / 2, sound.len() - 1000] {
        fs::write(&file, &sound[..size]).unwrap();
        refused(&world, &store, &["variables.db"]);
    }
    let mut flipped = sound.clone();
    let middle = flipped.len() / 2;
    flipped[4096..middle].fill(0xa5);
    fs::write(&file, flipped).unwrap();
    refused(&world, &store, &["variables.db"]);
    fs::remove_file(&file).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    refused(&world, &store, &["variables.db", "is a FIFO"]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused(&world, &store, &["variables.db", "is a directory"]);
}

#[test]
fn a_database_of_another_program_is_refused() {
    let world = World::new();
    let store = nodes(&world);
    let file = store.join("variables.db");
    let make = |sql: &str| {
        let _ = fs::remove_file(&file);
        let database = rusqlite::Connection::open(&file).unwrap();
        database.execute_batch(sql).unwrap();
    };
    make("CREATE TABLE notes (text TEXT)");
    refused(&world, &store, &["no table `variables`"]);
    make("CREATE TABLE variables (name TEXT); CREATE TABLE variable_tags (key TEXT)");
    refused(&world, &store, &["no such column"]);
    // What is computed could take all time and memory.
    make(
        "CREATE TABLE variable_tags (key TEXT); CREATE TABLE variables (value TEXT, name TEXT AS (hex(zeroblob(400000000)))); INSERT INTO variables VALUES ('x')",
    );
    refused(
        &world,
        &store,
        &["columns of its table `variables` are computed"],
    );
    make("CREATE TABLE variable_tags (key TEXT); CREATE VIRTUAL TABLE variables USING fts5(name)");
    refused(&world, &store, &["no table `variables`"]);
    make(
        "CREATE TABLE variable_tags (key TEXT); CREATE VIEW variables AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS name FROM n",
    );
    refused(&world, &store, &["no table `variables`"]);
}

#[test]
fn values_that_are_no_hashes_and_names_that_are_no_threads_are_refused() {
    let ended = |tags: &'static [(&str, &str)]| (format!("@uwf/history/{ID_A}"), MINI_HEAD, tags);
    let thread = format!("@uwf/thread/{ID_A}");
    for (name, value, tags) in [
        (thread.clone(), "../../etc/passwd", &[][..]),
        (thread.clone(), "", &[]),
        ("@uwf/thread/../../x".to_owned(), MINI_HEAD, &[]),
        ("@uwf/registry/mini".to_owned(), "nonsense", &[]),
        ended(&[]),
        ended(&[("completedAt", "soon")]),
        ended(&[("completedAt", "1"), ("reason", "bored")]),
        ended(&[("completedAt", "1"), ("workflow", "x")]),
    ] {
        let world = World::new();
        let store = nodes(&world);
        let state = database(&store);
        set(&state, &format!("@uwf/thread/{ID_B}"), MINI_FIRST, &[]);
        set(&state, &name, value, tags);
        drop(state);
        refused(
            &world,
            &store,
            &["variables.db", &name, "cannot be understood"],
        );
    }
    let world = World::new();
    let store = nodes(&world);
    let state = database(&store);
    let blob = "INSERT INTO variables VALUES ('@uwf/thread/x', 's', x'ff00', 1, 1)";
    state.execute(blob, []).unwrap();
    drop(state);
    refused(&world, &store, &["variables.db"]);
}

#[test]
fn a_damaged_line_in_a_file_of_the_older_form_is_named() {
    let world = World::new();
    let root = world.dir().join("older");
    fs::create_dir(&root).unwrap();
    fs::write(
        root.join("threads.yaml"),
        format!("{ID_A}: {MINI_FIRST}\n..: x\n"),
    )
    .unwrap();
    refused(&world, &root, &["threads.yaml:2", "a copy of the folder"]);
    fs::remove_file(root.join("threads.yaml")).unwrap();
    fs::write(root.join("history.jsonl"), "{}\n{}\n").unwrap();
    refused(&world, &root, &["history.jsonl:2"]);
}

#[test]
fn a_name_that_could_be_a_path_is_refused_and_the_rest_is_taken() {
    let world = World::new();
    let store = full_store(&world);
    let state = rusqlite::Connection::open(store.join("variables.db")).unwrap();
    for name in ["..", "../../x", "mini.yaml", "CTS5P6RD8HMCS"] {
        set(&state, &format!("@uwf/registry/{name}"), MINI, &[]);
    }
    set(&state, "@uwf/registry/-x", MINI, &[]);
    set(&state, "@uwf/registry/no-workflow", MINI_HEAD, &[]);
    drop(state);
    let run = import(&world, &store)
        .exits(1)
        .says("5 of 7 workflow names");
    let names = outcomes(&run, "workflows");
    assert_eq!(names["mini"], "added");
    assert_eq!(names[".."], "refused");
    assert_eq!(names["no-workflow"], "refused");
    assert_eq!(names["CTS5P6RD8HMCS"], "refused", "it looks like a hash");
    assert_eq!(names["-x"], "added", "`workflow put` takes it, too");
}

/// Puts something else in the place of a node, and asserts that only the thread which needs it is refused.
#[track_caller]
fn refused_for(hash: &str, reason: &str, spoil: impl Fn(&Path)) {
    let world = World::new();
    let store = full_store(&world);
    let file = store.join(format!("{hash}.bin"));
    fs::remove_file(&file).unwrap();
    spoil(&file);
    let before = everything(&store);
    let run = import(&world, &store)
        .exits(1)
        .says(SHIFTED)
        .says(hash)
        .says(reason);
    let threads = outcomes(&run, "threads");
    assert_eq!(threads[SHIFTED], "refused");
    assert_eq!(threads[ID_A], "added");
    assert_eq!(everything(&store), before);
    assert!(!world.state("history.jsonl").contains(SHIFTED));
    world.uwf(&["thread", "show", SHIFTED]).exits(1);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_node_that_is_not_what_its_name_says_keeps_its_thread_out() {
    refused_for(MINI_HEAD, "is not in the store", |_| {});
    refused_for(MINI_HEAD, "is not a node", |file| {
        fs::write(file, "x").unwrap();
    });
    refused_for(MINI_HEAD, "has the hash", |file| {
        let other = file.with_file_name(format!("{MINI_FIRST}.bin"));
        fs::copy(other, file).unwrap();
    });
    refused_for(MINI_HEAD, "is not a node", |file| {
        symlink("/etc/passwd", file).unwrap();
    });
    refused_for(MINI_HEAD, "a device", |file| {
        symlink("/dev/zero", file).unwrap();
    });
    refused_for(MINI_HEAD, "is not in the store", |file| {
        symlink("nowhere", file).unwrap();
    });
    // It takes no space: it is a hole.
    refused_for(MINI_HEAD, "1073741824 bytes", |file| {
        fs::File::create(file).unwrap().set_len(1 << 30).unwrap();
    });
}

#[test]
fn a_link_to_a_sound_node_is_that_node() {
    let world = World::new();
    let store = full_store(&world);
    let file = store.join(format!("{MINI_HEAD}.bin"));
    let moved = world.dir().join("moved.bin");
    fs::rename(&file, &moved).unwrap();
    symlink(&moved, &file).unwrap();
    import(&world, &store).exits(0);
    let node = world.root().join("cas").join(format!("{MINI_HEAD}.bin"));
    assert!(node.symlink_metadata().unwrap().is_file());
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_head_that_is_no_step_keeps_its_thread_out() {
    let world = World::new();
    let store = nodes(&world);
    let state = database(&store);
    set(&state, &format!("@uwf/thread/{ID_A}"), MINI, &[]);
    let tags = [("completedAt", "1"), ("workflow", MINI_FIRST)];
    set(&state, &format!("@uwf/history/{ID_B}"), MINI_HEAD, &tags);
    drop(state);
    let run = import(&world, &store).exits(1).says("2 of 2 threads");
    let run = run.says("is not a").says("its workflow is");
    let run = run.says(&format!("uwf cas get {MINI}"));
    assert_eq!(outcomes(&run, "threads")[ID_A], "refused");
    assert_eq!(
        world.state("threads.yaml") + &world.state("history.jsonl"),
        ""
    );
}

#[test]
fn a_file_that_a_thread_only_mentions_stops_no_other_thread() {
    let world = World::new();
    world.put(ONE_STEP);
    let sound = world.start("one");
    let mentioned = "CTS5P6RD8HMCT";
    let start = ["thread", "start", "one", "-p", mentioned];
    let other = world.uwf(&start).exits(0).json();
    let source = older_root(&world);
    let file = format!("{mentioned}.bin");
    symlink(&file, source.join("cas").join(&file)).unwrap();
    let here = World::new();
    let run = import(&here, &source).exits(1).says("cannot look for");
    let threads = outcomes(&run.says("in the source"), "threads");
    assert_eq!(threads[&sound], "added");
    assert_eq!(threads[other["thread"].as_str().unwrap()], "refused");
}

#[test]
fn a_file_of_the_state_that_is_too_large_is_refused_before_it_is_read() {
    let world = World::new();
    let store = nodes(&world);
    let names = [
        "variables.db",
        "threads.yaml",
        "history.jsonl",
        "workflows.yaml.migrated",
    ];
    for name in names {
        let file = store.join(name);
        // It takes no space: it is a hole.
        fs::File::create(&file).unwrap().set_len(3 << 30).unwrap();
        refused(&world, &store, &[name, "3221225472 bytes", "268435456"]);
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_file_of_the_state_that_is_no_file_is_refused() {
    let world = World::new();
    let store = nodes(&world);
    let file = store.join("threads.yaml");
    symlink("/dev/zero", &file).unwrap();
    refused(&world, &store, &["threads.yaml", "a device"]);
    fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    refused(&world, &store, &["threads.yaml", "is a FIFO"]);
}

#[test]
fn a_root_of_ours_is_refused_with_the_command_that_takes_all_of_it() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - { exit: 3, stderr: broken }\n");
    let thread = world.start("one");
    world.step(&thread).exits(3);
    let here = World::new();
    let before = everything(&world.root());
    let run = import(&here, &world.root()).exits(1).says("runs");
    let root = world.root();
    let command = format!(
        "`uwf --root {} thread export --all -o - | uwf thread import -`",
        root.display()
    );
    run.says(&command);
    assert!(!here.root().exists(), "nothing of ours is changed");
    assert_eq!(everything(&root), before);

    // What the reference program left in such a folder is taken, and the files of ours are not.
    full_store(&here);
    let left = here.dir().join("ocas");
    fs::copy(left.join("variables.db"), root.join("variables.db")).unwrap();
    let both = ["import-store", root.to_str().unwrap(), "--cas"];
    let run = here.uwf(&[&both[..], &[left.to_str().unwrap()]].concat());
    let threads = outcomes(&run.exits(0), "threads");
    assert!(threads.contains_key(ID_A) && !threads.contains_key(&thread));
}

#[test]
fn a_history_with_replaced_steps_is_ours() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles: { writer: [{ output: { plan: p } }, { output: { plan: q } }] }");
    let thread = world.start("review");
    world.step(&thread).exits(0);
    world.uwf(&["thread", "poke", &thread]).exits(0);
    let source = older_root(&world);
    let here = World::new();
    import(&here, &source)
        .exits(1)
        .says("history.jsonl")
        .says("thread export --all");
}
