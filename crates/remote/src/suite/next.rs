//! The next thread that is ready: only some remotes give it.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Label;

use super::world::{
    ANY, Client, SHORT, START, hash, leased, new_thread, owner, push, record, start_nodes,
    step_nodes, thread,
};
use super::{Case, Place};
use crate::RemoteError;
use crate::lease::{Acquired, Owner, Released, Want, Which};
use crate::push::{Advanced, After, NewThread, Push, Put};

/// What holds if a remote gives the next thread.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "no thread is next if none is shared",
        check: nothing,
    },
    Case {
        name: "the thread that has been ready longest is next, and only what is ready and free",
        check: next,
    },
    Case {
        name: "a thread with a label is given to workers that have it",
        check: labels,
    },
    Case {
        name: "an owner that asks for the next thread again has the same one",
        check: next_twice,
    },
    Case {
        name: "a thread that the owner does not want is left to others",
        check: unwanted,
    },
    Case {
        name: "a thread that has ended is not next, also if its owner has kept the lease",
        check: not_after_its_end,
    },
];

/// What holds if it does not.
pub(super) const CASES_WITHOUT: &[Case] = &[Case {
    name: "a remote that gives no next thread says so, and leases none",
    check: unable,
}];

fn nothing(place: &dyn Place) {
    assert_eq!(Client::new(place, 1).next(), Acquired::Nothing);
}

fn next(place: &dyn Place) {
    let (mut one, mut other) = (Client::new(place, 1), Client::new(place, 2));
    one.share(&[3, 1, 2]);
    let status = [
        HeadStatus::Suspended,
        HeadStatus::Ended,
        HeadStatus::Blocked,
    ];
    for (number, status) in (4..).zip(status) {
        let new = NewThread {
            status,
            ..new_thread(number)
        };
        assert_eq!(one.put(&[], Some(&new)), Put::Done);
    }
    let first = leased(one.next()).lease;
    assert_eq!(first.thread, thread(3));
    let second = leased(other.next()).lease;
    assert_eq!(second.thread, thread(1));
    // A thread that was worked on is at the end of the line.
    assert_eq!(one.step(&first, START, 11), Advanced::Moved);
    let third = leased(one.next()).lease;
    assert_eq!(third.thread, thread(2));
    assert_eq!(other.release(&second, &record(1)), Released::Yes);
    assert_eq!(leased(other.next()).lease.thread, thread(3));
    assert_eq!(leased(Client::new(place, 3).next()).lease.thread, thread(1));
    assert_eq!(Client::new(place, 4).next(), Acquired::Nothing);
}

fn labels(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let labels: Vec<Label> = ["pool=gpu", "pool=small"]
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect();
    let [gpu, small] = labels.as_slice() else {
        panic!("these are labels");
    };
    let new = NewThread {
        label: Some(gpu.clone()),
        ..new_thread(1)
    };
    assert_eq!(client.put(&start_nodes(), Some(&new)), Put::Done);
    assert_eq!(client.next(), Acquired::Nothing);
    let owner = owner(1);
    let want = without_nodes(&owner);
    let of_small = Which::Next {
        labels: std::slice::from_ref(small),
        except: &[],
    };
    assert_eq!(client.ask(of_small, &want), Acquired::Nothing);
    let both = [small.clone(), gpu.clone()];
    let of_both = Which::Next {
        labels: &both,
        except: &[],
    };
    let given = client.ask(of_both, &want);
    assert_eq!(leased(given).lease.thread, thread(1));
}

fn next_twice(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1, 2]);
    let lease = leased(client.next()).lease;
    assert_eq!(leased(client.next()).lease, lease);
    assert_eq!(leased(Client::new(place, 2).next()).head, hash(START));
}

fn unwanted(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1, 2]);
    let owner = owner(1);
    let want = without_nodes(&owner);
    let both = [thread(1), thread(2)];
    assert_eq!(client.ask(without(&both), &want), Acquired::Nothing);
    let given = leased(client.ask(without(&both[..1]), &want)).lease;
    assert_eq!(given.thread, thread(2));
    // The same question again, after a lost answer.
    assert_eq!(leased(client.ask(without(&both), &want)).lease, given);
    assert_eq!(leased(Client::new(place, 2).next()).lease.thread, thread(1));
}

fn not_after_its_end(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1, 2]);
    let lease = leased(client.next()).lease;
    assert_eq!(lease.thread, thread(1));
    let (nodes, record) = (step_nodes(11, START), record(11));
    let end = Push {
        status: HeadStatus::Ended,
        lease: After::Keep,
        ..push(&nodes, START, 11, &record)
    };
    assert_eq!(client.advance(&lease, &end), Advanced::Moved);
    assert_eq!(leased(client.next()).lease.thread, thread(2));
}

fn unable(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let owner = owner(1);
    let want = without_nodes(&owner);
    let asked = client.remote.acquire(ANY, &want);
    assert!(matches!(asked, Err(RemoteError::Unable(_))), "{asked:?}");
    assert_eq!(leased(Client::new(place, 2).acquire(1)).head, hash(START));
}

/// Asks for the next thread, and leaves these out.
fn without(except: &[ThreadId]) -> Which<'_> {
    Which::Next {
        labels: &[],
        except,
    }
}

/// A lease for a short time, without the nodes of the thread.
fn without_nodes(owner: &Owner) -> Want<'_> {
    Want {
        owner,
        lasts: SHORT,
        have: &[],
        at_most: 0,
    }
}
