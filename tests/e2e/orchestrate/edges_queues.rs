//! The folders of finished tasks: how a run empties and archives them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::runs::run;
use super::zip::names_in;
use crate::full_disk::on_a_small_disk;
use crate::world::World;

/// A pipeline that does nothing.
const PLAIN: &str = "steps:\n- {name: A, command: ['true']}\n";

#[test]
fn an_archive_has_every_file_under_a_name_that_can_be_read() {
    const FILES: usize = 10_000;
    let world = World::new();
    let folder = world.project().join("processed/20200101T000000Z");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..FILES {
        fs::write(folder.join(format!("{number:05}.task")), "x").unwrap();
    }
    fs::write(folder.join("line\nbreak.task"), "").unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"bad\xff.task")), "").unwrap();
    fs::write(world.dir().join("outside"), "").unwrap();
    symlink("../../../outside", folder.join("link.task")).unwrap();
    let ran = run(&world, PLAIN, &["--archive-processed"]).exits(0);
    let names = names_in(&ran.root().join("processed.zip"));
    assert_eq!(names.len(), FILES + 2);
    assert!(names.is_sorted());
    assert_eq!(names[0], "processed/20200101T000000Z/00000.task");
    for part in ["line", "bad"] {
        let name = names.iter().find(|name| name.contains(part)).unwrap();
        assert!(name.chars().all(|char| !char.is_control()), "{name:?}");
    }
}

#[test]
fn the_folder_of_an_archive_is_made() {
    let world = World::new();
    world.write("processed/1.task", "x");
    run(&world, PLAIN, &["--archive-processed", "out/deep/all.zip"]).exits(0);
    let archive = world.project().join("out/deep/all.zip");
    assert_eq!(names_in(&archive), ["processed/1.task"]);
}

#[test]
fn an_archive_that_cannot_be_is_refused_before_the_run() {
    let world = World::new();
    fs::create_dir(world.project().join("folder")).unwrap();
    world.write("file", "");
    symlink("file", world.project().join("link")).unwrap();
    world.write("flow.yaml", "steps: [{name: A, command: [touch, ran]}]\n");
    for (destination, why) in [
        ("folder", "it is a folder"),
        ("link", "it is a link"),
        ("file/deep/a.zip", "/file` is no folder"),
    ] {
        world
            .uwf(&[
                "orchestrate",
                "run",
                "flow.yaml",
                "--archive-processed",
                destination,
            ])
            .exits(2)
            .says(why)
            .says("hint: give the path of a file");
    }
    assert!(!world.project().join("ran").exists());
}

#[test]
fn a_run_whose_archive_could_not_be_made_says_why_and_a_resume_makes_it() {
    let world = World::new();
    world.write("processed/1.task", "x");
    let pipeline = "steps:\n- {name: A, command: [touch, out]}\n";
    let ran = run(&world, pipeline, &["--archive-processed", "out/all.zip"]).exits(1);
    assert_eq!(ran.summary["status"], "failed");
    assert_eq!(ran.state["status"], "failed");
    ran.run.says("all.zip").says("`uwf orchestrate resume");
    let id = ran.summary["run_id"].as_str().unwrap();
    let orchestrate = |words: &[&str]| world.uwf(&[&["orchestrate"], words].concat());
    let status = orchestrate(&["status", id]).exits(0);
    assert!(
        status.stdout.contains("failed at _archive, exit code 1"),
        "{}",
        status.stdout
    );
    assert!(status.stdout.contains("all.zip"), "{}", status.stdout);
    orchestrate(&["resume", id, "--from", "A"])
        .exits(2)
        .says("every step of the run is done");
    fs::remove_file(world.project().join("out")).unwrap();
    orchestrate(&["resume", id]).exits(0);
    let archive = world.project().join("out/all.zip");
    assert_eq!(names_in(&archive), ["processed/1.task"]);
    let status = orchestrate(&["status", id, "--json"]).exits(0).json();
    assert_eq!(
        (&status["status"], &status["exit_code"]),
        (&"completed".into(), &0.into())
    );
}

#[test]
fn the_destination_of_an_archive_is_optional() {
    let world = World::new();
    world.write("flow.yaml", PLAIN);
    let archived = |words: &[&str]| {
        world
            .uwf(&[&["orchestrate", "run"], words].concat())
            .exits(0)
    };
    archived(&["flow.yaml", "--archive-processed", "here.zip"]);
    assert!(names_in(&world.project().join("here.zip")).is_empty());
    archived(&["flow.yaml", "--archive-processed", "--quiet"]);
    archived(&["flow.yaml", "--archive-processed"]);
    let runs = fs::read_dir(world.project().join(".orchestrate/runs")).unwrap();
    let archives = runs.filter(|run| run.as_ref().unwrap().path().join("processed.zip").exists());
    assert_eq!(archives.count(), 2);
}

