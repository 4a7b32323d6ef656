//! Small nodes, threads and owners, all known by numbers. The tests of single remotes work with them, too.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::machine::MachineId;
use uwf_protocol::raw_node::{LinkedNode, RawNode};

use crate::lease::Owner;

/// The schema of all nodes. It types itself.
pub const SCHEMA: u64 = 1;
/// The workflow of all threads.
pub const WORKFLOW: u64 = 2;
/// The first head of every thread.
pub const START: u64 = 10;

/// The hash of a node.
#[must_use]
pub fn hash(number: u64) -> CasRef {
    CasRef::from_u64(number)
}

/// The hashes of several nodes.
#[must_use]
pub fn hashes(numbers: &[u64]) -> Vec<CasRef> {
    numbers.iter().copied().map(hash).collect()
}

/// A node that refers to others.
#[must_use]
pub fn node(number: u64, refs: &[u64]) -> LinkedNode {
    LinkedNode {
        node: RawNode {
            hash: hash(number),
            type_hash: hash(SCHEMA),
            payload: format!("node {number}").into_bytes(),
            timestamp_ms: 1_780_416_525_000,
        },
        refs: hashes(refs),
    }
}

/// The id of a thread.
#[must_use]
pub fn thread(number: u64) -> ThreadId {
    ThreadId::new(number, 0)
}

/// An owner on a machine of his own.
#[must_use]
pub fn owner(number: u64) -> Owner {
    Owner {
        machine: MachineId::from_u64(number),
        name: format!("machine-{number}"),
        mark: format!("{number}"),
    }
}
