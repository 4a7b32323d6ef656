//! Errors about the places where agents work: worktrees, and working trees that threads share.

use std::path::PathBuf;

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_snapshot::{SnapshotError, Unkept};
use uwf_util::printable::printable;
use uwf_util::text::counted;

use crate::describe::signal_name;

/// Why an agent cannot work where it is to work, or why its worktree is not removed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// There is no repository to make a worktree of.
    #[error("thread `{thread}` is to work in a git worktree, and `{}` is in no working tree of git", directory.display())]
    NoRepository {
        /// The thread.
        thread: ThreadId,
        /// The folder of the thread.
        directory: PathBuf,
    },
    /// The repository has no commit that a branch could begin at.
    #[error("thread `{thread}` is to work in a git worktree, and the repository `{}` has no commit yet", repository.display())]
    NoCommit {
        /// The thread.
        thread: ThreadId,
        /// The folder of the working tree.
        repository: PathBuf,
    },
    /// The worktree would lie in the working tree of the user.
    #[error("the folder for worktrees, `{}`, lies in the repository `{}`", folder.display(), repository.display())]
    Inside {
        /// The folder for worktrees.
        folder: PathBuf,
        /// The folder of the working tree.
        repository: PathBuf,
    },
    /// Something of which we know nothing is where the worktree would be.
    #[error("`{}` is there already, and no record tells whose work is in it", .0.display())]
    PlaceTaken(PathBuf),
    /// A branch keeps the branch of the thread from being made.
    #[error("thread `{thread}` needs a branch of its own, and the repository `{}` has a branch `{branch}`", repository.display())]
    BranchTaken {
        /// The thread.
        thread: ThreadId,
        /// The folder of the working tree.
        repository: PathBuf,
        /// The branch that is there.
        branch: String,
    },
    /// The folder of the worktree is not there any more.
    #[error("the worktree of thread `{thread}`, `{}`, is gone", place.display())]
    Gone {
        /// The thread.
        thread: ThreadId,
        /// The folder of the worktree.
        place: PathBuf,
        /// Its branch.
        branch: String,
        /// The git folder of the repository.
        git_dir: PathBuf,
    },
    /// The folder of the worktree is there, and git does not know it as one any more.
    #[error("`{}`, the worktree of thread `{thread}`, is no worktree of git any more", place.display())]
    Damaged {
        /// The thread.
        thread: ThreadId,
        /// The folder of the worktree.
        place: PathBuf,
        /// The git folder of the repository.
        git_dir: PathBuf,
    },
    /// The worktree cannot be made.
    #[error("the worktree of thread `{0}` cannot be made")]
    NotMade(ThreadId, #[source] SnapshotError),
    /// A signal ended the call while git made the worktree.
    #[error(
        "interrupted by {} while git made the worktree of thread `{thread}`; git was ended with everything that it had started, and no agent was started",
        signal_name(*signal)
    )]
    Interrupted {
        /// The thread.
        thread: ThreadId,
        /// The signal.
        signal: i32,
    },
    /// The removal of a thread would lose what is only in its worktree or on its branch.
    #[error("thread `{thread}` is not removed: {}", lost(unkept))]
    Unkept {
        /// The thread.
        thread: ThreadId,
        /// What would be lost, and where it is.
        unkept: Box<UnkeptWork>,
    },
    /// A person has locked the worktree with `git worktree lock`.
    #[error("thread `{thread}` is not removed: its worktree `{}` is locked with git{}", place.display(), because(reason))]
    Locked {
        /// The thread.
        thread: ThreadId,
        /// The folder of the worktree.
        place: PathBuf,
        /// The git folder of the repository.
        git_dir: PathBuf,
        /// Why, in the words of the person; may be empty.
        reason: String,
    },
    /// The record of the worktree names a folder that no thread gets.
    #[error("thread `{thread}` is not removed: the record of its worktree names `{}`, which is not called after the thread", place.display())]
    NotItsPlace {
        /// The thread.
        thread: ThreadId,
        /// The folder.
        place: PathBuf,
        /// The file of the record.
        record: PathBuf,
    },
    /// It cannot be told whether the removal of a thread would lose something.
    #[error("thread `{thread}` is not removed: what is in its worktree `{}` cannot be told", place.display())]
    NotChecked {
        /// The thread.
        thread: ThreadId,
        /// The folder of the worktree.
        place: PathBuf,
        /// Why.
        source: SnapshotError,
    },
    /// The look at a worktree was ended by a signal.
    #[error("what is in the worktree `{}` of thread `{thread}` cannot be told", place.display())]
    NotSeen {
        /// The thread.
        thread: ThreadId,
        /// The folder of the worktree.
        place: PathBuf,
        /// Why.
        source: SnapshotError,
    },
    /// The worktree cannot be removed.
    #[error("the worktree of thread `{0}` cannot be removed")]
    NotRemoved(ThreadId, #[source] SnapshotError),
    /// Other threads work in the working tree, and the caller does not want to wait.
    #[error("thread `{thread}` cannot work in `{}`: {}", tree.display(), who_works(by))]
    Taken {
        /// The thread.
        thread: ThreadId,
        /// The folder of the working tree.
        tree: PathBuf,
        /// The other threads, at least one.
        by: Vec<ThreadId>,
    },
}

