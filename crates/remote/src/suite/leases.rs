//! Leases: which owner gets a thread, for how long, and what an owner can do after its lease is lost.

use uwf_protocol::head_status::HeadStatus;

use super::world::{
    Client, SHORT, START, hash, leased, owner, push, record, records, start_nodes, step_nodes,
    thread,
};
use super::{Case, Place};
use crate::lease::{Acquired, Lease, Released, Renewed, Standing};
use crate::push::{Advanced, Push, Put};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a thread that is not shared is unknown",
        check: unknown,
    },
    Case {
        name: "a thread has one owner at a time, and a later lease has a larger fence",
        check: one_owner,
    },
    Case {
        name: "a lease whose time is over can be taken, and the old one is void",
        check: takeover,
    },
    Case {
        name: "a lease that nobody took is good, though its time is over",
        check: late,
    },
    Case {
        name: "a renewed lease lasts for its whole time",
        check: renewed,
    },
    Case {
        name: "a lease that was given back is void",
        check: given_back,
    },
    Case {
        name: "a later lease of the same owner makes the earlier one void",
        check: same_owner,
    },
    Case {
        name: "an owner whose machine got another name has its leases",
        check: renamed_owner,
    },
    Case {
        name: "a lease can be ended by somebody else, and no other lease with it",
        check: ended_by_another,
    },
    Case {
        name: "an ended thread is not leased, and one that waits for a person is",
        check: ended,
    },
];

fn unknown(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    assert_eq!(client.acquire(1), Acquired::Unknown);
    let lease = Lease {
        thread: thread(1),
        fence: 1,
        owner: owner(1),
        lasts: SHORT,
    };
    assert_eq!(client.remote.renew(&lease), Ok(Renewed::Lost));
    assert_eq!(client.release(&lease, &record(1)), Released::Lost);
    assert_eq!(client.put(&start_nodes(), None), Put::Done);
    assert_eq!(client.step(&lease, START, 11), Advanced::LeaseLost);
}

fn one_owner(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1, 2]);
    let first = leased(one.acquire_for(1, SHORT * 100));
    assert_eq!((first.head, &first.record), (hash(START), &record(1)));
    assert_eq!(first.lease.thread, thread(1));
    let Acquired::Busy { owner: by, left } = other.acquire(1) else {
        panic!("another owner has it");
    };
    assert_eq!(by, owner(1));
    assert!(left <= SHORT * 100 && left > SHORT, "{left:?}");
    other.take(2);
    assert_eq!(one.release(&first.lease, &record(7)), Released::Yes);
    let second = leased(other.acquire(1));
    assert!(second.lease.fence > first.lease.fence);
    let both = records(&[1, 7]);
    assert_eq!(second.record, both, "the record comes with the lease");
}

fn takeover(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let old = leased(one.acquire_for(1, SHORT)).lease;
    place.pass(SHORT * 2);
    let new = other.take(1);
    assert!(new.fence > old.fence);
    assert_eq!(one.remote.renew(&old), Ok(Renewed::Lost));
    assert_eq!(one.step(&old, START, 11), Advanced::LeaseLost);
    assert_eq!(one.missing(&[11, 1011]), [], "the step was paid for");
    assert_eq!(one.head(1), hash(START));
    assert_eq!(one.release(&old, &record(99)), Released::Lost);
    assert!(
        matches!(one.acquire(1), Acquired::Busy { .. }),
        "it is not the lease of the new owner"
    );
    assert_eq!(other.step(&new, START, 12), Advanced::Moved);
    let after = leased(one.acquire(1));
    assert_eq!(after.head, hash(12));
    let all = records(&[1, 11, 99, 12]);
    assert_eq!(after.record, all, "what was used up counts, late or not");
}

fn late(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1, 2]);
    let lease = leased(client.acquire_for(1, SHORT)).lease;
    place.pass(SHORT * 2);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
    let lease = leased(client.acquire_for(2, SHORT)).lease;
    place.pass(SHORT * 2);
    assert_eq!(client.remote.renew(&lease), Ok(Renewed::Yes));
    let mut other = Client::new(place, 2);
    assert!(matches!(other.acquire(2), Acquired::Busy { .. }));
}

