//! Threads that several machines work on: what a remote keeps, and which calls it answers.
//!
//! A remote has nodes, threads with their heads, leases, and names of workflows. The head of a shared thread at the remote is the
//! truth, and the head on a machine is a copy of it. A remote knows what a node refers to, and never looks into a payload. This
//! crate knows the calls, the [care] for a remote, a remote [in memory](memory), and the [tests](suite) that every remote must pass.
//! It does not know how a machine keeps its own threads, and opens no connection.

pub mod care;
mod digest;
mod error;
mod lease;
mod marks;
pub mod memory;
mod names;
mod nodes;
mod order;
mod pause;
mod push;
pub mod suite;
mod threads;
mod together;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;

pub use digest::digest;
pub use error::{Distrust, Entry, RemoteError, Right};
pub use lease::{Acquired, Lease, Leased, Owner, Released, Renewed, Standing, Want, Which};
pub use marks::random;
pub use names::{Named, SharedName};
pub use nodes::{Closure, Given, Part};
pub use order::needed_first;
pub use pause::pause;
pub use push::{Advanced, After, NewThread, Push, Put};
pub use threads::{Abilities, Found, FoundOne, Hello, Listed, Query};
pub use together::{Together, Unfit};

/// A remote: the place of the threads that several machines work on.
///
/// Each call may be repeated if its answer was lost. The second call changes nothing. It returns what the first one would have
/// returned, or that the work is done already. There are two exceptions, because the first call has given the lease back: a repeated
/// [release](Remote::release) returns [`Released::Lost`], and a repeated push that leaves the head where it is returns
/// [`Advanced::LeaseLost`]. The clock of the remote counts, and no clock of a machine.
///
/// A remote checks that the references of a node are there. It reads no payloads, so it checks neither the hash of a payload nor
/// that the references are those in it. So all machines of a remote trust each other. A machine sends only nodes that it has read
/// from its store, which checks the hash and finds the references. It checks the hash of each node that it receives.
///
/// No record that was sent for a thread is lost, even if its lease was. The record that comes with a lease is
/// [all of them merged](ThreadRecord::merged).
pub trait Remote {
    /// Returns what the remote is.
    ///
    /// # Errors
    /// [`RemoteError`], as every call.
    fn hello(&mut self) -> Result<Hello, RemoteError>;

    /// Takes the lease of a thread, or of the [next](Which::Next) one. An owner that has the lease already gets it again, for its
    /// whole time.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn acquire(&mut self, which: Which<'_>, want: &Want<'_>) -> Result<Acquired, RemoteError>;

    /// Makes a lease last for its whole time from now on. A lease whose time is over can be renewed as long as no other owner has
    /// taken the thread.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn renew(&mut self, lease: &Lease) -> Result<Renewed, RemoteError>;

    /// Stores nodes, moves the head of a thread by compare-and-set, stores its record, and gives the lease back, unless the push
    /// keeps it. Nodes and record are stored even if the lease is lost or the head is another one, because they are about work that
    /// was paid for.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn advance(&mut self, lease: &Lease, push: &Push<'_>) -> Result<Advanced, RemoteError>;

    /// Gives a lease back without a step, and stores the record of the thread. The record is stored even if the lease is lost.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn release(&mut self, lease: &Lease, record: &ThreadRecord) -> Result<Released, RemoteError>;

    /// Returns who works on a thread.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn standing(&mut self, thread: ThreadId) -> Result<Standing, RemoteError>;

    /// Ends a lease in the place of its owner, even if its time is over. Afterwards it does not count, and its owner cannot renew
    /// it. Another lease of the thread stays. A user who may not change the thread is refused, also if nobody has that lease.
    ///
    /// # Errors
    /// [`RemoteError`]. The call can be repeated.
    fn end_lease(&mut self, lease: &Lease) -> Result<(), RemoteError>;

    /// Stores nodes, and a new thread if one is given. The nodes may come in any order. What they need must be among them, or at
    /// the remote already.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn put(&mut self, nodes: &[LinkedNode], new: Option<&NewThread>) -> Result<Put, RemoteError>;

    /// Returns the nodes among these that the remote does not have, in the given order.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn missing(&mut self, hashes: &[CasRef]) -> Result<Vec<CasRef>, RemoteError>;

    /// Returns a part of the nodes that can be reached from `from`, each node after the nodes that it needs. The caller has the
    /// nodes `have` with all that these need. If the part is not the last one, the caller asks the same again for the next part.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn closure(
        &mut self,
        from: &[CasRef],
        have: &[CasRef],
        part: Part,
    ) -> Result<Given, RemoteError>;

    /// Frees what only speeds up the next call, such as a connection. The caller makes no call for a while.
    fn rest(&mut self) {}

    /// Returns a thread, if it is there, and whether it has or had a head.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn find(&mut self, thread: ThreadId, head: CasRef) -> Result<Option<Found>, RemoteError>;

    /// Returns those of these threads that are there, in the order of the question, each with whether it has or had the head beside
    /// it. A thread about which something is stored that makes no sense has [`RemoteError::Broken`] in its place.
    ///
    /// # Errors
    /// [`RemoteError`], when nothing is known about any of them.
    fn find_each(&mut self, threads: &[(ThreadId, CasRef)]) -> Result<Vec<FoundOne>, RemoteError>;

    /// Returns the threads that a query is about, in the order of their ids: at most `at_most` of those after the thread `after`.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn list(
        &mut self,
        query: &Query,
        after: Option<ThreadId>,
        at_most: usize,
    ) -> Result<Vec<Listed>, RemoteError>;

    /// Gives a thread this label in place of its own, or takes its own away. Nothing happens if the thread is not there.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn set_label(&mut self, thread: ThreadId, label: Option<&Label>) -> Result<(), RemoteError>;

    /// Lets a name stand for a node, if the name still has the version that the caller knows, or is not there. The caller passes 0
    /// if it knows no such name.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn set_name(&mut self, name: &str, known: u64, to: CasRef) -> Result<Named, RemoteError>;

    /// Returns names in the order of their bytes: at most `at_most` of those after the name `after`.
    ///
    /// # Errors
    /// [`RemoteError`].
    fn names(
        &mut self,
        after: Option<&str>,
        at_most: usize,
    ) -> Result<Vec<SharedName>, RemoteError>;
}
