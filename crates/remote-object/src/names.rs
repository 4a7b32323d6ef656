//! What the objects of a remote are called.

use uwf_protocol::ids::{CasRef, ThreadId};

/// What the remote is. It is made last, so a remote that has it is whole.
pub(crate) const REMOTE: &str = "remote.json";
/// The folder of the threads.
pub(crate) const THREADS: &str = "threads";

/// The object of a node. Its content never changes.
pub(crate) fn node(hash: CasRef) -> String {
    format!("nodes/{hash}")
}

/// The object of a thread. It changes by compare-and-set only.
pub(crate) fn thread(id: ThreadId) -> String {
    format!("{THREADS}/{id}")
}

/// A part of the history of a thread. Its content never changes.
pub(crate) fn history(id: ThreadId, part: u64) -> String {
    format!("history/{id}/{part:08}")
}

/// An object of a race. It is removed afterwards.
pub(crate) fn race(mark: u64, round: u32) -> String {
    format!("races/{mark:016x}-{round}")
}