#[test]
fn a_resume_cleans_nothing() {
    let world = World::new();
    world.write("processed/old.task", "");
    let pipeline = "steps:\n- name: A\n  command: [test, -e, ready]\n";
    let ran = run(&world, pipeline, &["--clean-processed"]).exits(1);
    assert!(!world.project().join("processed/old.task").exists());
    world.write("processed/new.task", "");
    world.write("ready", "");
    super::runs::resume(&world, ran.id(), &[]).exits(0);
    assert!(world.project().join("processed/new.task").exists());
    let words = ["orchestrate", "resume", ran.id(), "--clean-processed"];
    world.uwf(&words).exits(2);
}

#[test]
fn an_archive_of_a_completed_run_waits_for_nothing_that_is_skipped_or_ended() {
    let world = World::new();
    world.write("processed/1.task", "x");
    let pipeline = "steps:\n- name: A\n  command: ['false']\n  on: {failure: {goto: _end}}\n";
    let ran = run(&world, pipeline, &["--archive-processed"]).exits(0);
    let archive = ran.root().join("processed.zip");
    assert_eq!(names_in(&archive), ["processed/1.task"]);
}

/// One queue is on another disk, with a task before the one that can be claimed.
const CLAIMS: &str = r#"
mkdir -p inbox/a && mount -t tmpfs -o size=8m tmpfs inbox/a || exit 1
echo far > inbox/a/1.task
echo near > inbox/b.task
"$2" orchestrate task claim --run-id first 2> said
"$2" orchestrate task claim --run-id second 2> refused; echo $?
find inbox -type f
"$2" orchestrate task claim --workflow there.yaml --run-id third
"$2" orchestrate task done inbox/a/.claimed/third/1.task --timestamp 20200101T000000Z
"#;

#[test]
fn no_task_is_claimed_to_another_filesystem_where_a_kill_would_leave_it_twice() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    world.write("there.yaml", &format!("inbox_dir: inbox/a\n{PLAIN}"));
    let Some(claimed) = on_a_small_disk(&world, CLAIMS, &[]) else {
        return;
    };
    let expected = [
        "inbox/.claimed/first/b.task",
        "2",
        "inbox/a/1.task",
        "inbox/.claimed/first/b.task",
        "inbox/a/.claimed/third/1.task",
        "processed/20200101T000000Z/1.task",
    ];
    let mut lines: Vec<_> = claimed.lines().collect();
    lines[2..4].sort_unstable_by_key(|line| line.len());
    assert_eq!(lines, expected);
    let said = |file| fs::read_to_string(world.project().join(file)).unwrap();
    let why = "`inbox/a/1.task` is on another filesystem than `inbox/.claimed/";
    assert!(said("said").contains(why), "{}", said("said"));
    let refused = said("refused");
    assert!(refused.contains(why), "{refused}");
    assert!(
        refused.contains("hint: a queue and the folder of claimed tasks must be on one filesystem")
    );
}

#[test]
fn a_task_whose_name_is_not_utf_8_is_named_and_others_are_claimed() {
    let world = World::new();
    world.write("inbox/q/b.task", "");
    let bad = world
        .project()
        .join("inbox/q")
        .join(OsStr::from_bytes(b"a\xff.task"));
    fs::write(&bad, "").unwrap();
    let why = "the name of `inbox/q/a\\xFF.task` is not UTF-8";
    let task = |words: &[&str]| world.uwf(&[&["orchestrate", "task"], words].concat());
    let listed = task(&["list"])
        .exits(0)
        .says(&format!("warning: a task is left out: {why}"));
    assert_eq!(listed.stdout, "inbox/q/b.task\n");
    let claim = || task(&["claim", "--run-id", "r"]);
    let claimed = claim()
        .exits(0)
        .says(&format!("warning: a task is not claimed: {why}"));
    assert_eq!(claimed.stdout, "inbox/.claimed/r/b.task\n");
    claim()
        .exits(2)
        .says(&format!("error: {why}"))
        .says("hint: give it another name with `mv`");
    assert!(bad.exists());
}

#[test]
fn a_taken_name_of_the_greatest_length_blocks_no_task() {
    let world = World::new();
    let long = |stem: usize, ending: &str| format!("{}.task{ending}", "a".repeat(stem));
    let name = long(250, "");
    let task = |words: &[&str]| {
        world
            .uwf(&[&["orchestrate", "task"], words].concat())
            .exits(0)
            .stdout
    };
    let claim = || {
        world.write(&format!("inbox/{name}"), "");
        task(&["claim", "--run-id", "r"])
    };
    assert_eq!(claim(), format!("inbox/.claimed/r/{name}\n"));
    let second = claim();
    assert_eq!(second, format!("inbox/.claimed/r/{}\n", long(248, ".1")));
    for ending in [name.clone(), long(248, ".1")] {
        world.write(&name, "");
        let done = task(&["done", &name, "--timestamp", "20200101T000000Z"]);
        assert_eq!(done, format!("processed/20200101T000000Z/{ending}\n"));
    }
}
