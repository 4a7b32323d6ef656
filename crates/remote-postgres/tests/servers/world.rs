//! Large nodes, records, and threads that are shared by small nodes.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::RoleName;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::{Attempt, ThreadRecord};
use uwf_remote::suite::small::{SCHEMA, WORKFLOW};
pub(crate) use uwf_remote::suite::small::{START, hash, node, owner, thread};
use uwf_remote::{Acquired, Advanced, After, Lease, NewThread, Push, Remote, Want, Which};

/// A node of this size.
pub(crate) fn large_node(number: u64, bytes: usize) -> LinkedNode {
    let mut large = node(number, &[]);
    // What can be compressed on the way would be no large node.
    let noise = (0..bytes as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8);
    large.node.payload = noise.collect();
    large
}

/// A record with an attempt whose text is this node.
pub(crate) fn record(text: Option<u64>) -> ThreadRecord {
    let role: RoleName = "writer".parse().expect("it is a role");
    let attempt = |text| Attempt {
        number: 1,
        raw: Some(hash(text)),
        ..Attempt::of(hash(START), role)
    };
    ThreadRecord {
        attempts: text.map(attempt).into_iter().collect(),
        ..ThreadRecord::default()
    }
}

pub(crate) fn new_thread(number: u64, record: ThreadRecord) -> NewThread {
    NewThread {
        thread: thread(number),
        workflow: hash(WORKFLOW),
        head: hash(START),
        status: HeadStatus::Ready,
        label: None,
        record,
    }
}

/// The nodes of a thread at its start.
pub(crate) fn start_nodes() -> Vec<LinkedNode> {
    vec![
        node(SCHEMA, &[]),
        node(WORKFLOW, &[]),
        node(START, &[WORKFLOW]),
    ]
}

/// Asks for the lease of a thread.
pub(crate) fn acquire(
    remote: &mut dyn Remote,
    number: u64,
) -> Result<Acquired, uwf_remote::RemoteError> {
    let owner = owner(number);
    let want = Want {
        owner: &owner,
        lasts: Duration::from_secs(600),
        have: &[],
        at_most: usize::MAX,
    };
    remote.acquire(Which::Thread(thread(number)), &want)
}

pub(crate) fn take(remote: &mut dyn Remote, number: u64) -> Lease {
    match acquire(remote, number) {
        Ok(Acquired::Leased(leased)) => leased.lease,
        other => panic!("a lease is expected: {other:?}"),
    }
}

pub(crate) fn advance(
    remote: &mut dyn Remote,
    lease: &Lease,
    nodes: &[LinkedNode],
    (from, to): (u64, u64),
    record: &ThreadRecord,
) -> Result<Advanced, uwf_remote::RemoteError> {
    let push = Push {
        nodes,
        from: hash(from),
        to: hash(to),
        status: HeadStatus::Ready,
        record,
        lease: After::GiveBack,
    };
    remote.advance(lease, &push)
}
