//! Queues of tasks: a task appears whole, belongs to one claimer, and never leaves the workspace.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use crate::full_disk::command_with_room_for;
use crate::world::{Run, World, wait_until};

/// The id of a run, as steps find it in their environment.
const RUN: &str = "20261121T093000Z-k7m2qx";

fn task(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["orchestrate", "task"], args].concat())
}

/// Runs a command as a step of a run does.
fn task_in_run(world: &World, args: &[&str]) -> Run {
    let mut command = world.command(&[&["orchestrate", "task"], args].concat());
    command.env("ORCHESTRATE_RUN_ID", RUN);
    command.output().unwrap().into()
}

/// Puts a file of the project into a queue.
fn put(world: &World, path: &str, content: &Path) -> Run {
    let mut command = world.command(&["orchestrate", "task", "put", path]);
    command.stdin(File::open(content).unwrap());
    command.output().unwrap().into()
}

/// Starts to put a task whose content comes later.
fn putting(world: &World, path: &str) -> Child {
    let mut command = world.command(&["orchestrate", "task", "put", path]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.spawn().unwrap()
}

/// Returns the names in a folder of the project, sorted.
fn names(world: &World, folder: &str) -> Vec<String> {
    let found = fs::read_dir(world.project().join(folder)).unwrap();
    let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names.collect();
    names.into_iter().collect()
}

#[test]
fn a_task_goes_from_standard_input_through_a_queue_to_its_end() {
    let world = World::new();
    let review = world.write("review.md", "Review this\n");
    let run = put(&world, "inbox/qa/1.task", &review).exits(0);
    assert_eq!(run.stdout, "inbox/qa/1.task\n");
    assert_eq!(task(&world, &["list"]).exits(0).stdout, run.stdout);
    let claimed = format!("inbox/.claimed/{RUN}/1.task");
    let run = task_in_run(&world, &["claim", "inbox/qa"]).exits(0);
    assert_eq!(run.stdout, format!("{claimed}\n"));
    assert_eq!(task(&world, &["list"]).exits(0).stdout, "");
    let run = task_in_run(&world, &["done", &claimed]).exits(0);
    assert_eq!(run.stdout, "processed/20261121T093000Z/1.task\n");
    let content = world.project().join("processed/20261121T093000Z/1.task");
    assert_eq!(fs::read_to_string(content).unwrap(), "Review this\n");
    assert!(!world.root().exists());
}

#[test]
fn the_folder_of_a_finished_task_is_called_after_the_run_or_the_time() {
    let world = World::new();
    let fail = |args: &[&str]| {
        world.write("a.task", "");
        let run = task_in_run(&world, &[&["fail", "a.task"], args].concat());
        run.exits(0).stdout
    };
    let given = fail(&["--timestamp", "20200101T000000Z"]);
    assert_eq!(given, "failed/20200101T000000Z/a.task\n");
    assert_eq!(fail(&[]), "failed/20261121T093000Z/a.task\n");
    assert_eq!(fail(&[]), "failed/20261121T093000Z/a.task.1\n");
    world.write("b.task", "");
    let now = task(&world, &["done", "b.task"]).exits(0).stdout;
    let form = regex::Regex::new(r"^processed/20\d{6}T\d{6}Z/b\.task\n$").unwrap();
    assert!(form.is_match(&now), "{now}");
    world.write("c.task", "");
    task(&world, &["done", "c.task", "--timestamp", "../x"])
        .exits(2)
        .says("hint: write it as `--timestamp 20261121T093000Z`");
    assert!(world.project().join("c.task").exists());
}

#[test]
fn results_are_data_on_demand() {
    let world = World::new();
    for name in ["a", "b"] {
        world.write(&format!("inbox/{name}.task"), "");
    }
    let list = task(&world, &["list", "--json"]).exits(0).json();
    let expected = json!({"dir": "inbox", "tasks": ["inbox/a.task", "inbox/b.task"]});
    assert_eq!(list, expected);
    let list = task(&world, &["list", "--format", "json"]).exits(0).json();
    assert_eq!(list, expected);
    let claim = task(&world, &["claim", "--run-id", "r", "--json"]).exits(0);
    let path = "inbox/.claimed/r/a.task";
    assert_eq!(claim.json(), json!({"from": "inbox/a.task", "path": path}));
    let args = ["done", path, "--timestamp", "20200101T000000Z", "--json"];
    let done = "processed/20200101T000000Z/a.task";
    let run = task(&world, &args).exits(0);
    assert_eq!(run.json(), json!({"from": path, "path": done}));
    let empty = world.write("empty", "");
    let mut command = world.command(&["orchestrate", "task", "put", "inbox/c.task", "--json"]);
    command.stdin(File::open(empty).unwrap());
    let run: Run = command.output().unwrap().into();
    assert_eq!(run.exits(0).json(), json!({"path": "inbox/c.task"}));
}

#[test]
fn a_workflow_and_another_workspace_name_other_folders() {
    let world = World::new();
    world.write(
        "flow.yaml",
        "inbox_dir: in\nprocessed_dir: out/done\nfailed_dir: out/failed\ntask_extension: .job\n\
         steps:\n- name: A\n  command: [a]\n",
    );
    world.write("work/in/1.job", "");
    world.write("work/in/1.task", "");
    let there = |args: &[&str]| {
        let place = ["--workspace", "work", "--workflow", "flow.yaml"];
        task_in_run(&world, &[args, &place].concat())
    };
    assert_eq!(there(&["list"]).exits(0).stdout, "in/1.job\n");
    let claimed = there(&["claim"]).exits(0).stdout;
    assert_eq!(claimed, format!("in/.claimed/{RUN}/1.job\n"));
    let failed = there(&["fail", claimed.trim_end()]).exits(0).stdout;
    assert_eq!(failed, "out/failed/20261121T093000Z/1.job\n");
    assert!(
        world
            .project()
            .join("work")
            .join(failed.trim_end())
            .exists()
    );
    there(&["put", "in/2.task"])
        .exits(2)
        .says("the name of a task ends with `.job`");
    world.write(
        "flow.yaml",
        "inbox_dir: ../in\nsteps:\n- name: A\n  command: [a]\n",
    );
    there(&["list"]).exits(2).says("V11");
    let args = ["list", "--workspace", "nowhere"];
    task(&world, &args)
        .exits(2)
        .says("cannot use the workspace")
        .says("hint: `--workspace` names a folder");
}

#[test]
fn a_shell_loop_claims_every_task_and_ends() {
    let world = World::new();
    for name in ["a b", "c", "d\u{1b}[2J"] {
        world.write(&format!("inbox/{name}.task"), name);
    }
    let script = "while file=$(\"$0\" orchestrate task claim --run-id r); do cat \"$file\"; echo; done; echo $?";
    let mut command = world.command_of("sh");
    command.args(["-c", script]).arg(crate::world::binary());
    let run: Run = command.output().unwrap().into();
    assert_eq!(run.stdout, "a b\nc\nd\u{1b}[2J\n0\n");
    assert_eq!(run.stderr, "");
    let run = task(&world, &["claim", "--run-id", "r"]).exits(1);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

#[test]
fn who_claims_must_be_named() {
    let world = World::new();
    world.write("inbox/a.task", "");
    task(&world, &["claim"])
        .exits(2)
        .says("no ORCHESTRATE_RUN_ID in the environment")
        .says("such as `--run-id nightly`");
    for id in ["..", "a/b", ".a", ""] {
        task(&world, &["claim", "--run-id", id])
            .exits(2)
            .says("cannot be the id of a run");
    }
    assert_eq!(names(&world, "inbox"), ["a.task"]);
}

#[test]
fn two_processes_that_claim_at_once_get_each_task_once() {
    const TASKS: usize = 200;
    let world = World::new();
    let expected: Vec<String> = (0..TASKS).map(|n| format!("{n:03}.task")).collect();
    for name in &expected {
        world.write(&format!("inbox/{name}"), name);
    }
    let claim_all = |run: &str| {
        let mut claimed = Vec::new();
        loop {
            let one = task(&world, &["claim", "--run-id", run]);
            if one.code == 1 {
                return claimed;
            }
            claimed.push(one.exits(0).stdout.trim_end().to_owned());
        }
    };
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| claim_all("one"));
        let second = scope.spawn(|| claim_all("two"));
        (first.join().unwrap(), second.join().unwrap())
    });
    assert!(!first.is_empty() && !second.is_empty());
    let mut claimed = Vec::new();
    for path in first.iter().chain(&second) {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let content = fs::read_to_string(world.project().join(path)).unwrap();
        assert_eq!(content, name);
        claimed.push(name.to_owned());
    }
    claimed.sort();
    assert_eq!(claimed, expected);
    assert_eq!(names(&world, "inbox"), [".claimed"]);
}

