//! Ending a tree by a chosen signal. A process collects all its children, so this file has one test.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use uwf_process::{Signals, Tree};

const LONG: Duration = Duration::from_secs(60);
const SIGTERM: i32 = 15;

/// A shell with a shell below it, both with handlers for two signals.
const TRAPS: &str = "\
    trap 'echo outer TERM; exit' TERM; trap 'echo outer INT; exit' INT
    sh -c \"trap 'echo inner TERM; exit' TERM; trap 'echo inner INT; exit' INT
        echo ready; while :; do sleep 0.01; done\" &
    wait";

/// Starts a script, waits until it is ready, ends it, and returns what it said then and how long it took.
fn end(script: &str, end: impl Fn(&mut Tree, &Signals)) -> (String, Duration) {
    let signals = Signals::default();
    signals.watch().unwrap();
    let mut command = Command::new("sh");
    let mut tree = Tree::spawn(command.args(["-c", script]).stdout(Stdio::piped())).unwrap();
    let mut output = BufReader::new(tree.take_stdout().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let started = Instant::now();
    end(&mut tree, &signals);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    (rest, started.elapsed())
}

#[test]
fn every_process_of_a_tree_gets_the_chosen_signal_and_then_the_kill() {
    let (said, _) = end(TRAPS, |tree, signals| {
        assert!(tree.end_by(SIGTERM, LONG, signals).is_empty());
    });
    let mut said: Vec<&str> = said.lines().collect();
    said.sort_unstable();
    assert_eq!(said, ["inner TERM", "outer TERM"]);

    let deaf = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    let grace = Duration::from_millis(100);
    let (_, took) = end(deaf, |tree, signals| {
        assert!(tree.end_by(SIGTERM, grace, signals).is_empty());
    });
    assert!(took >= grace && took < LONG);
    let (_, took) = end(deaf, |tree, signals| assert!(tree.kill(signals).is_empty()));
    assert!(took < LONG);
}
