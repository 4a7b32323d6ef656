//! Threads that are shared by small nodes.

use std::time::Duration;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::raw_node::LinkedNode;
use uwf_protocol::run::ThreadRecord;
use uwf_remote::suite::small::SCHEMA;
pub(crate) use uwf_remote::suite::small::{START, hash, node, owner, thread};
use uwf_remote::{Acquired, Advanced, After, Lease, NewThread, Push, Put, Remote, Want, Which};

/// A thread at its start.
pub(crate) fn new_thread(number: u64) -> NewThread {
    NewThread {
        thread: thread(number),
        workflow: hash(SCHEMA),
        head: hash(START),
        status: HeadStatus::Ready,
        label: None,
        record: ThreadRecord::default(),
    }
}

/// Shares a thread at its start.
pub(crate) fn share(remote: &mut dyn Remote, number: u64) {
    let nodes = [node(SCHEMA, &[]), node(START, &[])];
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
    step_with(remote, lease, (from, to), &[node(to, &[from])])
}

/// Moves a head to a step that comes with these nodes.
pub(crate) fn step_with(
    remote: &mut dyn Remote,
    lease: &Lease,
    (from, to): (u64, u64),
    nodes: &[LinkedNode],
) -> Advanced {
    let record = ThreadRecord::default();
    let push = Push {
        nodes,
        from: hash(from),
        to: hash(to),
        status: HeadStatus::Ready,
        record: &record,
        lease: After::GiveBack,
    };
    remote.advance(lease, &push).expect("a head can be pushed")
}
