//! Snapshots of a git working tree, and worktrees beside it.
//!
//! A snapshot is a commit of all files of the working tree that git does not ignore, also of those that it does not track.
//! A reference of our own keeps it (`refs/uwf/…`). The user's index, branches and stash are not touched: the files are
//! listed and added with an index of our own ([`Place::index`]). That index is kept between snapshots, so that git reads
//! only the files that have changed.
//!
//! All of this is done by the program `git`. A directory outside a working tree costs a look at its parents for `.git`.

mod compare;
mod git;
mod locks;
mod restore;
mod start;
mod take;
mod unkept;
mod worktree;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use uwf_durable::FileError;

pub use compare::{Change, Changed, Part};
pub use locks::Lock;
pub use start::{Ended, LIMIT, Limited, Start, Unsupervised, run_supervised};
pub use take::{Place, Snapshot};
pub use worktree::{Presence, Unkept, Worktree, tree_around};

/// Why something could not be done with a repository.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// `git` cannot be started.
    #[error("git cannot be started")]
    NoGit(#[source] std::io::Error),
    /// The repository is gone.
    #[error("there is no repository `{}` any more", .0.display())]
    Gone(PathBuf),
    /// `git` refused.
    #[error("git {command}: {message}")]
    Refused {
        /// Its subcommand.
        command: String,
        /// The end of what it said on stderr.
        message: String,
    },
    /// `git` was ended before it was done.
    #[error("git {command} was ended ({status})")]
    Ended {
        /// Its subcommand.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// `git` took too long.
    #[error(
        "git {command} took longer than {} s and was ended, with everything that it had started: perhaps a filter of the repository hangs (`filter.*` in `git config --list`, such as git-lfs)",
        limit.as_secs()
    )]
    TooSlow {
        /// Its subcommand.
        command: String,
        /// How long it may take.
        limit: Duration,
    },
    /// `git` was ended, with everything that it had started, because the caller was told to stop.
    #[error(
        "git {command} was ended, with everything that it had started, by signal {signal} to its caller"
    )]
    Stopped {
        /// Its subcommand.
        command: String,
        /// The signal that the caller got.
        signal: i32,
    },
    /// A file of ours cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The working tree of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The folder of the working tree.
    root: PathBuf,
}

impl Repository {
    /// Finds the repository that a directory lies in; `None` if it lies in no working tree.
    ///
    /// # Errors
    /// When `git` does not answer, or refuses the repository: for example one of another user.
    pub fn of(directory: &Path) -> Result<Option<Self>, SnapshotError> {
        // No program is started for a directory that is in no repository.
        let has_git = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
        if !directory.ancestors().any(has_git) {
            return Ok(None);
        }
        let inside = git::Git::at(directory);
        let is_inside = inside.line(&["rev-parse", "--is-inside-work-tree"]);
        match is_inside {
            Ok(answer) if answer == "true" => {}
            Ok(_) => return Ok(None),
            Err(SnapshotError::Refused { message, .. })
                if message.contains("not a git repository") =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let root = inside.path(&["rev-parse", "--show-toplevel"])?;
        Ok(Some(Self { root }))
    }

    /// Opens the repository with this folder as its working tree.
    ///
    /// # Errors
    /// [`SnapshotError::Gone`] if there is none: a folder that lies in the working tree of another one is not meant. As of
    /// [`of`](Self::of).
    pub fn open(root: &Path) -> Result<Self, SnapshotError> {
        let found = Self::of(root)?.filter(|found| found.root == root);
        found.ok_or_else(|| SnapshotError::Gone(root.to_owned()))
    }

    /// Returns the folder of the working tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lets a reference keep a commit.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn keep(&self, reference: &str, commit: &str) -> Result<(), SnapshotError> {
        self.git().line(&["update-ref", reference, commit])?;
        Ok(())
    }

    /// Removes a reference, if it is there. Commits that nothing else keeps are collected by `git gc` in time.
    ///
    /// # Errors
    /// When `git` refuses.
    pub fn forget(&self, reference: &str) -> Result<(), SnapshotError> {
        self.git().line(&["update-ref", "-d", reference])?;
        Ok(())
    }

    fn git(&self) -> git::Git<'_> {
        git::Git::at(&self.root)
    }
}
