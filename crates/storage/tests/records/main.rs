//! The records in the folder of a run.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_storage::{Root, RunDir};

mod runs;
mod sessions;

fn world() -> (tempfile::TempDir, RunDir) {
    let temp = tempfile::tempdir().unwrap();
    let run = Root::at(temp.path().to_owned()).run(ThreadId::new(1, 2));
    (temp, run)
}

fn role(name: &str) -> RoleName {
    name.parse().unwrap()
}
