//! What a machine sends: the nodes of a step with the new head, or a new thread.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;

/// A new head of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Push<'a> {
    /// The nodes of the new head that the remote may lack, in any order.
    pub nodes: &'a [LinkedNode],
    /// The head that the thread must have.
    pub from: CasRef,
    /// The head that it gets.
    pub to: CasRef,
    /// Whether a step can be done at the new head.
    pub status: HeadStatus,
    /// What the limits of the thread depend on.
    pub record: &'a ThreadRecord,
    /// What becomes of the lease when the head has moved.
    pub lease: After,
}

/// What becomes of a lease when its owner has moved the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It is given back.
    GiveBack,
    /// The owner keeps it, because more steps follow. Its time does not start again.
    Keep,
}

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    /// The head has moved. The lease is given back, unless the push keeps it.
    Moved,
    /// An earlier call has moved the head in this way, and the head may have moved further since. If the caller has taken the lease
    /// again, the lease is given back, unless the push keeps it.
    Already,
    /// The thread has this head, and not the expected one. The nodes and the record are stored. The caller keeps the lease.
    HeadIs(CasRef),
    /// The lease does not count: it was given back or ended, or another owner has taken the thread. The nodes and the record are
    /// stored.
    LeaseLost,
    /// These nodes are needed and are not there. Nothing of the thread has changed. The same call with these nodes can succeed.
    Lacking(Vec<CasRef>),
    /// Different nodes are there under these hashes. Nothing of the thread has changed.
    Clash(Vec<CasRef>),
}

/// A thread that is to be shared.
#[derive(Debug, Clone, PartialEq)]
pub struct NewThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its workflow.
    pub workflow: CasRef,
    /// Its head.
    pub head: CasRef,
    /// Whether a step can be done at its head.
    pub status: HeadStatus,
    /// The label that a worker must have that takes the next thread.
    pub label: Option<Label>,
    /// What its limits depend on.
    pub record: ThreadRecord,
}

/// What came of storing nodes and a new thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// They are stored.
    Done,
    /// The thread is there already, and has or had the given head.
    Already,
    /// The thread is there already with this head, and never had the given one. The nodes are stored.
    HeadIs(CasRef),
    /// These nodes are needed and are not there. No thread has changed.
    Lacking(Vec<CasRef>),
    /// Different nodes are there under these hashes. No thread has changed.
    Clash(Vec<CasRef>),
}
