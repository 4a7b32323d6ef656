//! A call of `git` with a limit of time. It is alone in its process: the supervisor waits for every child of the process.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the value"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use uwf_snapshot::{Limited, Repository, SnapshotError};

fn git(folder: &Path, args: &[&str]) {
    let status = Command::new("git").args(args).current_dir(folder).status();
    assert!(status.unwrap().success(), "{args:?}");
}

#[test]
fn a_look_in_which_a_filter_hangs_ends_with_its_time() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(root.join("kept"), "one\n").unwrap();
    git(root, &["add", "kept"]);
    git(root, &["config", "filter.slow.clean", "sleep 1000"]);
    fs::write(root.join(".gitattributes"), "kept filter=slow\n").unwrap();
    // Of the same size and another time, so git has to look into it.
    std::thread::sleep(Duration::from_millis(1100));
    fs::write(root.join("kept"), "two\n").unwrap();
    let repository = Repository::of(root).unwrap().unwrap();
    let limit = Duration::from_millis(300);
    let looked = repository.uncommitted(&Limited { limit });
    assert!(
        matches!(looked, Err(SnapshotError::TooSlow { .. })),
        "{looked:?}"
    );
}
