//! Looking at a store, and repairing it: what is damaged is moved and never deleted, what can be brought back is, and what
//! stays lost is named with all that need it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::gc::{DAY, age, has, node_file, put_text, text};
use crate::travel::three_threads;
use crate::world::{ONE_STEP, Run, World};

pub(crate) fn repair(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["cas", "repair"], args].concat())
}

/// The damages: a cut, another content, something that is no file.
pub(crate) fn damage(world: &World, hashes: &[String]) {
    for (number, hash) in hashes.iter().enumerate() {
        let file = node_file(world, hash);
        match number % 3 {
            0 => fs::write(&file, b"").unwrap(),
            1 => {
                let mut bytes = fs::read(&file).unwrap();
                bytes[30] ^= 1;
                fs::write(&file, bytes).unwrap();
            }
            _ => {
                fs::remove_file(&file).unwrap();
                fs::create_dir(&file).unwrap();
            }
        }
    }
}

fn quarantined(world: &World, name: &str) -> PathBuf {
    world.root().join("cas/quarantine").join(name)
}

/// Returns the nodes that only the chain of a thread has: its head, the output and the text of the answer.
pub(crate) fn nodes_of_head(world: &World, thread: &str) -> Vec<String> {
    let head = text(&world.show(thread)["head"]);
    let step = world.uwf(&["cas", "get", &head]).exits(0).json();
    let payload = &step["payload"];
    vec![
        text(&payload["assembledPrompt"]),
        text(&payload["detail"]),
        head,
    ]
}

#[test]
fn a_sound_store_needs_no_repair() {
    let (world, _) = three_threads();
    let sound = repair(&world, &[]).exits(0).json();
    assert_eq!(sound["ok"], true);
    for key in ["damaged", "restored", "lost", "neededBy", "temporaryFiles"] {
        assert_eq!(sound[key], json!([]), "{key}");
    }
    assert!(!world.root().join("cas/quarantine").exists());
    let nowhere = World::new();
    repair(&nowhere, &[]).exits(0);
    assert!(!nowhere.root().exists(), "looking makes no root");
}

