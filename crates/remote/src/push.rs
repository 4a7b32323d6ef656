//! What a machine sends: the nodes of a step with the new head, or a new thread.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Label;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;

/// A new head of a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Push<'a> {
    /// The nodes that came with it, in any order.
    pub nodes: &'a [LinkedNode],
    /// The head that the thread must have.
    pub from: CasRef,
    /// The head that it gets.
    pub to: CasRef,
    /// Whether a step can be done there.
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
    /// The owner keeps it, for as long as it would have lasted: more steps follow.
    Keep,
}

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    /// The head has moved. The lease is given back, if it was not to be kept.
    Moved,
    /// An earlier call has moved the head in this way. It may have moved further since. If the caller has the lease, because it
    /// took it again, the lease is given back, too, unless it was to be kept.
    Already,
    /// The thread has this head, and not the one that was expected. The nodes and the record are stored. The lease
    /// stays.
    HeadIs(CasRef),
    /// The lease was given back, or another owner has taken the thread. The nodes and the record are stored.
    LeaseLost,
    /// These nodes are needed and are not there. Nothing has changed. The same call with them can succeed.
    Lacking(Vec<CasRef>),
    /// Other nodes are there under these hashes. Nothing has changed.
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
    /// Whether a step can be done there.
    pub status: HeadStatus,
    /// The label that a worker must have, if it takes the next thread.
    pub label: Option<Label>,
    /// What its limits depend on.
    pub record: ThreadRecord,
}

/// What came of storing nodes and a new thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// They are stored.
    Done,
    /// The thread is there, and has or had this head.
    Already,
    /// The thread is there with this head, and never had the given one. The nodes are stored.
    HeadIs(CasRef),
    /// These nodes are needed and are not there. Nothing has changed.
    Lacking(Vec<CasRef>),
    /// Other nodes are there under these hashes. Nothing has changed.
    Clash(Vec<CasRef>),
}