#[test]
fn a_worker_takes_what_another_one_left_behind() {
    let world = World::new();
    world.write("inbox/.claimed/lost/a.task", "");
    task(&world, &["claim", "--run-id", "new"]).exits(1);
    let claim = || task(&world, &["claim", "inbox/.claimed", "--run-id", "new"]);
    assert_eq!(claim().exits(0).stdout, "inbox/.claimed/new/a.task\n");
    claim().exits(1);
}

#[test]
fn a_queue_that_is_not_there_is_told_from_one_that_is_empty() {
    let world = World::new();
    let claim = |dir: &[&str]| task(&world, &[&["claim", "--run-id", "r"], dir].concat());
    claim(&["nothere/"])
        .exits(1)
        .says("there is no queue `nothere/`")
        .says("`uwf orchestrate task put nothere/1.task` makes the queue");
    task(&world, &["list", "nothere"])
        .exits(0)
        .says("there is no folder `nothere`");
    fs::create_dir(world.project().join("empty")).unwrap();
    for dir in [&["empty"][..], &[]] {
        let run = claim(dir).exits(1);
        assert_eq!(run.stderr, "", "{dir:?}");
    }
    assert_eq!(task(&world, &["list", "empty"]).exits(0).stderr, "");
}

#[test]
fn a_reader_never_sees_a_part_of_a_task() {
    const BYTES: usize = 1 << 20;
    let world = World::new();
    let content = world.write("content", &"x".repeat(BYTES));
    fs::create_dir(world.project().join("inbox")).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..20 {
                put(&world, &format!("inbox/{number}.task"), &content).exits(0);
            }
        });
        while !writer.is_finished() {
            for entry in fs::read_dir(world.project().join("inbox")).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|ending| ending == "task") {
                    assert_eq!(path.metadata().unwrap().len(), BYTES as u64);
                }
            }
        }
    });
    assert_eq!(names(&world, "inbox").len(), 20);
}

