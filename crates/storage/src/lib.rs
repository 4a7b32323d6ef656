//! The mutable state under the storage root: the paths, the three files of the state, locks, the records of runs, and the
//! logs.
//!
//! Nodes never change; they belong to `uwf-cas-fs`. This crate does not decide what a step does. Only the
//! module of [`Env`] asks the machine for variables, time, randomness and its id. Only `uwf-durable` opens and writes files.

mod claims;
pub mod elsewhere;
mod env;
mod error;
mod growing;
mod heads;
mod history;
mod labels;
mod last_used;
pub mod log;
mod next_mark;
mod passing_index;
mod process_log;
pub mod references;
mod registry;
mod registry_history;
mod root;
mod run_backups;
mod run_dir;
mod run_log;
mod run_root;
mod seal;
mod shared_folder;
mod shared_record;
pub mod shared_roots;
mod sharing;
mod slots;
mod state;
mod state_file;
mod thread_poll;
mod thread_watch;
mod worktrees;

pub use claims::{Claim, Claimant, Claimed, Tree};
pub use env::{Env, machine_id, machine_name};
pub use error::{BadLine, StorageError, Vanished};
pub use growing::{GrowingFile, NewestLines};
pub use history::{History, HistoryRecord, Reason, RemovedThread, ReplacedStep, ReturnedThread};
pub use labels::Namings;
pub use last_used::LastUsed;
pub use next_mark::NextMark;
pub use passing_index::PassingIndex;
pub use process_log::{LogEntry, ProcessLog, Tag};
pub use registry_history::{NameChange, RegistryHistory};
pub use root::{Root, is_of_root};
pub use run_dir::{
    BeforeStep, ForkOrigin, LateCheckFile, LateCheckFiles, Ledger, LocalLease, LockAttempt, Origin,
    Orphaned, Outbox, Pause, Paused, Recaps, RunDir, RunWatch, Scratch, Sessions, SnapshotNotes,
    SnapshotRecord, Snapshots, ThreadLock,
};
pub use run_log::RunLog;
pub use run_root::{MovedAside, RunRoot, ThreadPlace, WriteParts};
pub use shared_folder::{LockedFolder, Search, SharedFolder};
pub use shared_record::SharedRecord;
pub use sharing::SharedFile;
pub use slots::{Pool, Slot, Taken, Turn};
pub use state::{
    Advance, Archived, Leaving, Located, Reactivated, Registered, Registering, State, Threads,
    Unregistered,
};
pub use thread_watch::{ThreadChange, ThreadWatch};
pub use worktrees::{WorktreeFile, WorktreeRecord, real};
