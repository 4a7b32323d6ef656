//! Names of workflows.

use super::world::{Client, hash, hashes, start_nodes};
use super::{Case, Place};
use crate::names::{Named, SharedName};
use crate::push::Put;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a name stands for a node that is there, and is set only by who knows what it stood for",
        check: set,
    },
    Case {
        name: "a name that is set twice is set already, even if others have set it since",
        check: set_twice,
    },
    Case {
        name: "a name that came back to what it stood for is another one than before",
        check: came_back,
    },
    Case {
        name: "names are listed in the order of their bytes, in parts",
        check: listed,
    },
    Case {
        name: "of two machines that know one name, one sets it",
        check: two_machines,
    },
];

/// A connection to a remote with the nodes 1, 2 and 10.
fn client(place: &dyn Place, number: u64) -> Client {
    let mut client = Client::new(place, number);
    assert_eq!(client.put(&start_nodes(), None), Put::Done);
    client
}

fn set_to(client: &mut Client, name: &str, known: u64, to: u64) -> Named {
    let named = client.remote.set_name(name, known, hash(to));
    named.expect("a name can be set")
}

fn all(client: &mut Client) -> Vec<SharedName> {
    let names = client.remote.names(None, 100);
    names.expect("names can be listed")
}

/// A name that stood for these nodes, and stands for the last one.
fn shared(name: &str, stood_for: &[u64]) -> SharedName {
    let mut earlier = hashes(stood_for);
    SharedName {
        name: name.to_owned(),
        hash: earlier.pop().expect("it stands for something"),
        version: stood_for.len() as u64,
        earlier,
    }
}

fn set(place: &dyn Place) {
    let mut client = client(place, 1);
    assert_eq!(all(&mut client), []);
    assert_eq!(set_to(&mut client, "solve", 0, 99), Named::Lacking);
    assert_eq!(set_to(&mut client, "solve", 0, 1), Named::Done);
    assert_eq!(all(&mut client), [shared("solve", &[1])]);
    for known in [0, 2, 7] {
        let answer = set_to(&mut client, "solve", known, 2);
        assert_eq!(answer, Named::StandsFor(shared("solve", &[1])), "{known}");
    }
    assert_eq!(set_to(&mut client, "solve", 1, 99), Named::Lacking);
    assert_eq!(set_to(&mut client, "solve", 1, 2), Named::Done);
    assert_eq!(all(&mut client), [shared("solve", &[1, 2])]);
    let solve = all(&mut client).remove(0);
    assert!(solve.has_had(hash(1)) && solve.has_had(hash(2)) && !solve.has_had(hash(10)));
}

fn set_twice(place: &dyn Place) {
    let mut client = client(place, 1);
    assert_eq!(set_to(&mut client, "solve", 0, 1), Named::Done);
    assert_eq!(set_to(&mut client, "solve", 0, 1), Named::Already);
    assert_eq!(set_to(&mut client, "solve", 1, 2), Named::Done);
    for (known, to) in [(0, 1), (1, 2)] {
        assert_eq!(set_to(&mut client, "solve", known, to), Named::Already);
    }
    assert_eq!(all(&mut client), [shared("solve", &[1, 2])]);
}

fn came_back(place: &dyn Place) {
    let mut client = client(place, 1);
    for (known, to) in [(0, 1), (1, 2), (2, 1)] {
        assert_eq!(set_to(&mut client, "solve", known, to), Named::Done);
    }
    let stands = Named::StandsFor(shared("solve", &[1, 2, 1]));
    assert_eq!(set_to(&mut client, "solve", 1, 10), stands);
    assert_eq!(set_to(&mut client, "solve", 3, 10), Named::Done);
}

fn listed(place: &dyn Place) {
    let mut client = client(place, 1);
    for name in ["b", "a b", "B", "\u{fc}ber", "a"] {
        assert_eq!(set_to(&mut client, name, 0, 1), Named::Done);
    }
    let mut ask = |after, at_most| {
        let names = client.remote.names(after, at_most);
        let names = names.expect("names can be listed").into_iter();
        names.map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(ask(None, 3), ["B", "a", "a b"]);
    assert_eq!(ask(Some("a b"), 3), ["b", "\u{fc}ber"]);
    assert_eq!(
        ask(Some("aa"), 1),
        ["b"],
        "the name before need not be there"
    );
    assert!(ask(Some("\u{fc}ber"), 3).is_empty());
}

fn two_machines(place: &dyn Place) {
    let (mut one, mut other) = (client(place, 1), client(place, 2));
    assert_eq!(set_to(&mut one, "solve", 0, 1), Named::Done);
    assert_eq!(set_to(&mut other, "solve", 1, 2), Named::Done);
    let stands = Named::StandsFor(shared("solve", &[1, 2]));
    assert_eq!(set_to(&mut one, "solve", 1, 10), stands);
    assert_eq!(set_to(&mut one, "other", 0, 10), Named::Done);
    assert_eq!(all(&mut other).len(), 2);
}
