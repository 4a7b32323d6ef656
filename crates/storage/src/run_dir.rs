//! The directory of the runs of one thread, `runs/<thread>`. Its files are split by purpose, and each purpose is a type:
//! a caller takes the one that it needs.
//!
//! All files can be deleted without losing the thread, so an unreadable record counts as absent. The pending record is
//! the exception: it names a step that was paid for.

use std::path::{Path, PathBuf};

use crate::StorageError;

mod checksum;
mod late_check_files;
mod lease;
mod ledger;
mod origin;
mod outbox;
mod pause;
mod recaps;
mod records;
mod run_watch;
mod scratch;
mod sessions;
mod snapshots;

pub use late_check_files::{LateCheckFile, LateCheckFiles};
pub use lease::{LocalLease, LockAttempt, Orphaned, ThreadLock};
pub use ledger::Ledger;
pub use origin::{ForkOrigin, Origin};
pub use outbox::Outbox;
pub use pause::{Pause, Paused};
pub use recaps::Recaps;
pub use run_watch::RunWatch;
pub use scratch::Scratch;
pub(crate) use scratch::is_output;
pub use sessions::Sessions;
pub use snapshots::{BeforeStep, SnapshotNotes, SnapshotRecord, Snapshots};

use records::Records;

/// The directory of the runs of one thread. Only the process that has the thread's lock writes here, and the agent that
/// it started. Five files are written without the lock: the pause, the summary, the origin of a fork, the numbers of the steps
/// (a cache), and the output of calls in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    records: Records,
    /// The lock of the thread, and the record of its holder.
    pub lease: LocalLease,
    /// The finished step that waits to be committed.
    pub outbox: Outbox,
    /// The files of the running attempt.
    pub scratch: Scratch,
    /// The conversations of agents.
    pub sessions: Sessions,
    /// What models wrote about its steps, for prompts.
    pub recaps: Recaps,
    /// The usage of the thread, and its raised limits.
    pub ledger: Ledger,
    /// Whether a person paused the thread.
    pub pause: Pause,
    /// Where the thread came from, if it is a fork.
    pub origin: Origin,
    /// The files of checks in folders that are made after the thread has started.
    pub late_check_files: LateCheckFiles,
    /// Snapshots of the files that the thread works on.
    pub snapshots: Snapshots,
}

impl RunDir {
    /// Returns the run at this path, which comes from [`Root::run`](crate::Root::run) or from a task.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        let records = Records::at(path);
        Self {
            lease: LocalLease::of(records.clone()),
            outbox: Outbox::of(records.clone()),
            scratch: Scratch::of(records.clone()),
            sessions: Sessions::of(records.clone()),
            recaps: Recaps::of(records.clone()),
            ledger: Ledger::of(records.clone()),
            pause: Pause::of(records.clone()),
            origin: Origin::of(records.clone()),
            late_check_files: LateCheckFiles::of(records.clone()),
            snapshots: Snapshots::of(records.clone()),
            records,
        }
    }

    /// Returns the directory. Callers pass it to an agent's kit or show it to people, and build no path in it.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.records.path()
    }

    /// Tells whether the directory is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path().is_dir()
    }

    /// Returns the path to which a person moves the directory so that the thread is forgotten.
    pub(crate) fn forgotten(&self) -> PathBuf {
        let mut path = self.path().as_os_str().to_owned();
        path.push(".forgotten");
        path.into()
    }

    /// Watches the directory from now on: a running attempt changes its files all the time.
    #[must_use]
    pub fn watch(&self) -> RunWatch {
        RunWatch::of(self.path().to_owned())
    }

    /// Makes the directory, durably, if it is not there. Writing a record does that too.
    ///
    /// # Errors
    /// [`StorageError::Io`], as of every call that writes.
    pub fn create(&self) -> Result<(), StorageError> {
        self.records.create()
    }

    /// Removes the directory with all that is in it. The caller has the lock of the thread, which was removed before: a
    /// thread that is on record and lacks its directory is sound, a directory without its thread is not.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn remove(&self) -> Result<(), StorageError> {
        Ok(uwf_durable::remove_tree(self.path())?)
    }
}
