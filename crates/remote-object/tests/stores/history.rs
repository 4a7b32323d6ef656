//! Threads with many steps: their history has objects of its own, and all of it counts.

use std::sync::Arc;
use std::time::Duration;

use object_store::memory::InMemory;
use uwf_remote::suite::Place;
use uwf_remote::{Acquired, Advanced, Given, Part, Put, Remote, Want, Which};

use crate::InStore;
use crate::world::{START, hash, new_thread, owner, share, step, take, thread};

/// So many that two parts of the history have objects of their own.
const STEPS: u64 = 800;

fn head(step: u64) -> u64 {
    match step {
        0 => START,
        step => 1000 + step,
    }
}

#[test]
fn a_long_history_is_remembered_from_its_beginning() {
    let place = InStore::new(Arc::new(InMemory::new()), Duration::ZERO);
    let mut remote = place.open();
    share(&mut remote, 1);
    for at in 0..STEPS {
        let lease = take(&mut remote, 1);
        let moved = step(&mut remote, &lease, head(at), head(at + 1));
        assert_eq!(moved, Advanced::Moved, "{at}");
    }
    let lease = take(&mut remote, 1);
    for at in [0, 255, 256, 500, STEPS - 1] {
        let again = step(&mut remote, &lease, head(at), head(at + 1));
        assert_eq!(again, Advanced::Already, "{at}");
        let found = remote.find(thread(1), hash(head(at))).unwrap().unwrap();
        assert!(found.had, "{at}");
        assert_eq!(found.listed.head, hash(head(STEPS)));
    }
    let never = remote.find(thread(1), hash(5)).unwrap().unwrap();
    assert!(!never.had);
    assert_eq!(remote.put(&[], Some(&new_thread(1))), Ok(Put::Already));
    brought(&place);
}

/// Another machine gets all of it, in parts.
fn brought(place: &InStore) {
    let mut other = place.connect();
    let want = Want {
        owner: &owner(2),
        lasts: Duration::from_secs(60),
        have: &[],
        at_most: 100,
    };
    let acquired = other.acquire(Which::Thread(thread(1)), &want);
    let Ok(Acquired::Leased(leased)) = acquired else {
        panic!("it is free: {acquired:?}");
    };
    assert!(!leased.complete);
    let mut got = leased.nodes.len();
    loop {
        let part = Part {
            skip: got,
            at_most: 300.try_into().unwrap(),
        };
        let Ok(Given::Nodes(closure)) = other.closure(&[leased.head], &[], part) else {
            panic!("they are there");
        };
        got += closure.nodes.len();
        if closure.complete {
            break;
        }
    }
    assert_eq!(got as u64, STEPS + 2);
}
