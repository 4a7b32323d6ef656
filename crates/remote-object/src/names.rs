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

/// The folder of the names of workflows.
pub(crate) const WORKFLOWS: &str = "workflows";

/// The object of the name of a workflow. It changes by compare-and-set only. Its name has the bytes as digits, which keep their order
/// and mean nothing to a store.
pub(crate) fn workflow(name: &str) -> String {
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{WORKFLOWS}/{digits}")
}

/// A part of the history of a thread. Its content never changes.
pub(crate) fn history(id: ThreadId, part: u64) -> String {
    format!("history/{id}/{part:08}")
}

/// An object of a race. It is removed afterwards.
pub(crate) fn race(mark: u64, round: u32) -> String {
    format!("races/{mark:016x}-{round}")
}
