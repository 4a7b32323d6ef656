//! Threads that several machines work on: what a remote keeps, and what can be asked of it.
//!
//! A remote has nodes, threads with their heads, leases, and names of workflows. For a shared thread its head is the truth, and the head on a
//! machine is a copy of it. A remote knows what a node refers to, and never looks into a payload. This crate knows the calls,
//! a remote [in memory](memory), and the [tests](suite) that every remote must pass. It does not know how a machine keeps its
//! own threads, and opens no connection.

mod digest;
mod error;
mod lease;
pub mod memory;
mod names;
mod nodes;
mod order;
mod push;
pub mod suite;
mod threads;
mod together;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;

pub use digest::digest;
pub use error::{Entry, RemoteError};
pub use lease::{Acquired, Lease, Leased, Owner, Released, Renewed, Standing, Want, Which};
pub use names::{Named, SharedName};
pub use nodes::{Closure, Given, Part};
pub use order::needed_first;
pub use push::{Advanced, After, NewThread, Push, Put};
pub use threads::{Abilities, Found, Hello, Listed, Query};
pub use together::{Together, Unfit};

/// A place with the threads that several machines work on.
///
/// One call is one request. Each call may be repeated if its answer was lost: the second one does nothing, and says what the
/// first one would have said, or that its work is done already. Time is that of the remote: no clock of a machine counts.
///
/// A remote checks that what a node refers to is there, and does not check that the payload has the hash, or refers to those
/// nodes: it knows no payloads. So all machines of a remote trust each other. A machine sends only nodes that it has read from
/// its store, which checks the hash and finds the references, and checks the hash of each node that it gets.
///
/// No record that was sent for a thread is lost, whatever became of the lease: the record that comes with a lease is
/// [all of them merged](ThreadRecord::merged).
pub trait Remote {
    /// Returns what the remote is.
    ///
    /// # Errors
    /// As of every call: [`RemoteError`].
    fn hello(&mut self) -> Result<Hello, RemoteError>;

    /// Takes the lease of a thread, or of the next one that is ready and has none. An owner that has the lease already gets it
    /// again, for its whole time.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn acquire(&mut self, which: Which<'_>, want: &Want<'_>) -> Result<Acquired, RemoteError>;

    /// Makes a lease last for its whole time from now on. A lease whose time is over can be renewed as long as nobody else took
    /// the thread.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn renew(&mut self, lease: &Lease) -> Result<Renewed, RemoteError>;

    /// Stores nodes, moves the head of a thread by compare-and-set, stores its record, and gives the lease back, unless the push keeps
    /// it. Nodes and record are stored also if the lease is lost or the head is another one: what they tell of was paid for.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Result<Advanced, RemoteError>;

    /// Gives a lease back without a step, and stores the record of the thread. A lease that was lost is left alone, and the
    /// record is stored.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn release(&mut self, lease: &Lease, record: &ThreadRecord) -> Result<Released, RemoteError>;

    /// Returns who works on a thread.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn standing(&mut self, thread: ThreadId) -> Result<Standing, RemoteError>;

    /// Ends a lease in the place of its owner. Afterwards the lease does not count, also if its time was over before. Another lease of
    /// the thread is left alone.
    ///
    /// # Errors
    /// [`RemoteError`]. The call can be repeated.
    fn end_lease(&mut self, lease: &Lease) -> Result<(), RemoteError>;

    /// Stores nodes, and a new thread if one is given. The nodes may come in any order. What they need is among them, or there
    /// already.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Result<Put, RemoteError>;

    /// Returns those of the nodes that the remote does not have, in the order in which they were asked for.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn missing(&mut self, hashes: &[CasRef]) -> Result<Vec<CasRef>, RemoteError>;

    /// Returns what can be reached from some nodes, each node after the nodes that it needs. The caller has the nodes `have`
    /// with all that these need. If there is more than the part that it wants, it asks the same again for the next part.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn closure(
        &mut self,
        from: &[CasRef],
        have: &[CasRef],
        part: Part,
    ) -> Result<Given, RemoteError>;

    /// Lets go of what is needed only for the next call, such as a connection.
    fn rest(&mut self) {}

    /// Looks for a thread, and whether it has or had a head.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn find(&mut self, thread: ThreadId, head: CasRef) -> Result<Option<Found>, RemoteError>;

    /// Returns the threads after one of them, by their ids, at most so many.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn list(
        &mut self,
        query: &Query,
        after: Option<ThreadId>,
        at_most: usize,
    ) -> Result<Vec<Listed>, RemoteError>;

    /// Gives a thread a label in place of the one that it has, or takes that away. A thread that is not there has none.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn set_label(&mut self, thread: ThreadId, label: Option<&Label>) -> Result<(), RemoteError>;

    /// Lets a name stand for a node, if nobody has set it since the version that the caller knew. That is 0 if it knew no such
    /// name.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn set_name(&mut self, name: &str, known: u64, to: CasRef) -> Result<Named, RemoteError>;

    /// Returns the names after one of them, in the order of their bytes, at most so many.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn names(
        &mut self,
        after: Option<&str>,
        at_most: usize,
    ) -> Result<Vec<SharedName>, RemoteError>;
}
