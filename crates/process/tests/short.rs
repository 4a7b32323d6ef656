//! Short programs. A process collects all its children, so this file has one test.

use std::process::Command;
use std::time::Duration;

use uwf_process::{ShortEnd, ShortLimits, Signals, run_short};

const LONG: Duration = Duration::from_secs(120);

#[test]
fn a_short_program_gets_its_input_and_is_ended_when_it_takes_or_says_too_much() {
    let signals = Signals::default();
    let run = |script: &str, input: &[u8], time: Duration| {
        run_short(
            Command::new("sh").args(["-c", script]),
            input,
            ShortLimits { time, kept: 64 },
            &signals,
        )
        .unwrap()
    };
    let much = vec![b'x'; 300_000];
    let counted = run("wc -c; echo warned >&2; exit 3", &much, LONG);
    assert!(matches!(counted.end, ShortEnd::Exited(status) if status.code() == Some(3)));
    assert_eq!(
        String::from_utf8(counted.said).unwrap().trim(),
        "300000\nwarned"
    );
    let long = run("seq 100 999", b"", LONG);
    assert_eq!(long.said.len(), 64, "the end is kept");
    assert!(long.said.ends_with(b"998\n999\n"));
    // Input that nobody reads keeps nobody waiting, nor does what is left running.
    let dir = tempfile::tempdir().unwrap();
    let left = dir.path().join("left");
    let script = format!(
        "(while [ ! -e '{}' ]; do sleep 0.01; done) & exit 0",
        left.display()
    );
    let ignoring = run(&script, &much, LONG);
    assert!(matches!(ignoring.end, ShortEnd::Exited(status) if status.success()));
    std::fs::write(&left, "").unwrap();

    let limit = Duration::from_millis(50);
    let slow = run("echo begun; sleep 600 & sleep 600", b"", limit);
    assert_eq!(slow.end, ShortEnd::TimedOut(limit));
    assert_eq!(run("yes", b"", LONG).end, ShortEnd::TooMuch);
}
