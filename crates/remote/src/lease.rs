//! Leases: who works on a thread, and until when.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::machine::MachineId;
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;

/// Who has a lease. Two owners are the same if machine and mark are the same. So calls that share a mark share their leases: a
/// later one takes over what an earlier one left. The name is for people. A machine that gets another name has the same leases.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The machine.
    pub machine: MachineId,
    /// What people call the machine.
    pub name: String,
    /// What tells this owner from the others of the machine, such as random bits.
    pub mark: String,
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        (self.machine, &self.mark) == (other.machine, &other.mark)
    }
}

impl Eq for Owner {}

/// The right to move the head of a thread, for some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// The number of the lease. A later lease of the thread has a larger number, and makes the earlier leases void.
    pub fence: u64,
    /// Who has it.
    pub owner: Owner,
    /// How long it lasts unless it is renewed.
    pub lasts: Duration,
}

/// Which thread is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// This one.
    Thread(ThreadId),
    /// A thread that the owner has leased already and that has not ended. If there is none, the thread that has been ready for the
    /// longest time and that nobody has leased. A thread with a label needs a worker with that label.
    Next {
        /// The labels of the worker.
        labels: &'a [Label],
        /// The threads that the owner does not want. One that the owner has leased already is given all the same.
        except: &'a [ThreadId],
    },
}

/// A request for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want<'a> {
    /// Who asks.
    pub owner: &'a Owner,
    /// How long the lease lasts unless it is renewed.
    pub lasts: Duration,
    /// Nodes that the owner has, with all that they need. Examples are the head of the thread on the owner's machine, and what that
    /// head refers to. The remote sends neither these nodes nor what only they need.
    pub have: &'a [CasRef],
    /// How many nodes may come with the answer. It may be none.
    pub at_most: usize,
}

/// What came of asking for a lease.
#[derive(Debug, Clone, PartialEq)]
pub enum Acquired {
    /// The owner has it.
    Leased(Box<Leased>),
    /// Another owner has it.
    Busy {
        /// Who has it.
        owner: Owner,
        /// How long it still lasts.
        left: Duration,
    },
    /// The thread has ended.
    Ended,
    /// There is no such thread.
    Unknown,
    /// No ready thread is free that needs no label, or a label of the worker.
    Nothing,
}

/// A thread whose lease was acquired.
#[derive(Debug, Clone, PartialEq)]
pub struct Leased {
    /// The id of the remote that gave it.
    pub store: String,
    /// The lease.
    pub lease: Lease,
    /// The head of the thread.
    pub head: CasRef,
    /// Whether a step can be done at the head, as far as the remote knows.
    pub status: HeadStatus,
    /// The nodes of the head that the owner lacks, each after the nodes that it needs.
    pub nodes: Vec<LinkedNode>,
    /// Whether these are all. Otherwise [`closure`](crate::Remote::closure) of the head, with the same `have`, returns the others.
    pub complete: bool,
    /// What the limits of the thread depend on.
    pub record: ThreadRecord,
}

/// What came of giving a lease back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// It is given back.
    Yes,
    /// The lease does not count: it was given back or ended before, or another owner has taken the thread. The record is stored all
    /// the same.
    Lost,
}

/// What came of renewing a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewed {
    /// It lasts for its whole time.
    Yes,
    /// The lease does not count: it was given back or ended, or another owner has taken the thread.
    Lost,
}

/// Who works on a thread, as a call that does not work on it sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The remote does not know the thread.
    Unknown,
    /// Nobody works on it. It may have a lease whose time is over.
    Free,
    /// Somebody works on it. The lease lasts for the time that is left.
    Leased(Lease),
}