#[test]
fn a_put_that_is_killed_leaves_no_task() {
    let world = World::new();
    let mut child = putting(&world, "inbox/a.task");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&[b'x'; 100_000]).unwrap();
    let inbox = world.project().join("inbox");
    wait_until("a part is written", || {
        let found = fs::read_dir(&inbox).into_iter().flatten();
        let mut sizes = found.map(|entry| entry.unwrap().metadata().unwrap().len());
        sizes.any(|size| size > 0)
    });
    assert_eq!(task(&world, &["list"]).exits(0).stdout, "");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
    let left = names(&world, "inbox");
    assert!(left.iter().all(|name| name.ends_with(".tmp")), "{left:?}");
    task(&world, &["claim", "--run-id", "r"]).exits(1);
    let content = world.write("content", "whole");
    put(&world, "inbox/a.task", &content).exits(0);
}

#[test]
fn a_full_disk_leaves_nothing_of_a_task() {
    let world = World::new();
    let content = world.write("content", &"x".repeat(100_000));
    let args = ["orchestrate", "task", "put", "inbox/a.task"];
    let mut command = command_with_room_for(8, &world, &args);
    command.stdin(File::open(content).unwrap());
    let run: Run = command.output().unwrap().into();
    run.exits(2).says("error: cannot write `inbox/a.task`");
    assert!(names(&world, "inbox").is_empty());
}

