//! Errors about the files that steps changed.

use std::path::PathBuf;

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_snapshot::SnapshotError;
use uwf_util::text::counted;

use crate::artifact_error::ArtifactError;
use crate::workspace_error::who_works;

/// Why it cannot be told what a step changed.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The step has recorded no files.
    #[error("step `{0}` has recorded no files")]
    OfStep(CasRef),
    /// Children of the step changed files in several repositories, and each step of theirs has recorded its own.
    #[error(
        "step `{0}` changed files in several repositories, and they cannot be put back together"
    )]
    SeveralTrees(CasRef),
    /// Nobody has recorded the files from before the first step of a thread.
    #[error("no files are on record from before the first step after the start `{0}`")]
    OfStart(CasRef),
    /// No step of the thread has recorded files.
    #[error("no step of thread `{0}` has recorded files")]
    OfThread(ThreadId),
    /// No step of the thread has recorded files, and none will: it does not work in a git repository.
    #[error("no step of thread `{thread}` has recorded files: `{}` is in no git repository", directory.display())]
    NoRepository {
        /// The thread.
        thread: ThreadId,
        /// The folder in which it works.
        directory: PathBuf,
    },
    /// Changes would be lost.
    #[error("`{}` has changes that no snapshot and no commit has: {}", repository.display(), few(files))]
    Unsaved {
        /// The folder of the working tree.
        repository: PathBuf,
        /// The step whose files were to be put back.
        step: CasRef,
        /// Whether they were those that the step found.
        before: bool,
        /// The files.
        files: Vec<String>,
    },
    /// Files that no snapshot has, because git ignores them or because they are large, are where others would be put.
    #[error("`{}` has files that no snapshot has, and that would be replaced: {}", repository.display(), few(files))]
    InTheWay {
        /// The folder of the working tree.
        repository: PathBuf,
        /// The files.
        files: Vec<String>,
    },
    /// The step was done in the worktree of another thread, whose files stay as they are.
    #[error("step `{step}` was done in the worktree `{}` of another thread", place.display())]
    OfWorktree {
        /// The step whose files were to be put back.
        step: CasRef,
        /// The folder of the worktree.
        place: PathBuf,
    },
    /// Agents of other threads work in the tree.
    #[error("the files in `{}` are not put back: {}", repository.display(), who_works(by))]
    AtWork {
        /// The folder of the working tree.
        repository: PathBuf,
        /// The other threads, at least one.
        by: Vec<ThreadId>,
    },
    /// The snapshot is not in the repository any more.
    #[error("the files are gone: `{}` does not have commit {commit} any more", repository.display())]
    Collected {
        /// The folder of the working tree.
        repository: PathBuf,
        /// The commit that had them.
        commit: String,
    },
    /// The files cannot be put back.
    #[error("the files cannot be put back")]
    NotRestored(#[source] SnapshotError),
    /// Not all files were put back, or it is not known whether they were.
    #[error("perhaps only some of the files in `{}` were put back; commit {replaced} has all of them as they were before", repository.display())]
    PartlyRestored {
        /// The folder of the working tree.
        repository: PathBuf,
        /// The commit with the files as they were.
        replaced: String,
        /// What went wrong.
        source: SnapshotError,
    },
    /// Something about the artefacts of a step.
    #[error(transparent)]
    Artifact(ArtifactError),
    /// The snapshots cannot be compared.
    #[error("the files cannot be compared")]
    NotCompared(#[source] SnapshotError),
}

impl FilesError {
    /// Returns the exit of a call that fails with this error.
    #[must_use]
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NotCompared(SnapshotError::Stopped { signal, .. })
            | Self::NotRestored(SnapshotError::Stopped { signal, .. })
            | Self::PartlyRestored {
                source: SnapshotError::Stopped { signal, .. },
                ..
            } => Exit::Signal(*signal),
            Self::AtWork { .. } => Exit::Busy,
            _ => Exit::Request,
        }
    }
}

/// How many files are named.
const NAMED: usize = 5;

/// Names the first files of a list.
fn few(files: &[String]) -> String {
    let named = files.iter().take(NAMED).map(|file| format!("`{file}`"));
    let mut named = named.collect::<Vec<_>>().join(", ");
    if let Some(others @ 1..) = files.len().checked_sub(NAMED) {
        named.push_str(&format!(" and {}", counted(others as u64, "other")));
    }
    named
}
