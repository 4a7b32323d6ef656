//! The files that a step changed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ids::ThreadId;

/// The snapshots of the files before and after a step: commits in the repository that its agent worked in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepFiles {
    /// The folder of the working tree.
    pub repository: String,
    /// The commit with the files as they were before the first attempt at the step.
    pub before: String,
    /// The commit with the files as they were when the answer was accepted.
    pub after: String,
    /// Untracked files that the later commit does not have, because they are too large: the first ones, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// How many files that were left out are named.
const NAMED: usize = 20;

/// Returns the names of files that a snapshot leaves out, as they are recorded and shown.
#[must_use]
pub fn names_left_out(files: &[PathBuf]) -> Vec<String> {
    let named = files.iter().take(NAMED);
    named
        .map(|file| file.to_string_lossy().into_owned())
        .collect()
}

impl StepFiles {
    /// Tells whether both commits are full names of objects. Anything else is no commit that we made, and `git` could take it
    /// for an option.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_name = |commit: &str| {
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        is_name(&self.before) && is_name(&self.after)
    }
}

/// The folder of the git references that keep the snapshots of threads.
pub const REFERENCES: &str = "refs/uwf/threads/";

/// Returns the git reference that keeps the snapshots of a thread.
#[must_use]
pub fn reference_of(thread: ThreadId) -> String {
    format!("{REFERENCES}{thread}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_commits_are_sound() {
        let files = |before: &str| StepFiles {
            repository: "/work".to_owned(),
            before: before.to_owned(),
            after: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            left_out: Vec::new(),
        };
        let full = files("").after;
        assert!(files(&full).is_sound());
        assert!(files(&full.repeat(2)[..64]).is_sound());
        for bad in [
            "",
            "HEAD",
            "--output=/work/file",
            &full[1..],
            &full.replace('0', "-"),
        ] {
            assert!(!files(bad).is_sound(), "{bad}");
        }
    }
}