fn renewed(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let lease = leased(one.acquire_for(1, SHORT * 4)).lease;
    for _ in 0..3 {
        place.pass(SHORT * 2);
        assert_eq!(one.remote.renew(&lease), Ok(Renewed::Yes));
    }
    let Acquired::Busy { left, .. } = other.acquire(1) else {
        panic!("it was renewed");
    };
    assert!(left > SHORT, "{left:?}");
}

fn given_back(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    assert_eq!(client.release(&lease, &record(2)), Released::Yes);
    assert_eq!(client.remote.renew(&lease), Ok(Renewed::Lost));
    assert_eq!(client.step(&lease, START, 11), Advanced::LeaseLost);
    assert_eq!(client.release(&lease, &record(3)), Released::Lost);
    let all = records(&[1, 2, 11, 3]);
    assert_eq!(leased(client.acquire(1)).record, all);
}

fn same_owner(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let old = client.take(1);
    assert_eq!(client.release(&old, &record(2)), Released::Yes);
    let new = client.take(1);
    assert!(new.fence > old.fence);
    assert_eq!(client.remote.renew(&old), Ok(Renewed::Lost));
    assert_eq!(client.step(&old, START, 11), Advanced::LeaseLost);
    assert_eq!(client.release(&old, &record(3)), Released::Lost);
    assert_eq!(client.remote.renew(&new), Ok(Renewed::Yes));
    assert_eq!(leased(client.acquire(1)).record, records(&[1, 2, 11, 3]));
}

fn renamed_owner(place: &dyn Place) {
    let mut before = Client::new(place, 1);
    let mut after = Client::new(place, 1).renamed();
    before.share(&[1]);
    let old = before.take(1);
    let new = after.take(1);
    assert_eq!(new.fence, old.fence, "it is the same lease");
    let Acquired::Busy { owner: by, .. } = Client::new(place, 2).acquire(1) else {
        panic!("somebody works on it");
    };
    assert_eq!(by.name, "renamed");
    assert_eq!(before.remote.renew(&old), Ok(Renewed::Yes));
    assert_eq!(before.step(&old, START, 11), Advanced::Moved);
    let lease = before.take(1);
    let lease = after.own(&lease);
    assert_eq!(after.remote.renew(&lease), Ok(Renewed::Yes));
    assert_eq!(after.release(&lease, &record(2)), Released::Yes);
    let lease = before.take(1);
    let lease = after.own(&lease);
    assert_eq!(after.remote.end_lease(&lease), Ok(()));
    assert_eq!(after.remote.standing(thread(1)), Ok(Standing::Free));
}

fn ended_by_another(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    assert_eq!(other.remote.standing(thread(1)), Ok(Standing::Unknown));
    one.share(&[1]);
    assert_eq!(other.remote.standing(thread(1)), Ok(Standing::Free));
    let old = leased(one.acquire_for(1, SHORT * 100)).lease;
    place.pass(SHORT * 2);
    let Ok(Standing::Leased(seen)) = other.remote.standing(thread(1)) else {
        panic!("somebody works on it");
    };
    assert_eq!((&seen.owner, seen.fence), (&old.owner, old.fence));
    assert!(seen.lasts > SHORT, "{:?}", seen.lasts);
    assert!(seen.lasts <= SHORT * 98, "{:?}", seen.lasts);
    for _ in 0..2 {
        assert_eq!(other.remote.end_lease(&seen), Ok(()));
        assert_eq!(other.remote.standing(thread(1)), Ok(Standing::Free));
    }
    assert_eq!(one.remote.renew(&old), Ok(Renewed::Lost));
    assert_eq!(one.step(&old, START, 11), Advanced::LeaseLost);
    let new = one.take(1);
    assert!(new.fence > old.fence);
    assert_eq!(other.remote.end_lease(&seen), Ok(()));
    assert_eq!(one.remote.renew(&new), Ok(Renewed::Yes), "another lease");
}

fn ended(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1, 2]);
    for (number, status) in [(1, HeadStatus::Ended), (2, HeadStatus::Suspended)] {
        let lease = client.take(number);
        let nodes = step_nodes(11, START);
        let record = record(1);
        let push = Push {
            status,
            ..push(&nodes, START, 11, &record)
        };
        assert_eq!(client.advance(&lease, &push), Advanced::Moved);
    }
    assert_eq!(client.acquire(1), Acquired::Ended);
    let waiting = leased(client.acquire(2));
    assert_eq!(
        (waiting.head, waiting.status),
        (hash(11), HeadStatus::Suspended)
    );
}
