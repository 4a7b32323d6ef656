//! Every call is repeated, as if its answer had been lost.

use super::world::{Client, SHORT, START, hash, leased, new_thread, record, records, start_nodes};
use super::{Case, Place};
use crate::lease::{Acquired, Released, Renewed};
use crate::push::{Advanced, Put};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "an owner that asks again has the same lease",
        check: acquired_twice,
    },
    Case {
        name: "a push that is repeated is done already, even if others have moved the head since",
        check: pushed_twice,
    },
    Case {
        name: "a push that is repeated with a newer lease gives that lease back",
        check: pushed_again,
    },
    Case {
        name: "a push that is repeated after the head was moved back moves it again",
        check: moved_back,
    },
    Case {
        name: "a push that leaves the head where it is gives the lease back, so it is lost when it is repeated",
        check: not_moved,
    },
    Case {
        name: "a lease can be given back twice",
        check: released_twice,
    },
    Case {
        name: "a thread can be shared twice",
        check: shared_twice,
    },
];

fn acquired_twice(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = leased(client.acquire_for(1, SHORT)).lease;
    let again = leased(client.acquire_for(1, SHORT)).lease;
    assert_eq!(lease, again);
    for _ in 0..2 {
        assert_eq!(client.remote.renew(&lease), Ok(Renewed::Yes));
    }
    // Nobody took it.
    place.pass(SHORT * 2);
    assert_eq!(leased(client.acquire_for(1, SHORT)).lease, lease);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
}

fn pushed_twice(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let lease = one.take(1);
    assert_eq!(one.step(&lease, START, 11), Advanced::Moved);
    assert_eq!(one.step(&lease, START, 11), Advanced::Already);
    let next = leased(other.acquire(1));
    assert_eq!(next.head, hash(11));
    assert_eq!(one.step(&lease, START, 11), Advanced::Already);
    assert_eq!(other.step(&next.lease, 11, 12), Advanced::Moved);
    assert_eq!(one.step(&lease, START, 11), Advanced::Already);
    assert_eq!(one.head(1), hash(12), "it stays");
    let record_now = leased(one.acquire(1)).record;
    assert_eq!(record_now, records(&[1, 11, 12]), "it counts once");
}

fn pushed_again(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let lease = one.take(1);
    assert_eq!(one.step(&lease, START, 11), Advanced::Moved);
    // The answer was lost, and the owner asks for a lease before it repeats the push.
    let again = one.take(1);
    assert!(again.fence > lease.fence);
    assert_eq!(one.step(&again, START, 11), Advanced::Already);
    let theirs = leased(other.acquire(1)).lease;
    // A lease of somebody else stays.
    assert_eq!(one.step(&again, START, 11), Advanced::Already);
    assert!(matches!(one.acquire(1), Acquired::Busy { .. }));
    assert_eq!(other.step(&theirs, 11, 12), Advanced::Moved);
}

fn moved_back(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    for (from, to) in [(START, 11), (11, START), (START, 11)] {
        let lease = client.take(1);
        assert_eq!(client.step_to(&lease, from, to), Advanced::Moved);
        assert_eq!(client.step_to(&lease, from, to), Advanced::Already);
        assert_eq!(client.head(1), hash(to));
    }
}

fn not_moved(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    assert_eq!(client.step_to(&lease, START, START), Advanced::Moved);
    assert_eq!(client.step_to(&lease, START, START), Advanced::LeaseLost);
    assert_eq!(client.head(1), hash(START));
}

fn released_twice(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let lease = one.take(1);
    assert_eq!(one.release(&lease, &record(5)), Released::Yes);
    assert_eq!(one.release(&lease, &record(5)), Released::Lost);
    let next = leased(other.acquire(1));
    assert_eq!(next.record, records(&[1, 5]));
    assert_eq!(one.release(&lease, &record(6)), Released::Lost);
    assert_eq!(other.step(&next.lease, START, 11), Advanced::Moved);
}

fn shared_twice(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let new = new_thread(1);
    assert_eq!(client.put(&start_nodes(), Some(&new)), Put::Already);
    assert_eq!(client.put(&start_nodes(), None), Put::Done);
    let lease = client.take(1);
    assert_eq!(client.put(&[], Some(&new)), Put::Already);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
    assert_eq!(
        client.put(&start_nodes(), Some(&new)),
        Put::Already,
        "it had that head"
    );
    assert_eq!(client.head(1), hash(11));
}
