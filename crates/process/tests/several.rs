//! Several programs of one tree. A process collects all its children, so this file has one test.

use std::process::Command;
use std::time::Duration;

use uwf_process::{EndRequest, NextExit, Signals, Tree};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn the_end_of_each_program_is_told_once_and_all_are_ended_together() {
    let signals = Signals::default();
    signals.watch().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let gate = dir.path().join("gate");
    let wait = format!(
        "while [ ! -e '{}' ]; do sleep 0.01; done; exit 3",
        gate.display()
    );
    let mut tree = Tree::spawn(&mut shell(&wait)).unwrap();
    let quick = tree.add(&mut shell("exit 4")).unwrap();
    let NextExit::Exited { pid, status } = tree.next_exit(&signals) else {
        panic!("a program ends");
    };
    assert_eq!((pid, status.code()), (quick, Some(4)));
    assert_eq!(tree.status(), None, "the first program still runs");
    std::fs::write(&gate, "").unwrap();
    let NextExit::Exited { pid, status } = tree.next_exit(&signals) else {
        panic!("a program ends");
    };
    assert_eq!((pid, status.code()), (tree.leader(), Some(3)));
    assert_eq!(tree.next_exit(&signals), NextExit::NoneLeft);
    // Added later, with a child that outlives it: both are ended with the tree.
    tree.add(&mut shell("setsid sleep 600 & exit 0")).unwrap();
    tree.add(&mut shell("exec sleep 600")).unwrap();
    let NextExit::Exited { status, .. } = tree.next_exit(&signals) else {
        panic!("a program ends");
    };
    assert!(status.success());
    let left = tree.end(EndRequest::NotSent, Duration::from_secs(5), &signals);
    assert!(left.is_empty(), "{left:?}");
    assert!(matches!(
        tree.next_exit(&signals),
        NextExit::Exited { status, .. } if !status.success()
    ));
    assert_eq!(tree.next_exit(&signals), NextExit::NoneLeft);
}