#[test]
fn damaged_files_are_moved_and_all_that_need_them_are_named() {
    let (world, threads) = three_threads();
    let unused = put_text(&world, "unused");
    let lost = nodes_of_head(&world, &threads[0]);
    damage(&world, &[&lost[..], std::slice::from_ref(&unused)].concat());
    let before = fs::read(node_file(&world, &lost[1])).unwrap();
    let looked = repair(&world, &["--dry-run"]).exits(4).json();
    assert_eq!(looked["damaged"].as_array().unwrap().len(), 4);
    assert!(
        node_file(&world, &lost[0]).exists(),
        "a dry run changes nothing"
    );

    let done = repair(&world, &[]).exits(4).json();
    let moved = done["damaged"].as_array().unwrap();
    assert!(moved.iter().all(|one| one["movedTo"].is_string()), "{done}");
    for hash in lost.iter().chain([&unused]) {
        assert!(!node_file(&world, hash).exists());
        assert!(quarantined(&world, &format!("{hash}.bin")).exists());
    }
    let kept = quarantined(&world, &format!("{}.bin", lost[1]));
    assert_eq!(fs::read(kept).unwrap(), before);
    // The head hides what it refers to.
    let named: Vec<String> = done["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| text(&one["hash"]))
        .collect();
    assert_eq!(named, [lost[2].clone()]);
    assert_eq!(
        done["neededBy"],
        json!([{ "endedThread": threads[0], "nodes": named }])
    );
    repair(&world, &[]).exits(4);
    let listed = world.uwf(&["cas", "list"]).exits(0).json();
    assert!(
        !listed["hashes"]
            .as_array()
            .unwrap()
            .contains(&json!(lost[0]))
    );
    world.uwf(&["thread", "read", &threads[1]]).exits(0);
}

#[test]
fn a_node_that_everything_needs_names_everything() {
    let (world, threads) = three_threads();
    let shown = world.uwf(&["workflow", "show", "review"]).exits(0).json();
    let workflow = text(&shown["hash"]);
    damage(&world, std::slice::from_ref(&workflow));
    let done = repair(&world, &[]).exits(4).json();
    let named = done["neededBy"].as_array().unwrap();
    for thread in &threads {
        assert!(
            named
                .iter()
                .any(|one| one["thread"] == json!(thread) || one["endedThread"] == json!(thread)),
            "{done}"
        );
    }
    assert!(
        named.iter().any(|one| one["workflow"] == "review"),
        "{done}"
    );
    let stuck = named.iter().filter(|one| one["goesOn"] == false).count();
    assert_eq!(stuck, 2, "{done}");
    let said = repair(&world, &["--format", "text"]).exits(4).stdout;
    assert!(said.contains("`uwf workflow put <file>`"), "{said}");
    world.uwf(&["workflow", "put", "review.yaml"]).exits(0);
    repair(&world, &[]).exits(0);
}

#[test]
fn nodes_come_back_from_a_bundle_a_root_or_a_store() {
    let (world, threads) = three_threads();
    world
        .uwf(&["thread", "export", "--all", "-o", "all.tar"])
        .exits(0);
    let copy = world.dir().join("copy");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([world.root(), copy.clone()])
        .status();
    assert!(copied.unwrap().success());
    let all = |world: &World| world.uwf(&["cas", "list"]).exits(0).stdout;
    let before = all(&world);
    let cas = copy.join("cas");
    for from in ["all.tar", copy.to_str().unwrap(), cas.to_str().unwrap()] {
        damage(&world, &nodes_of_head(&world, &threads[0]));
        let start = text(&world.show(&threads[2])["head"]);
        fs::remove_file(node_file(&world, &start)).unwrap();
        // A schema that every store has.
        fs::remove_file(node_file(&world, "7VQ43ZSJTEWA7")).unwrap();
        let looked = repair(&world, &["--dry-run", "--from", from])
            .exits(0)
            .json();
        assert_eq!(looked["lost"], json!([]));
        assert!(!has(&world, &start));
        let done = repair(&world, &["--from", from]).exits(0).json();
        assert_eq!(
            done["restored"].as_array().unwrap().len(),
            5,
            "{from}: {done}"
        );
        assert_eq!(done["ok"], true);
        assert_eq!(all(&world), before);
        world.uwf(&["cas", "verify"]).exits(0);
        world.uwf(&["thread", "read", &threads[0]]).exits(0);
    }
    assert!(
        quarantined(&world, "x")
            .parent()
            .unwrap()
            .read_dir()
            .unwrap()
            .count()
            >= 9,
        "no file took the place of another"
    );
}

#[test]
fn a_source_that_is_damaged_too_brings_nothing() {
    let (world, threads) = three_threads();
    let copy = world.dir().join("copy");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([world.root(), copy.clone()])
        .status();
    assert!(copied.unwrap().success());
    let head = text(&world.show(&threads[0])["head"]);
    for root in [world.root(), copy.clone()] {
        let file = root.join("cas").join(format!("{head}.bin"));
        fs::write(file, b"nonsense").unwrap();
    }
    let done = repair(&world, &["--from", copy.to_str().unwrap()])
        .exits(4)
        .json();
    assert_eq!(done["restored"], json!([]));
    assert!(copy.join("cas").join(format!("{head}.bin")).exists());
    repair(&world, &["--from", "nowhere"]).exits(1);
    repair(&world, &["--from", "."])
        .exits(1)
        .says("has no nodes");
}

#[test]
fn an_unfinished_thread_goes_on_after_the_repair_of_its_past() {
    let (world, threads) = three_threads();
    let steps = world.uwf(&["thread", "steps", &threads[1]]).exits(0).json();
    let first = &steps["steps"][1];
    let detail = text(&first["detail"]);
    damage(&world, &[detail]);
    let done = repair(&world, &[]).exits(4).json();
    let needed_by = done["neededBy"].as_array().unwrap();
    let mut goes_on = needed_by.iter().map(|one| &one["goesOn"]);
    assert!(goes_on.any(|goes_on| goes_on == true), "{done}");
    world
        .uwf(&["thread", "resume", &threads[1], "-p", "yes"])
        .exits(0);
}

#[test]
fn a_repair_beside_a_running_step_does_not_touch_it() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let unused = put_text(&world, "unused");
    damage(&world, std::slice::from_ref(&unused));
    let mut engine = at_work(&world, &["thread", "step", &thread]);
    let done = repair(&world, &[]).exits(0).json();
    assert_eq!(done["damaged"].as_array().unwrap().len(), 1, "{done}");
    open_gate(&world);
    assert!(engine.wait().unwrap().success());
    assert_eq!(world.show(&thread)["status"], "completed");
}

