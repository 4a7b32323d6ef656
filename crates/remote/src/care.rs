//! The care for a remote: what a person asks of it, and no step of a thread.

mod fault;

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::{LinkedNode, RawNode};

use crate::{Hello, Remote, RemoteError};

pub use fault::Fault;

/// A remote that a person makes, looks at and repairs.
///
/// Not every kind of remote can do all of it. What it cannot do fails with [`RemoteError::Unable`], which says why.
pub trait Cared: Remote {
    /// Makes the remote, if there is none.
    ///
    /// # Errors
    /// [`RemoteError`]. The call can be repeated.
    fn make(&mut self) -> Result<Hello, RemoteError>;

    /// Tells whether an older version of this program made the remote, so that [`migrate`](Cared::migrate) would add something.
    fn is_older(&self, hello: &Hello) -> bool;

    /// Returns the schema that the remote is in, if it is of a kind that has one.
    fn schema(&self) -> Option<&str>;

    /// Counts what the remote keeps; `None` if it is of a kind that can only [list](Remote::list) its threads.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn statistics(&mut self) -> Result<Option<Statistics>, RemoteError>;

    /// Adds what the remote lacks because an older version of this program made it. No thread changes, and older clients go on.
    ///
    /// # Errors
    /// [`RemoteError`]. A migration can be repeated.
    fn migrate(&mut self) -> Result<Migrated, RemoteError>;

    /// Checks everything that the remote keeps, and passes each fault to `found`.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn verify(
        &mut self,
        look: &mut Look<'_>,
        found: &mut dyn FnMut(Fault),
    ) -> Result<Verified, RemoteError>;

    /// Returns the threads and names that need one of these nodes. The nodes may be missing.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn needing(&mut self, nodes: &[CasRef]) -> Result<Needing, RemoteError>;

    /// Replaces what is stored under the hashes of these nodes, whether it is damaged or not, and takes back its condemnation. A
    /// node of which nothing is stored is left out. Only the owner of the remote may do that. Returns how many were replaced.
    ///
    /// # Errors
    /// [`RemoteError`]. The call can be repeated.
    fn restore(&mut self, nodes: &[LinkedNode]) -> Result<usize, RemoteError>;

    /// Replaces what is stored about the references of nodes. The caller has read the references from the payloads. Only the owner
    /// of the remote may do that. Returns how many nodes were changed.
    ///
    /// # Errors
    /// [`RemoteError`]. The call can be repeated.
    fn relink(&mut self, nodes: &[(CasRef, Vec<CasRef>)]) -> Result<usize, RemoteError>;

    /// Fails if the remote is of a kind that never removes anything. Nothing is sent.
    ///
    /// # Errors
    /// [`RemoteError::Unable`].
    fn must_collect(&self) -> Result<(), RemoteError>;

    /// Returns what [`collect`](Cared::collect) would do, and changes nothing.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn count_garbage(&mut self, age: Duration) -> Result<Collected, RemoteError>;

    /// Condemns the nodes that nothing needs, and removes those that have been condemned for this time. The time may be too short
    /// for the machines that work meanwhile. Then a longer one counts. The caller [verifies](Cared::verify) the remote before.
    ///
    /// # Errors
    /// [`RemoteError`]. A collection can be repeated.
    fn collect(&mut self, age: Duration) -> Result<Collected, RemoteError>;

    /// Returns what lets users in: a script for the owner of the remote, or a text about what to configure.
    fn roles(&self) -> &str;
}

/// How much a remote keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The threads by their status. A status that no thread has is not there.
    pub threads: Vec<(HeadStatus, u64)>,
    /// The leases whose time is not over.
    pub leases: u64,
    /// The names of workflows.
    pub names: u64,
    /// The nodes.
    pub nodes: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
    /// The nodes that are condemned as garbage.
    pub condemned: u64,
    /// The bytes of their payloads.
    pub condemned_bytes: u64,
}

/// The versions of a remote before and after a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version of what was stored there.
    pub from: u32,
    /// The version of what is stored there now.
    pub to: u32,
}

/// How much was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// The threads.
    pub threads: u64,
    /// The nodes.
    pub nodes: u64,
    /// The names of workflows.
    pub names: u64,
}

/// What the payload of a node says about its references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum References {
    /// Nothing. The content of the node has another hash, or cannot be read.
    Damaged,
    /// The node is whole, and its references are unknown, because its schema is missing or damaged.
    Unknown,
    /// The node is whole, and these are its references.
    Are(Vec<CasRef>),
}

/// Reads the references in the payload of a node. A remote understands no payloads, so the caller does that. The second argument is
/// the schema of the node, if it is there and whole.
pub type Look<'a> = dyn FnMut(&RawNode, Option<&RawNode>) -> References + 'a;

/// The threads and names that need certain nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needing {
    /// The threads, by their ids.
    pub threads: Vec<String>,
    /// The names of workflows.
    pub names: Vec<String>,
}

/// What a collection did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// How many nodes were condemned that were not before.
    pub condemned: u64,
    /// How many nodes are no longer condemned, because they are needed.
    pub reprieved: u64,
    /// How many nodes were removed.
    pub removed: u64,
}
