//! Many machines at once.

use std::collections::BTreeSet;
use std::thread::{ScopedJoinHandle, scope};

use super::world::{Client, START, hash, leased, new_thread, node, start_nodes};
use super::{Case, Place};
use crate::lease::Acquired;
use crate::names::Named;
use crate::push::{Advanced, Put};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "of many machines that want one thread at once, one gets it",
        check: one_lease,
    },
    Case {
        name: "of many pushes of one owner at once, one moves the head",
        check: one_push,
    },
    Case {
        name: "many workers that name their threads lose no step",
        check: named,
    },
    Case {
        name: "a thread that many share at once is there once",
        check: one_thread,
    },
    Case {
        name: "of many machines that set one name at once, one does",
        check: one_name,
    },
];

/// What holds if a remote gives the next thread.
pub(super) const CASES_OF_NEXT: &[Case] = &[Case {
    name: "many workers take each thread once, and lose no step",
    check: next,
}];

/// How many machines there are.
const MACHINES: u64 = 16;

/// Lets each machine do something at once, and returns what came of it.
fn at_once<T: Send>(place: &dyn Place, work: impl Fn(u64, &mut Client) -> T + Sync) -> Vec<T> {
    let work = &work;
    scope(|scope| {
        let machines = (1..=MACHINES).map(|number| {
            let mut client = Client::new(place, number);
            scope.spawn(move || work(number, &mut client))
        });
        let machines: Vec<_> = machines.collect();
        let ended = machines.into_iter().map(ScopedJoinHandle::join);
        ended
            .map(|ended| ended.expect("no machine panics"))
            .collect()
    })
}

fn one_lease(place: &dyn Place) {
    Client::new(place, 1).share(&[1]);
    let acquired = at_once(place, |_, client| client.acquire(1));
    let is_leased = |acquired: &&Acquired| matches!(acquired, Acquired::Leased(_));
    assert_eq!(acquired.iter().filter(is_leased).count(), 1, "{acquired:?}");
    let is_busy = |acquired: &&Acquired| matches!(acquired, Acquired::Busy { .. });
    assert_eq!(acquired.iter().filter(is_busy).count(), acquired.len() - 1);
}

fn one_push(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let lease = client.take(1);
    let answers = at_once(place, |number, client| {
        client.step(&lease, START, 100 + number)
    });
    let moved = answers.iter().filter(|answer| **answer == Advanced::Moved);
    assert_eq!(moved.count(), 1, "{answers:?}");
    let lost = answers
        .iter()
        .filter(|answer| **answer == Advanced::LeaseLost);
    assert_eq!(lost.count(), answers.len() - 1, "{answers:?}");
}

/// How many threads many workers work on.
const THREADS: u64 = 8;

fn next(place: &dyn Place) {
    workers(place, |client, _| client.next());
}

fn named(place: &dyn Place) {
    workers(place, |client, turn| client.acquire(1 + turn % THREADS));
}

/// Lets workers take threads, and checks that no step is lost. `take` is told a number that differs between workers and turns.
fn workers(place: &dyn Place, take: impl Fn(&mut Client, u64) -> Acquired + Sync) {
    const STEPS: u64 = 5;
    let numbers: Vec<u64> = (1..=THREADS).collect();
    Client::new(place, 1).share(&numbers);
    let taken = at_once(place, |number, client| {
        let mut taken = Vec::new();
        for turn in 0..STEPS {
            let Acquired::Leased(leased) = take(client, number + turn) else {
                continue;
            };
            let to = number * 100_000 + turn * 10_000 + 11;
            let answer = client.step_from(&leased.lease, leased.head, to);
            // The call may have been made again because its answer was lost.
            let has_moved = matches!(answer, Advanced::Moved | Advanced::Already);
            assert!(has_moved, "nobody else may move it: {answer:?}");
            taken.push((leased.lease.thread, leased.lease.fence));
        }
        taken
    });
    let all: Vec<_> = taken.into_iter().flatten().collect();
    let each: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(all.len(), each.len(), "no lease is given twice");
    assert!(!all.is_empty());
    let mut client = Client::new(place, 1);
    for number in numbers {
        let steps = all
            .iter()
            .filter(|(id, _)| *id == super::world::thread(number));
        let acquired = leased(client.acquire(number));
        let start = start_nodes().len();
        assert_eq!(
            acquired.nodes.len(),
            start + 2 * steps.count(),
            "no step is lost"
        );
        assert!(acquired.complete);
    }
}

fn one_thread(place: &dyn Place) {
    let new = new_thread(1);
    let answers = at_once(place, |_, client| client.put(&start_nodes(), Some(&new)));
    let done = answers.iter().filter(|answer| **answer == Put::Done);
    assert_eq!(done.count(), 1, "{answers:?}");
    let already = answers.iter().filter(|answer| **answer == Put::Already);
    assert_eq!(already.count(), answers.len() - 1, "{answers:?}");
}

fn one_name(place: &dyn Place) {
    let number_of = |machine: u64| 100 + machine;
    let mut nodes = start_nodes();
    nodes.extend((1..=MACHINES).map(|machine| node(number_of(machine), &[])));
    assert_eq!(Client::new(place, 1).put(&nodes, None), Put::Done);
    for known in 0..3 {
        let answers = at_once(place, |machine, client| {
            let to = hash(number_of(machine));
            let named = client.remote.set_name("solve", known, to);
            named.expect("a name can be set")
        });
        let done = answers.iter().filter(|answer| **answer == Named::Done);
        assert_eq!(done.count(), 1, "{answers:?}");
        let others = answers.iter().filter_map(|answer| match answer {
            Named::StandsFor(stored) => Some(stored.version),
            _ => None,
        });
        assert_eq!(
            others.collect::<Vec<_>>(),
            vec![known + 1; answers.len() - 1]
        );
    }
}
