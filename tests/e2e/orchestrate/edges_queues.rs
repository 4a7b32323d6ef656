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
fn a_run_whose_archive_cannot_be_made_stays_completed_and_exits_with_1() {
    let world = World::new();
    world.write("processed/1.task", "x");
    let gone = world.dir().join("gone");
    fs::create_dir(&gone).unwrap();
    let pipeline = format!(
        "steps:\n- {{name: A, command: [rmdir, '{}']}}\n",
        gone.display()
    );
    let destination = gone.join("all.zip");
    let args = ["--archive-processed", destination.to_str().unwrap()];
    let ran = run(&world, &pipeline, &args).exits(1);
    assert_eq!(ran.summary["status"], "completed");
    assert_eq!(ran.state["status"], "completed");
    assert!(ran.run.stderr.contains("all.zip"), "{}", ran.run.stderr);
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

/// Three claim the tasks of an inbox at once, into folders on another disk.
const CLAIMS: &str = r#"
mkdir -p inbox/.claimed && mount -t tmpfs -o size=8m tmpfs inbox/.claimed || exit 1
for task in $(seq 100 139); do
  { echo "$task"; head -c 100000 /dev/zero; } > inbox/$task.task
done
program=$2
claims() {
  while file=$("$program" orchestrate task claim --run-id "$1"); do
    head -n 1 "$file"
  done > claimed.$1
}
for run in a b c; do claims $run & done
wait
sort claimed.a claimed.b claimed.c
ls inbox
"#;

#[test]
fn each_task_goes_to_one_that_claims_it_also_to_another_file_system() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    let Some(claimed) = on_a_small_disk(&world, CLAIMS, &[]) else {
        return;
    };
    let expected: Vec<String> = (100..140).map(|task| task.to_string()).collect();
    assert_eq!(claimed.lines().collect::<Vec<_>>(), expected);
}
