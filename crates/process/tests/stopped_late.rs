//! A signal that was sent to a program and to this process, and reaches the program first. A process collects all its
//! children, so this file has one test.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

use std::process::Command;

use uwf_process::{Limits, OutputSeen, Signals, Tree, WaitEnd};

fn end_of(script: &str, signals: &Signals) -> WaitEnd {
    let mut tree = Tree::spawn(Command::new("sh").args(["-c", script])).unwrap();
    tree.wait(signals, Limits::default(), &mut || OutputSeen::Nothing)
}

#[test]
fn a_program_that_a_signal_ended_was_stopped_if_this_process_gets_the_same_signal_soon_after() {
    let signals = Signals::default();
    signals.watch().unwrap();
    assert_eq!(end_of("kill -TERM $$", &signals), WaitEnd::Exited);
    let end = end_of("(sleep 0.03; kill -TERM $PPID) & kill -TERM $$", &signals);
    assert!(matches!(end, WaitEnd::Stopped(_)), "{end:?}");
}
