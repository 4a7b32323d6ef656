//! Trees that are deeper than a process may have files open, and than a path may be long; and archives that cannot be made yet.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::runs::{Ran, ran};
use super::zip::names_in;
use crate::world::{Run, World, binary, wait_until};

/// How deep the trees are. Their paths have more bytes than the system takes.
const DEPTH: usize = 3000;
/// How many files a process may have open.
const MOST_FILES: usize = 200;
/// A pipeline that does nothing.
const PLAIN: &str = "steps:\n- {name: A, command: ['true']}\n";

/// Makes a tree with a task in its deepest folder.
fn grow(top: &Path) {
    fs::create_dir_all(top).unwrap();
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at: OwnedFd = openat(CWD, top, folder, Mode::empty()).unwrap();
    for _ in 0..DEPTH {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = openat(&at, "d", folder, Mode::empty()).unwrap();
    }
    let file = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    openat(&at, "1.task", file, Mode::RUSR | Mode::WUSR).unwrap();
}

/// Returns the path of the task below the top of a tree.
fn task() -> String {
    format!("{}1.task", "d/".repeat(DEPTH))
}

/// Returns a command that may have few files open.
fn command(world: &World, args: &[&str]) -> Command {
    let limited = format!("ulimit -n {MOST_FILES}; exec \"$0\" \"$@\"");
    let mut command = world.command_of("sh");
    command.args(["-c", &limited]).arg(binary()).args(args);
    command
}

fn uwf(world: &World, args: &[&str]) -> Run {
    command(world, args).output().unwrap().into()
}

#[test]
fn a_deep_tree_of_finished_tasks_is_archived_and_removed() {
    let world = World::new();
    world.write("flow.yaml", PLAIN);
    grow(&world.project().join("processed"));
    let run = ["orchestrate", "run", "flow.yaml", "--json"];
    let archived = [&run[..], &["--archive-processed", "all.zip"]].concat();
    ran(&mut command(&world, &archived)).exits(0);
    let names = names_in(&world.project().join("all.zip"));
    assert_eq!(names, [format!("processed/{}", task())]);
    let cleaned = [&run[..], &["--clean-processed"]].concat();
    ran(&mut command(&world, &cleaned)).exits(0);
    let left = fs::read_dir(world.project().join("processed")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn a_deep_tree_of_tasks_is_listed_and_what_is_too_deep_to_be_moved_is_told() {
    let world = World::new();
    let inbox = world.project().join("inbox");
    grow(&inbox.join("x"));
    let listed = uwf(&world, &["orchestrate", "task", "list"]).exits(0);
    assert_eq!(listed.stdout, format!("inbox/x/{}\n", task()));
    let claim = ["orchestrate", "task", "claim", "--run-id", "r"];
    uwf(&world, &claim).exits(2).says("1.task");
    world.write("inbox/a.task", "");
    let claimed = uwf(&world, &claim).exits(0);
    assert_eq!(claimed.stdout, "inbox/.claimed/r/a.task\n");
    let removed = Command::new("rm").arg("-rf").arg(&inbox).status().unwrap();
    assert!(removed.success());
}

#[test]
fn a_deep_tree_in_the_folder_of_a_run_is_removed_with_it() {
    let world = World::new();
    world.write("flow.yaml", PLAIN);
    let run = ["orchestrate", "run", "flow.yaml", "--json"];
    let ran = ran(&mut command(&world, &run)).exits(0);
    grow(&ran.root().join("left"));
    let clean = ["orchestrate", "clean", "--older-than", "0d"];
    uwf(&world, &clean).exits(0);
    assert!(!ran.root().exists());
}

#[test]
fn a_pattern_that_is_deeper_than_files_may_be_open_is_an_error_and_no_answer() {
    let world = World::new();
    let top = world.project().join("top");
    grow(&top);
    let exists = |levels: usize| {
        let pattern = format!("top{}", "/*".repeat(levels));
        let flow =
            format!("steps:\n- {{name: A, command: ['true'], when: {{exists: '{pattern}'}}}}\n");
        world.write("flow.yaml", &flow);
        let run = ["orchestrate", "run", "flow.yaml", "--json"];
        ran(&mut command(&world, &run))
    };
    assert_eq!(exists(100).exits(0).step("A")["status"], "completed");
    let failed = exists(MOST_FILES + 100).exits(2);
    assert_eq!(failed.failure("A"), (2, "condition_error"));
    let removed = Command::new("rm").arg("-rf").arg(&top).status().unwrap();
    assert!(removed.success());
}

/// Runs a command as somebody who may not read everything.
fn as_a_user(world: &World, args: &[&str]) -> Ran {
    if !geteuid().is_root() {
        return ran(&mut world.command(args));
    }
    let mut command = world.command_of("setpriv");
    let but = "-dac_override,-dac_read_search";
    let words = ["--bounding-set", but, "--inh-caps", but];
    ran(command.args(words).arg(binary()).args(args))
}

#[test]
fn an_archive_waits_until_every_file_can_be_read() {
    let world = World::new();
    world.write("flow.yaml", PLAIN);
    world.write("processed/t/1.task", "one");
    world.write("processed/t/2.task", "two");
    for unreadable in ["processed/t/1.task", "processed/t"] {
        let path = world.project().join(unreadable);
        let set = |mode| fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        set(0o000);
        let args = [
            "orchestrate",
            "run",
            "flow.yaml",
            "--json",
            "--archive-processed",
            "all.zip",
        ];
        let stopped = as_a_user(&world, &args).exits(1);
        assert_eq!(stopped.state["status"], "interrupted");
        assert_eq!(stopped.summary["status"], "interrupted");
        let said = format!("cannot read `{unreadable}`");
        let id = stopped.id().to_owned();
        stopped.run.says(&said).says("Permission denied");
        assert!(!world.project().join("all.zip").exists());
        set(0o700);
        let args = ["orchestrate", "resume", &id, "--json"];
        let done = as_a_user(&world, &args).exits(0);
        assert_eq!(done.summary["status"], "completed");
        let zip = world.project().join("all.zip");
        assert_eq!(names_in(&zip), ["processed/t/1.task", "processed/t/2.task"]);
        fs::remove_file(zip).unwrap();
    }
}

#[test]
fn a_process_that_is_killed_while_it_makes_an_archive_leaves_nothing_beside_it() {
    let world = World::new();
    world.write("flow.yaml", PLAIN);
    world.write("processed/large.task", "");
    let large = world.project().join("processed/large.task");
    let large = fs::OpenOptions::new().write(true).open(large).unwrap();
    large.set_len(1 << 30).unwrap();
    let folder = world.dir().join("archives");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("all.zip"), "old").unwrap();
    let zip = folder.join("all.zip");
    let args = [
        "orchestrate",
        "run",
        "flow.yaml",
        "--run-id",
        "r",
        "--archive-processed",
    ];
    let mut command = world.command(&[&args[..], &[zip.to_str().unwrap()]].concat());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let files = format!("/proc/{}/fd", child.id());
    wait_until("the archive is being made", || {
        let open = fs::read_dir(&files).into_iter().flatten().flatten();
        let mut open = open.filter_map(|file| fs::read_link(file.path()).ok());
        open.any(|file| file.starts_with(&folder) && file != folder)
    });
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read(&zip).unwrap(), b"old");
    large.set_len(10).unwrap();
    world.uwf(&["orchestrate", "resume", "r"]).exits(0);
    assert_eq!(names_in(&zip), ["processed/large.task"]);
    let left = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["all.zip"]);
}
