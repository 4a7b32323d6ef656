//! Small nodes, threads and owners, known by numbers.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::machine::MachineId;
use uwf_protocol::raw_node::{LinkedNode, RawNode};
use uwf_protocol::run::ThreadRecord;
use uwf_remote::{Acquired, Advanced, Lease, NewThread, Owner, Push, Put, Remote, Want, Which};

pub(crate) const START: u64 = 10;

pub(crate) fn hash(number: u64) -> CasRef {
    CasRef::from_u64(number)
}

/// A node that refers to others.
pub(crate) fn node(number: u64, refs: &[u64]) -> LinkedNode {
    LinkedNode {
        node: RawNode {
            hash: hash(number),
            type_hash: hash(1),
            payload: format!("node {number}").into_bytes(),
            timestamp_ms: 0,
        },
        refs: refs.iter().copied().map(hash).collect(),
    }
}

pub(crate) fn thread(number: u64) -> ThreadId {
    ThreadId::new(number, 0)
}

pub(crate) fn owner(number: u64) -> Owner {
    Owner {
        machine: MachineId::from_u64(number),
        name: format!("machine-{number}"),
        mark: format!("{number}"),
    }
}

/// A thread at its start.
pub(crate) fn new_thread(number: u64) -> NewThread {
    NewThread {
        thread: thread(number),
        workflow: hash(1),
        head: hash(START),
        status: HeadStatus::Ready,
        label: None,
        record: ThreadRecord::default(),
    }
}

/// Shares a thread at its start.
pub(crate) fn share(remote: &mut dyn Remote, number: u64) {
    let nodes = [node(1, &[]), node(START, &[])];
    let put = remote.put(&nodes, Some(&new_thread(number)));
    assert_eq!(put, Ok(Put::Done));
}

/// Asks for a lease for an owner, without nodes.
pub(crate) fn acquire_for(
    remote: &mut dyn Remote,
    number: u64,
    by: u64,
    lasts: Duration,
) -> Acquired {
    let want = Want {
        owner: &owner(by),
        lasts,
        have: &[],
        at_most: 0,
    };
    let acquired = remote.acquire(Which::Thread(thread(number)), &want);
    acquired.expect("a lease can be asked for")
}

pub(crate) fn take(remote: &mut dyn Remote, number: u64) -> Lease {
    match acquire_for(remote, number, 1, Duration::from_secs(600)) {
        Acquired::Leased(leased) => leased.lease,
        other => panic!("a lease is expected: {other:?}"),
    }
}

/// Moves a head to a step after it.
pub(crate) fn step(remote: &mut dyn Remote, lease: &Lease, from: u64, to: u64) -> Advanced {
    let nodes = [node(to, &[from])];
    let record = ThreadRecord::default();
    let push = Push {
        nodes: &nodes,
        from: hash(from),
        to: hash(to),
        status: HeadStatus::Ready,
        record: &record,
    };
    remote.advance(lease, &push).expect("a head can be pushed")
}