#[test]
fn a_task_overwrites_nothing() {
    let world = World::new();
    let content = world.write("content", "new");
    world.write("inbox/file.task", "old");
    symlink("nowhere", world.project().join("inbox/link.task")).unwrap();
    let fifo = world.project().join("inbox/fifo.task");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    for name in ["file", "link", "fifo"] {
        put(&world, &format!("inbox/{name}.task"), &content)
            .exits(2)
            .says("is not overwritten")
            .says("hint: choose another name");
    }
    let old = fs::read_to_string(world.project().join("inbox/file.task"));
    assert_eq!(old.unwrap(), "old");
    let left = ["fifo.task", "file.task", "link.task"];
    assert_eq!(names(&world, "inbox"), left);
}

#[test]
fn nothing_is_put_or_moved_out_of_the_workspace() {
    let world = World::new();
    let content = world.write("content", "x");
    let outside = world.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x.task"), "").unwrap();
    symlink(&outside, world.project().join("out")).unwrap();
    let absolute = outside.join("y.task");
    let hint = "hint: paths are relative to the workspace";
    for path in [
        "../y.task",
        "out/y.task",
        absolute.to_str().unwrap(),
        "a/../y.task",
    ] {
        put(&world, path, &content).exits(2).says(hint);
    }
    for command in ["done", "fail"] {
        for file in ["../outside/x.task", "out/x.task"] {
            task(&world, &[command, file]).exits(2).says(hint);
        }
    }
    for dir in ["..", "out", "/"] {
        task(&world, &["list", dir]).exits(2).says(hint);
        task(&world, &["claim", dir, "--run-id", "r"])
            .exits(2)
            .says(hint);
    }
    symlink(&outside, world.project().join("processed")).unwrap();
    task(&world, &["done", "content"]).exits(2).says(hint);
    world.write("inbox/a.task", "");
    symlink(&outside, world.project().join("inbox/.claimed")).unwrap();
    task(&world, &["claim", "--run-id", "r"])
        .exits(2)
        .says(hint);
    let left = fs::read_dir(&outside).unwrap().count();
    assert_eq!((left, content.exists()), (1, true));
}

#[test]
fn only_files_that_are_found_later_are_put() {
    let world = World::new();
    let content = world.write("content", "x");
    for path in [
        "inbox/a",
        "inbox/a.task.tmp",
        "inbox/.a.task",
        ".orchestrate/a.task",
        "inbox/",
    ] {
        put(&world, path, &content)
            .exits(2)
            .says("is no path of a task")
            .says("hint: name a file such as `inbox/qa/1.task`");
    }
    assert_eq!(names(&world, ""), ["content"]);
}

#[test]
fn only_a_file_is_finished() {
    let world = World::new();
    world.write("inbox/folder/a.task", "");
    symlink("a.task", world.project().join("inbox/folder/link.task")).unwrap();
    let fifo = world.project().join("inbox/folder/fifo.task");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    for (file, why) in [
        ("inbox/missing.task", "there is no `inbox/missing.task`"),
        ("inbox/folder", "is a directory, not a file"),
        ("inbox/folder/fifo.task", "is a FIFO, not a file"),
        ("inbox/folder/link.task", "is a link, not a file"),
    ] {
        task(&world, &["done", file])
            .exits(2)
            .says(why)
            .says("hint: `uwf orchestrate task list` shows the tasks that wait");
    }
    assert_eq!(task(&world, &["list"]).stdout, "inbox/folder/a.task\n");
    assert!(!world.project().join("processed").exists());
}

#[test]
fn the_folders_of_runs_and_of_the_store_are_no_queues() {
    let world = World::new();
    let content = world.write("content", "x");
    world.write(".orchestrate/runs/state.json", "{}");
    world.write("runs/state.json", "{}");
    let file = ".orchestrate/runs/state.json";
    let why = "is a place of the records of runs";
    task(&world, &["done", file]).exits(2).says(why);
    let mut command = world.command(&["orchestrate", "task", "put", "runs/a.task"]);
    command.env("ORCHESTRATE_STATE_DIR", "runs");
    command.stdin(File::open(content).unwrap());
    let run: Run = command.output().unwrap().into();
    run.exits(2).says(why);
    assert_eq!(names(&world, "runs"), ["state.json"]);
}
