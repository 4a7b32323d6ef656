//! The mutable state under the storage root: where it lies, the three files that say what is current,
//! locks, the records of a run, and the logs.
//!
//! Nodes are not here: they never change and belong to `uwf-cas-fs`. Nothing here decides what a step does.
//! [`Env`] is the only thing in the whole program that asks the machine; files are opened and written by
//! `uwf-durable`.

mod env;
mod error;
mod heads;
mod history;
pub mod log;
mod process_log;
pub mod references;
mod registry;
mod root;
mod run_dir;
mod seal;
mod slots;
mod state;
mod state_file;
pub mod users;

pub use env::Env;
pub use error::{BadLine, StorageError, Vanished};
pub use history::{History, HistoryRecord, Reason, ReplacedStep};
pub use process_log::{LogEntry, ProcessLog, Tag};
pub use root::Root;
pub use run_dir::{
    Acquired, Lease, Ledger, Orphaned, Outbox, RunDir, Scratch, Sessions, ThreadLock,
};
pub use slots::{Pool, Slot, Taken, Turn};
pub use state::{Advance, Archived, FastForward, Located, Reactivated, State};
