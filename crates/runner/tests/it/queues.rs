//! Queues of tasks, and the files of items.

use std::fs;
use std::io::{self, Read};

use uwf_pipeline::course::MoveTask;
use uwf_pipeline::{ErrorKind, ItemResult, Lifecycle, Masks};

use uwf_runner::Queue;

use crate::world::World;

fn queue<'a>(folder: &'a str, claimed: &'a str) -> Queue<'a> {
    Queue {
        folder,
        extension: ".task",
        claimed,
    }
}

/// A content that fails after its beginning.
struct Broken(bool);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if std::mem::replace(&mut self.0, true) {
            return Err(io::Error::other("broken"));
        }
        buffer[0] = b'x';
        Ok(1)
    }
}

#[test]
fn a_task_appears_whole_and_overwrites_nothing() {
    let world = World::new();
    let put = |path: &str, text: &str| world.workspace.put_task(path, &mut text.as_bytes());
    put("inbox/qa/1.task", "first").unwrap();
    assert_eq!(world.read("inbox/qa/1.task"), "first");
    let failure = put("inbox/qa/1.task", "second").unwrap_err();
    assert_eq!(failure.kind, ErrorKind::PathError);
    assert!(failure.message.contains("is not overwritten"));
    assert_eq!(world.read("inbox/qa/1.task"), "first");
    let failure = world
        .workspace
        .put_task("inbox/qa/2.task", &mut Broken(false));
    assert!(failure.unwrap_err().message.contains("broken"));
    assert_eq!(world.names("inbox/qa"), ["1.task"]);
    for path in ["../x.task", "/tmp/x.task", "closed/x.task"] {
        let failure = put(path, "").unwrap_err();
        assert_eq!(failure.kind, ErrorKind::PathViolation, "{path}");
    }
}

#[test]
fn a_task_that_is_being_written_is_none() {
    /// Looks at the folder while the task is written.
    struct Looking<'a>(&'a World, Option<Vec<String>>);
    impl Read for Looking<'_> {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.1.get_or_insert_with(|| self.0.names("inbox"));
            let tasks = self.0.workspace.tasks("inbox", ".task");
            assert_eq!(tasks.unwrap().paths, Vec::<String>::new());
            Ok(0)
        }
    }
    let world = World::new();
    let mut looking = Looking(&world, None);
    world
        .workspace
        .put_task("inbox/1.task", &mut looking)
        .unwrap();
    let seen = looking.1.unwrap();
    assert!(seen.len() == 1 && seen[0].starts_with("1.task.") && seen[0].ends_with(".tmp"));
    assert_eq!(world.names("inbox"), ["1.task"]);
}

#[test]
fn tasks_are_listed_in_order_with_those_of_folders_below() {
    let world = World::new();
    for path in [
        "q/b.task",
        "q/a/z.task",
        "q/c.txt",
        "q/.h.task",
        "q/.claimed/r/x.task",
    ] {
        world.write(path, "");
    }
    world.link("q/link.task", "b.task");
    let tasks = |folder| world.workspace.tasks(folder, ".task").unwrap().paths;
    assert_eq!(tasks("q"), ["q/a/z.task", "q/b.task"]);
    assert_eq!(tasks("q/a"), ["q/a/z.task"]);
    assert!(tasks("none").is_empty());
    assert_eq!(tasks("."), ["q/a/z.task", "q/b.task"]);
}

#[test]
fn a_task_is_claimed_once() {
    let world = World::new();
    for name in 0..20 {
        world.write(&format!("inbox/{name:02}.task"), "");
    }
    let claim = |run: usize| {
        let mut claimed = Vec::new();
        let folder = format!("inbox/.claimed/{run}");
        while let Some((task, path)) = world
            .workspace
            .claim_task(&queue("inbox", &folder), None)
            .unwrap()
            .task
        {
            assert!(world.inside(&path).is_file());
            claimed.push(task);
        }
        claimed
    };
    let mut all = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|run| scope.spawn(move || claim(run))).collect();
        let claimed = runs.into_iter().flat_map(|run| run.join().unwrap());
        claimed.collect::<Vec<_>>()
    });
    all.sort();
    let expected: Vec<String> = (0..20)
        .map(|name| format!("inbox/{name:02}.task"))
        .collect();
    assert_eq!(all, expected);
}

