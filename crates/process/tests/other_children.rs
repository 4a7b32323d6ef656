//! Children that somebody else in the same process waits for. A process collects its children, so this file has one test.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use uwf_process::{ShortEnd, ShortLimits, Signals, Tree, run_short};

/// Starts a child that ends with this exit code once its stdin is closed.
fn child(code: u8) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("read _; exit {code}")]);
    command.stdin(Stdio::piped()).spawn().expect("sh starts")
}

/// Ends a child, and waits until it has ended. Its status is left.
fn end(child: &mut Child) {
    drop(child.stdin.take());
    let state = format!("/proc/{}/stat", child.id());
    while !std::fs::read_to_string(&state)
        .expect("a child that nobody waited for is there")
        .contains(") Z ")
    {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_tree_leaves_the_ends_of_older_children_to_those_who_wait_for_them() {
    let signals = Signals::default();
    signals.watch().unwrap();
    let [mut before, mut meanwhile, mut after] = [3, 4, 5].map(child);
    end(&mut before);

    // Its program ends only after the other child has.
    let mut command = Command::new("sh");
    command.args(["-c", "read _; (sleep 0.1) & exit 7"]);
    let mut tree = Tree::spawn(command.stdin(Stdio::piped())).unwrap();
    end(&mut meanwhile);
    assert_eq!(tree.status(), None);
    drop(tree.take_stdin());
    let begun = Instant::now();
    // What it left running ends well, and the others are not part of it. This looks all the time, so that the end of the orphan
    // is likely to come within a look.
    while !tree.ended_well_below() {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    assert_eq!(tree.status().unwrap().code(), Some(7));
    assert_eq!(tree.succeeded_orphans().len(), 1);

    let limits = ShortLimits {
        time: Duration::from_secs(60),
        kept: 64,
    };
    let short = run_short(
        Command::new("sh").args(["-c", "exit 6"]),
        b"",
        limits,
        &signals,
    );
    assert!(matches!(short.unwrap().end, ShortEnd::Exited(status) if status.code() == Some(6)));
    assert_eq!(before.try_wait().unwrap().unwrap().code(), Some(3));
    assert_eq!(meanwhile.try_wait().unwrap().unwrap().code(), Some(4));
    assert_eq!(after.try_wait().unwrap(), None);
    end(&mut after);
    assert_eq!(after.wait().unwrap().code(), Some(5));
}