/// What would be lost with a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnkeptWork {
    /// The folder of the worktree.
    pub place: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The working tree that it was made for.
    pub source: PathBuf,
    /// What would be lost.
    pub unkept: Unkept,
    /// Whether the thread has ended.
    pub has_ended: bool,
}

impl WorkspaceError {
    /// Returns the exit of a call that fails with this error.
    #[must_use]
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Taken { .. } => Exit::Busy,
            Self::Interrupted { signal, .. }
            | Self::NotChecked {
                source: SnapshotError::Stopped { signal, .. },
                ..
            }
            | Self::NotSeen {
                source: SnapshotError::Stopped { signal, .. },
                ..
            } => Exit::Signal(*signal),
            Self::NoRepository { .. }
            | Self::NoCommit { .. }
            | Self::Inside { .. }
            | Self::PlaceTaken(_)
            | Self::BranchTaken { .. }
            | Self::Gone { .. }
            | Self::Damaged { .. }
            | Self::NotMade(..)
            | Self::Unkept { .. }
            | Self::Locked { .. }
            | Self::NotChecked { .. }
            | Self::NotSeen { .. }
            | Self::NotItsPlace { .. }
            | Self::NotRemoved(..) => Exit::Request,
        }
    }
}

/// Returns a reason, if there is one, as the end of a message.
fn because(reason: &str) -> String {
    match printable(reason) {
        text if text.is_empty() => String::new(),
        text => format!(": {text}"),
    }
}

/// Says what would be lost.
fn lost(unkept: &UnkeptWork) -> String {
    let Unkept {
        files,
        commits,
        detached,
        inside,
        damaged,
    } = &unkept.unkept;
    let place = unkept.place.display();
    let files = (*files > 0).then(|| {
        let files = counted(*files, "uncommitted file");
        format!("its worktree `{place}` has {files}")
    });
    let commits = (*commits > 0).then(|| {
        let commits = counted(*commits, "commit");
        let holder = match detached {
            Some(commit) => {
                format!("commit `{commit}`, which is checked out in `{place}`, with its branch")
            }
            None => format!("its branch `{}`", unkept.branch),
        };
        format!("{holder} has {commits} that no other branch has")
    });
    let inside = inside.iter().map(|folder| {
        format!(
            "the repository `{place}/{folder}` has commits that none of its remote branches has"
        )
    });
    let damaged = damaged.then(|| {
        format!("`{place}`, where its worktree was, is no worktree of git any more, and nobody can tell what in it is kept elsewhere")
    });
    let parts = files
        .into_iter()
        .chain(commits)
        .chain(inside)
        .chain(damaged);
    let parts: Vec<String> = parts.collect();
    parts.join(", and ")
}

/// Says which threads work in a tree.
pub(crate) fn who_works(threads: &[ThreadId]) -> String {
    format!("{} there", working(threads))
}

/// Says which threads work.
pub(crate) fn working(threads: &[ThreadId]) -> String {
    match threads {
        [one] => format!("thread {one} works"),
        many => {
            let many: Vec<String> = many.iter().map(ToString::to_string).collect();
            format!("threads {} work", many.join(", "))
        }
    }
}
