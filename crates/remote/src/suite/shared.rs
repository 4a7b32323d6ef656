//! Sharing a thread: what must be there, and what happens if it is there already.

use super::world::{Client, START, hash, hashes, new_thread, node, start_nodes, step_nodes};
use super::{Case, Place};
use crate::lease::Acquired;
use crate::push::{NewThread, Put};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a thread is shared with its nodes, and not without them",
        check: with_nodes,
    },
    Case {
        name: "a thread that has gone on elsewhere is not shared a second time",
        check: diverged,
    },
];

fn with_nodes(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let nodes = start_nodes();
    let new = new_thread(1);
    assert_eq!(
        client.put(&nodes[..2], Some(&new)),
        Put::Lacking(hashes(&[START]))
    );
    assert_eq!(
        client.put(&nodes[2..], Some(&new)),
        Put::Lacking(hashes(&[1, 2]))
    );
    assert_eq!(
        client.put(&[node(7, &[8])], None),
        Put::Lacking(hashes(&[1, 8]))
    );
    assert_eq!(client.acquire(1), Acquired::Unknown);
    assert_eq!(client.put(&nodes, None), Put::Done);
    assert_eq!(
        client.put(&[], Some(&new)),
        Put::Done,
        "its nodes are there"
    );
    assert_eq!(client.head(1), hash(START));
}

fn diverged(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let elsewhere = NewThread {
        head: hash(21),
        ..new_thread(1)
    };
    let put = client.put(&step_nodes(21, START), Some(&elsewhere));
    assert_eq!(put, Put::HeadIs(hash(START)));
    assert_eq!(client.head(1), hash(START));
    assert_eq!(client.missing(&[21]), [], "the step was paid for");
}
