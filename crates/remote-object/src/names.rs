//! The names of the objects of a remote.

use uwf_protocol::ids::{CasRef, ThreadId};

/// What the remote is. It is made after the check of the store, so a remote with it is in a store that has passed.
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

/// The object of the name of a workflow. It changes by compare-and-set only. The bytes of the name are written as hexadecimal
/// digits. These keep the order of names, and have no other meaning for a store.
pub(crate) fn workflow(name: &str) -> String {
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{WORKFLOWS}/{digits}")
}

/// A part of the history of a thread. Its content never changes.
pub(crate) fn history(id: ThreadId, part: u64) -> String {
    format!("history/{id}/{part:08}")
}

/// An object of the check of a store. It is removed afterwards.
pub(crate) fn race(mark: u64, round: u32) -> String {
    format!("races/{mark:016x}-{round}")
}
