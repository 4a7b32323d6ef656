//! Nodes: which are missing, and what is reached from some.

use super::world::{Client, first, given, hash, hashes, node, part, start_nodes};
use super::{Case, Place};
use crate::nodes::Given;
use crate::push::Put;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "what is missing is told in the order of the question",
        check: missing,
    },
    Case {
        name: "what is reached comes children first, and stops at what the caller has",
        check: reached,
    },
    Case {
        name: "a long chain is fetched in parts",
        check: parts,
    },
    Case {
        name: "a remote tells what it is, the same on every connection",
        check: hello,
    },
];

fn missing(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    assert_eq!(client.missing(&[]), []);
    assert_eq!(client.missing(&[1, 2]), hashes(&[1, 2]));
    client.share(&[1]);
    assert_eq!(client.missing(&[9, 1, 8, 2]), hashes(&[9, 8]));
}

fn reached(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let mut nodes = start_nodes();
    // Two ways lead to the node 30.
    nodes.extend([
        node(30, &[]),
        node(31, &[30]),
        node(32, &[30]),
        node(33, &[31, 32]),
    ]);
    assert_eq!(client.put(&nodes, None), Put::Done);
    let mut ask = |from: &[u64], have: &[u64]| {
        let given = given(client.closure(from, have, first(100)));
        assert!(given.complete);
        let hashes = given.nodes.iter().map(|node| node.node.hash);
        hashes.collect::<Vec<_>>()
    };
    let found = ask(&[33], &[]);
    assert_eq!(found.len(), 5, "each comes once: {found:?}");
    assert_eq!(found.last(), Some(&hash(33)));
    assert_eq!(ask(&[33], &[1, 31, 30]), hashes(&[32, 33]));
    assert_eq!(ask(&[33], &[33]), []);
    assert_eq!(ask(&[31, 32], &[1]).len(), 3);
    assert_eq!(ask(&[77], &[77]), [], "the caller has it");
    assert_eq!(
        client.closure(&[78, 33, 77], &[], first(100)),
        Given::Lacking(hashes(&[78, 77]))
    );
}

fn parts(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let mut nodes = start_nodes();
    nodes.extend((100..400).map(|number| node(number, &[number - 1])));
    nodes.push(node(99, &[]));
    assert_eq!(client.put(&nodes, None), Put::Done);
    let (mut have, mut calls) = (Vec::new(), 0);
    loop {
        let given = given(client.closure(&[399], &[], part(have.len(), 50)));
        assert!(given.nodes.len() <= 50);
        for node in given.nodes {
            assert!(
                node.needs().all(|needed| have.contains(&needed)),
                "{node:?}"
            );
            have.push(node.node.hash);
        }
        calls += 1;
        if given.complete {
            break;
        }
    }
    assert_eq!((have.len(), calls), (302, 7));
    assert_eq!(have.last(), Some(&hash(399)));
    let after = given(client.closure(&[399], &[], part(302, 50)));
    assert_eq!((after.nodes, after.complete), (vec![], true));
    // The nodes that come with a lease are the first part.
    let whole = given(client.closure(&[399], &[], first(302)));
    assert!(whole.complete);
    assert!(!given(client.closure(&[399], &[], first(301))).complete);
}

fn hello(place: &dyn Place) {
    let [one, other] = [1, 2].map(|number| Client::new(place, number).remote.hello());
    let one = one.expect("it tells what it is");
    assert!(one.least_client <= one.version);
    assert!(!one.store.is_empty());
    assert_eq!(other, Ok(one));
}
