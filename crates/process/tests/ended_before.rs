//! A process that ends by itself right before it would be asked to end. A process collects all its children, so this file
//! has one test.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use uwf_process::{EndRequest, Process, Signals, Target, Tree, end};

/// A tree whose processes end by themselves while they are listed.
struct Ending {
    tree: Tree,
    /// When this file exists, they end.
    gate: PathBuf,
}

impl Target for Ending {
    fn is_empty(&mut self) -> bool {
        self.tree.is_empty()
    }

    fn members(&self) -> Vec<Process> {
        let members = self.tree.members();
        std::fs::write(&self.gate, "").unwrap();
        let look_only = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        for member in &members {
            let pid = Pid::from_raw(member.pid.try_into().unwrap()).unwrap();
            let _ = waitid(WaitId::Pid(pid), look_only);
        }
        members
    }

    fn before_request(&mut self, members: &[Process]) {
        self.tree.before_request(members);
    }
}

#[test]
fn a_process_that_ended_well_before_it_was_asked_to_has_succeeded() {
    let signals = Signals::default();
    signals.watch().unwrap();
    let dir = tempfile::tempdir().unwrap();
    // The processes of the first tree end by themselves, that of the second one ends well because it is asked to.
    for (gate, expected) in [("gate", 1), ("never", 0)] {
        let (seen, ready) = (
            dir.path().join(gate),
            dir.path().join(format!("{gate}.ready")),
        );
        let script = format!(
            "(trap 'exit 0' TERM; : > '{}'; while [ ! -e '{}' ]; do :; done) & while [ ! -e '{}' ]; do :; done; kill -KILL $$",
            ready.display(),
            seen.display(),
            ready.display(),
        );
        let mut tree = Tree::spawn(Command::new("sh").args(["-c", &script])).unwrap();
        while tree.status().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!tree.is_empty());
        let left = match expected {
            0 => tree.end(EndRequest::NotSent, Duration::from_secs(5), &signals),
            _ => {
                let mut ending = Ending { tree, gate: seen };
                let left = end(
                    &mut ending,
                    EndRequest::NotSent,
                    Duration::from_secs(5),
                    &signals,
                );
                tree = ending.tree;
                left
            }
        };
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(tree.succeeded_orphans().len(), expected, "{gate}");
    }
}
