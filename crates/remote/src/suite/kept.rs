//! Leases that are kept while the head moves: one owner does many steps.

use uwf_protocol::head_status::HeadStatus;

use super::world::{
    Client, SHORT, START, hash, leased, new_thread, push, record, records, start_nodes, step_nodes,
};
use super::{Case, Place};
use crate::lease::{Acquired, Released, Renewed};
use crate::push::{Advanced, After, Push};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a push that keeps the lease moves the head, and the next one needs no new lease",
        check: kept,
    },
    Case {
        name: "a push that keeps the lease and is repeated is done already, and the lease stays",
        check: repeated,
    },
    Case {
        name: "a kept lease whose time is over can be taken",
        check: taken,
    },
    Case {
        name: "a head that others moved does not move, also if the lease was to be kept",
        check: head_is,
    },
    Case {
        name: "an owner that kept its lease gives it back with the end",
        check: ended,
    },
];

fn is_busy(client: &mut Client) -> bool {
    matches!(client.acquire(1), Acquired::Busy { .. })
}

fn kept(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let lease = one.take(1);
    for (from, to) in [(START, 11), (11, 12)] {
        assert_eq!(one.step_on(&lease, from, to), Advanced::Moved);
        assert_eq!(other.head(1), hash(to));
        assert!(is_busy(&mut other), "the owner goes on");
        assert_eq!(one.remote.renew(&lease), Ok(Renewed::Yes));
    }
    assert_eq!(one.take(1), lease, "it is the same lease");
    assert_eq!(one.step(&lease, 12, 13), Advanced::Moved);
    let next = leased(other.acquire(1));
    assert_eq!(next.record, records(&[1, 11, 12, 13]));
    assert!(next.lease.fence > lease.fence);
}

fn repeated(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let lease = one.take(1);
    assert_eq!(one.step_on(&lease, START, 11), Advanced::Moved);
    assert_eq!(one.step_on(&lease, START, 11), Advanced::Already);
    assert!(is_busy(&mut other));
    assert_eq!(one.step_on(&lease, 11, 12), Advanced::Moved);
    // The answer to an early request comes late.
    assert_eq!(one.step_on(&lease, START, 11), Advanced::Already);
    assert_eq!(one.head(1), hash(12));
    assert!(is_busy(&mut other));
    assert_eq!(one.release(&lease, &record(7)), Released::Yes);
    assert_eq!(one.step_on(&lease, 11, 12), Advanced::Already);
    assert_eq!(leased(other.acquire(1)).head, hash(12), "nobody has it");
}

fn taken(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let old = leased(one.acquire_for(1, SHORT)).lease;
    assert_eq!(one.step_on(&old, START, 11), Advanced::Moved);
    place.pass(SHORT * 2);
    let new = other.take(1);
    assert_eq!(one.step_on(&old, 11, 12), Advanced::LeaseLost);
    assert_eq!(one.missing(&[12, 1012]), [], "the step was paid for");
    assert_eq!(other.step_on(&new, 11, 22), Advanced::Moved);
    // Of what was done before, the first owner is told that it is done. The lease of the other one stays.
    assert_eq!(one.step_on(&old, START, 11), Advanced::Already);
    assert_eq!(one.step(&old, START, 11), Advanced::Already);
    assert!(is_busy(&mut one));
    assert_eq!(other.step(&new, 22, 23), Advanced::Moved);
    assert_eq!(leased(one.acquire(1)).record, records(&[1, 11, 12, 22, 23]));
}

fn head_is(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    assert_eq!(client.step_on(&lease, START, 11), Advanced::Moved);
    assert_eq!(
        client.step_on(&lease, START, 21),
        Advanced::HeadIs(hash(11))
    );
    assert!(is_busy(&mut Client::new(place, 2)));
    assert_eq!(client.step(&lease, 11, 12), Advanced::Moved);
}

fn ended(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let new = new_thread(1);
    client.put(&start_nodes(), Some(&new));
    let lease = client.take(1);
    assert_eq!(client.step_on(&lease, START, 11), Advanced::Moved);
    let (nodes, record) = (step_nodes(12, 11), record(12));
    let push = Push {
        status: HeadStatus::Ended,
        lease: After::GiveBack,
        ..push(&nodes, 11, 12, &record)
    };
    assert_eq!(client.advance(&lease, &push), Advanced::Moved);
    assert_eq!(client.advance(&lease, &push), Advanced::Already);
    assert_eq!(client.acquire(1), Acquired::Ended);
}
