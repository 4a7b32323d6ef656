//! Pushes of a new head: when it moves, and what keeps it from moving.

use uwf_protocol::raw_node::{LinkedNode, RawNode};

use super::world::{
    Client, START, given, hash, hashes, leased, node, owner, part, push, record, records,
    step_nodes, thread,
};
use super::{Case, Place};
use crate::lease::{Acquired, Want, Which};
use crate::push::{Advanced, Put};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a push moves the head, stores the record, and gives the lease back",
        check: moved,
    },
    Case {
        name: "another machine gets what it lacks, each node after what it needs",
        check: brought,
    },
    Case {
        name: "a head that is not the expected one does not move, and the lease stays",
        check: head_is,
    },
    Case {
        name: "a push that lacks nodes names them, changes nothing, and can be repeated with them",
        check: lacking,
    },
    Case {
        name: "a node with another time is the same node, and keeps its first time",
        check: same,
    },
    Case {
        name: "another content under a hash is refused, and the first one stays",
        check: clash,
    },
    Case {
        name: "a step that is done again takes the place of the one before",
        check: replaced,
    },
];

/// Returns a node that differs from another one.
fn changed(node: &LinkedNode, change: impl Fn(&mut RawNode)) -> LinkedNode {
    let mut changed = node.clone();
    change(&mut changed.node);
    changed
}

fn moved(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[1]);
    let lease = one.take(1);
    assert_eq!(one.step(&lease, START, 11), Advanced::Moved);
    let next = leased(other.acquire(1));
    assert_eq!((next.head, &next.record), (hash(11), &records(&[1, 11])));
    assert_eq!(other.step(&next.lease, 11, 12), Advanced::Moved);
    assert_eq!(one.head(1), hash(12));
}

fn brought(place: &dyn Place) {
    let mut one = Client::new(place, 1);
    one.share(&[1]);
    for (from, to) in [(START, 11), (11, 12)] {
        let lease = one.take(1);
        assert_eq!(one.step(&lease, from, to), Advanced::Moved);
    }
    let mut other = Client::new(place, 2);
    let owner = owner(2);
    let mut ask = |have: &[u64], at_most| {
        let have = hashes(have);
        let want = Want {
            owner: &owner,
            lasts: std::time::Duration::from_secs(60),
            have: &have,
            at_most,
        };
        let leased = leased(other.ask(Which::Thread(thread(1)), &want));
        (leased.nodes, leased.complete)
    };
    let (nodes, complete) = ask(&[1, START, 11], usize::MAX);
    assert_eq!(
        (nodes, complete),
        (vec![node(1012, &[]), node(12, &[11, START, 1012])], true)
    );
    assert_eq!(ask(&[12], usize::MAX), (vec![], true));
    assert_eq!(
        ask(&[11], usize::MAX).0.len(),
        5,
        "what lies behind the step is not known"
    );
    let (all, complete) = ask(&[], usize::MAX);
    assert_eq!((all.len(), complete), (7, true));
    for (at, node) in all.iter().enumerate() {
        let is_before = |needed| all[..at].iter().any(|before| before.node.hash == needed);
        assert!(node.needs().all(is_before), "{node:?}");
    }
    let (some, complete) = ask(&[], 3);
    assert_eq!((some.as_slice(), complete), (&all[..3], false));
    assert_eq!(ask(&[], 0), (vec![], false));
    let rest = given(Client::new(place, 3).closure(&[12], &[], part(3, 9)));
    assert_eq!((rest.nodes.as_slice(), rest.complete), (&all[3..], true));
}

fn head_is(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
    let lease = client.take(1);
    assert_eq!(client.step(&lease, START, 21), Advanced::HeadIs(hash(11)));
    assert_eq!(client.missing(&[21, 1021]), [], "the step was paid for");
    assert_eq!(client.head(1), hash(11));
    let other = Client::new(place, 2).acquire(1);
    assert!(matches!(other, Acquired::Busy { .. }), "{other:?}");
    assert_eq!(client.step(&lease, 11, 12), Advanced::Moved);
    let record = leased(client.acquire(1)).record;
    assert_eq!(record, records(&[1, 11, 21, 12]), "21 was paid for");
}

fn lacking(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    let mut nodes = step_nodes(11, START);
    nodes.push(node(500, &[501, 502]));
    nodes.push(node(502, &[]));
    nodes[1].refs.push(hash(500));
    let record = record(3);
    let expect = |client: &mut Client, nodes: &[LinkedNode], lacking: &[u64]| {
        let answer = client.advance(&lease, &push(nodes, START, 11, &record));
        assert_eq!(answer, Advanced::Lacking(hashes(lacking)));
        assert_eq!(client.head(1), hash(START));
    };
    expect(&mut client, &nodes, &[501]);
    expect(&mut client, &nodes[..1], &[11]);
    // A schema is needed, too.
    let schema = changed(&node(501, &[]), |node| node.type_hash = hash(600));
    nodes.push(schema);
    expect(&mut client, &nodes, &[600]);
    nodes.push(node(600, &[]));
    // The order of the nodes does not matter.
    nodes.reverse();
    let answer = client.advance(&lease, &push(&nodes, START, 11, &record));
    assert_eq!(answer, Advanced::Moved);
    assert_eq!(client.missing(&[11, 1011, 500, 501, 502, 600]), []);
}

fn same(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    let mut nodes = step_nodes(11, START);
    let later = |node: &LinkedNode| changed(node, |node| node.timestamp_ms += 5);
    let first = nodes[0].clone();
    assert_eq!(client.put(std::slice::from_ref(&first), None), Put::Done);
    nodes[0] = later(&first);
    // A push may have one node twice.
    nodes.push(later(&nodes[0]));
    let record = record(1);
    assert_eq!(
        client.advance(&lease, &push(&nodes, START, 11, &record)),
        Advanced::Moved
    );
    let stored = given(client.closure(&[1011], &[1], part(0, 9)));
    assert_eq!(stored.nodes, [first]);
}

fn clash(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    let taken = node(400, &[]);
    assert_eq!(client.put(std::slice::from_ref(&taken), None), Put::Done);
    let other_payload = changed(&taken, |node| node.payload = b"something else".to_vec());
    let other_type = changed(&taken, |node| node.type_hash = hash(10));
    let record = record(1);
    for other in [other_payload, other_type] {
        let mut nodes = step_nodes(11, START);
        nodes.push(other.clone());
        let answer = client.advance(&lease, &push(&nodes, START, 11, &record));
        assert_eq!(answer, Advanced::Clash(vec![taken.node.hash]));
        assert_eq!(
            client.put(&[other], None),
            Put::Clash(vec![taken.node.hash])
        );
    }
    assert_eq!(client.head(1), hash(START));
    let stored = given(client.closure(&[400], &[1], part(0, 9)));
    assert_eq!(stored.nodes, [taken]);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
}

fn replaced(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
    let lease = client.take(1);
    let nodes = step_nodes(12, START);
    let record = record(1);
    let push = push(&nodes, 11, 12, &record);
    assert_eq!(client.advance(&lease, &push), Advanced::Moved);
    assert_eq!(client.head(1), hash(12));
    assert_eq!(client.missing(&[11, 1011]), [], "the old step is kept");
}
