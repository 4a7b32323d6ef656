//! A program that ends at the moment in which this process is told to stop. A process collects all its children, so this
//! file has one test.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

use std::process::Command;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use uwf_process::{Limits, OutputSeen, Signals, Tree, WaitEnd};

/// Starts a program that tells this process to stop, waits until both have happened, and returns what the tree makes of it.
fn end_of(script: &str, signals: &Signals) -> WaitEnd {
    let script = format!("kill -TERM $PPID; {script}");
    let mut tree = Tree::spawn(Command::new("sh").args(["-c", &script])).unwrap();
    let pid = Pid::from_raw(tree.leader().try_into().unwrap()).unwrap();
    let look_only = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), look_only).unwrap();
    tree.wait(signals, Limits::default(), &mut || OutputSeen::Nothing)
}

#[test]
fn a_program_that_fails_when_this_process_is_told_to_stop_was_stopped() {
    let signals = Signals::default();
    signals.watch().unwrap();
    assert_eq!(end_of("exit 0", &signals), WaitEnd::Exited);
    for failure in ["exit 3", "kill -INT $$"] {
        let end = end_of(failure, &signals);
        assert!(matches!(end, WaitEnd::Stopped(_)), "{failure}: {end:?}");
    }
}