#[test]
fn a_run_claims_no_task_that_it_has_already_but_those_of_another_run() {
    let world = World::new();
    world.write("inbox/.claimed/mine/a.task", "");
    world.write("inbox/.claimed/lost/b.task", "");
    let claim = || {
        let queue = queue("./inbox/.claimed", "./inbox/.claimed/mine");
        let claimed = world.workspace.claim_task(&queue, None);
        claimed.unwrap().task.map(|(task, _)| task)
    };
    assert_eq!(claim().as_deref(), Some("inbox/.claimed/lost/b.task"));
    assert_eq!(claim(), None);
    assert_eq!(world.names("inbox/.claimed/mine"), ["a.task", "b.task"]);
}

#[test]
fn a_task_that_cannot_be_claimed_keeps_nobody_from_the_next_one() {
    let world = World::new();
    world.write("closed/a.task", "");
    world.write("inbox/b.task", "");
    let folder = "inbox/.claimed/mine";
    let claim = || world.workspace.claim_task(&queue(".", folder), None);
    let claimed = claim().unwrap();
    assert_eq!(claimed.task.unwrap().0, "inbox/b.task");
    assert_eq!(claimed.refused.len(), 1);
    let none = claim().unwrap();
    assert!(none.task.is_none());
    assert!(
        none.refused[0].message.contains("closed/a.task"),
        "{none:?}"
    );
    assert!(world.inside("closed/a.task").is_file());
}

#[test]
fn a_moved_file_takes_another_name_if_its_own_is_taken() {
    let world = World::new();
    for expected in ["done/t/a.task", "done/t/a.task.1", "done/t/a.task.2"] {
        world.write("inbox/a.task", expected);
        let moved = world.workspace.move_into("inbox/a.task", "done/t");
        assert_eq!(moved.unwrap(), expected);
        assert_eq!(world.read(expected), expected);
    }
    assert!(world.names("inbox").is_empty());
}

#[test]
fn only_regular_files_of_the_workspace_are_moved_and_only_within_it() {
    let world = World::new();
    world.write("a", "");
    fs::write(world.outside("x"), "").unwrap();
    world.link("link", "a");
    world.link("out", world.outside(""));
    let refused = |from: &str, to: &str| world.workspace.move_into(from, to).unwrap_err().kind;
    for from in [".", "closed", "link", "missing", "a/b"] {
        assert_eq!(refused(from, "to"), ErrorKind::PathError, "{from}");
    }
    for (from, to) in [
        ("out/x", "to"),
        ("../outside/x", "to"),
        ("a", "out"),
        ("a", "closed"),
    ] {
        assert_eq!(
            refused(from, to),
            ErrorKind::PathViolation,
            "{from} to {to}"
        );
    }
    assert_eq!(refused("a", "link"), ErrorKind::PathError);
    assert_eq!(world.names_outside(), ["x"]);
    assert_eq!(world.names(""), ["a", "closed", "link", "out"]);
}

#[test]
fn the_file_of_an_item_is_moved_once_however_often_it_is_tried() {
    let world = World::new();
    world.write("inbox/a.task", "");
    let task = |from: &str| MoveTask {
        result: ItemResult::Failure,
        from: from.to_owned(),
        to: "failed/t".to_owned(),
    };
    let done = |from: &str| -> Lifecycle {
        let result = world
            .workspace
            .move_item(&task(from), &Masks::of([]))
            .unwrap();
        assert_eq!(result.exit_code, 0);
        result.lifecycle.unwrap()
    };
    for _ in 0..2 {
        let lifecycle = done("inbox/a.task");
        assert!(lifecycle.action_applied && lifecycle.error.is_none());
        assert_eq!(world.names("failed/t"), ["a.task"]);
    }
    let lifecycle = done("inbox/missing.task");
    assert!(!lifecycle.action_applied);
    assert_eq!(lifecycle.error.unwrap(), "there is no `inbox/missing.task`");
}