#[test]
fn what_killed_programs_left_is_named_and_not_removed() {
    let (world, _) = three_threads();
    let [old, new] = ["old", "new"].map(|name| {
        let path = world.root().join("cas").join(format!(".uwf-temp-{name}"));
        fs::write(&path, "").unwrap();
        path
    });
    age(&old, 15 * DAY);
    let done = repair(&world, &[]).exits(0).json();
    assert_eq!(done["temporaryFiles"], json!([old]));
    assert!(old.exists() && new.exists());
}

#[test]
fn the_numbers_of_a_store_add_up() {
    let (world, _) = three_threads();
    let unused = put_text(&world, &"unused ".repeat(1000));
    let stats = world.uwf(&["cas", "stats"]).exits(0).json();
    let number = |value: &Value| value.as_u64().unwrap();
    let list = world.uwf(&["cas", "list"]).exits(0).json();
    assert_eq!(
        number(&stats["nodes"]),
        list["hashes"].as_array().unwrap().len() as u64
    );
    for key in ["nodes", "bytes"] {
        let parts = number(&stats["used"][key]) + number(&stats["unused"][key]);
        assert_eq!(parts, number(&stats[key]));
        let types = stats["types"].as_array().unwrap().iter();
        assert_eq!(
            types.map(|one| number(&one[key])).sum::<u64>(),
            number(&stats[key])
        );
    }
    let collected = world.uwf(&["cas", "gc", "--dry-run"]).exits(0).json();
    assert_eq!(stats["used"]["nodes"], collected["used"]);
    assert_eq!(stats["largest"][0]["hash"], json!(unused));
    assert_eq!(stats["largest"][0]["title"], "(string)");
    let types = stats["types"].as_array().unwrap();
    assert!(
        types.iter().any(|one| one["title"] == "StepNode"),
        "{stats}"
    );
    let empty = World::new();
    assert_eq!(empty.uwf(&["cas", "stats"]).exits(0).json()["nodes"], 0);
}

#[test]
fn the_content_of_a_node_is_printed_unchanged() {
    let world = World::new();
    let hash = put_text(&world, "a\u{1b}[31m\nno end");
    let cat = |args: &[&str]| world.uwf(&[&["cas", "cat"], args].concat());
    assert_eq!(cat(&[&hash]).exits(0).stdout, "a\u{1b}[31m\nno end");
    let other = put_text(&world, "other");
    assert_eq!(
        cat(&[&other, &hash]).exits(0).stdout,
        "othera\u{1b}[31m\nno end"
    );
    cat(&["CTS5P6RD8HMCS"])
        .exits(1)
        .says("holds data")
        .says("cas get");
    cat(&[&hash, "--format", "json"]).exits(2);
    cat(&["0000000000000"]).exits(1);
    let nodes = world.uwf(&["cas", "get", &hash, &other]).exits(0).json();
    assert_eq!(
        nodes[1],
        json!({ "hash": other, "type": "7VQ43ZSJTEWA7", "payload": "other" })
    );
    assert_eq!(nodes[0]["hash"], json!(hash));
}

#[test]
fn a_file_that_cannot_be_read_stays_where_it_is() {
    let (world, threads) = three_threads();
    let head = text(&world.show(&threads[0])["head"]);
    let file = node_file(&world, &head);
    fs::remove_file(&file).unwrap();
    // A link to itself: opening it is an error for everybody, also for the superuser.
    symlink(&file, &file).unwrap();
    let done = repair(&world, &[]).exits(4).json();
    assert_eq!(done["damaged"][0]["movable"], false, "{done}");
    assert_eq!(done["lost"][0]["hash"], json!(head), "{done}");
    assert!(file.is_symlink());
}

#[test]
fn no_damaged_file_goes_through_a_link_to_another_folder() {
    let (world, threads) = three_threads();
    let head = text(&world.show(&threads[0])["head"]);
    let file = node_file(&world, &head);
    fs::write(&file, "damaged").unwrap();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let link = quarantined(&world, "x").parent().unwrap().to_owned();
    symlink(&elsewhere, &link).unwrap();
    world
        .uwf(&["cas", "repair"])
        .exits(1)
        .says("quarantine` is a symbolic link")
        .says("remove the link");
    assert_eq!(fs::read_to_string(&file).unwrap(), "damaged");
    assert_eq!(elsewhere.read_dir().unwrap().count(), 0);
    fs::remove_file(&link).unwrap();
    world.uwf(&["cas", "repair"]).exits(4);
    assert!(!file.exists());
}
