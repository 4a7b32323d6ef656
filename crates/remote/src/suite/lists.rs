//! Lists of threads.

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::ThreadId;

use super::world::{Client, START, hash, new_thread, owner, records, start_nodes, thread};
use super::{Case, Place};
use crate::push::{Advanced, NewThread, Put};
use crate::threads::{Listed, Query};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "threads are listed by their ids, in parts",
        check: parts,
    },
    Case {
        name: "a thread is found with its record, and knows the heads that it had",
        check: found,
    },
    Case {
        name: "many threads are found by one question",
        check: found_each,
    },
    Case {
        name: "a thread gets another label",
        check: relabelled,
    },
    Case {
        name: "threads are listed by status and label, with who works on them",
        check: filters,
    },
];

fn list(client: &mut Client, query: &Query, after: Option<u64>, at_most: usize) -> Vec<Listed> {
    let listed = client.remote.list(query, after.map(thread), at_most);
    listed.expect("threads can be listed")
}

fn ids(listed: &[Listed]) -> Vec<ThreadId> {
    listed.iter().map(|one| one.thread).collect()
}

fn parts(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let all = Query::default();
    assert_eq!(list(&mut client, &all, None, 10), []);
    client.share(&[3, 1, 2, 5]);
    let mut ask = |after, at_most| ids(&list(&mut client, &all, after, at_most));
    assert_eq!(ask(None, 3), [1, 2, 3].map(thread));
    assert_eq!(ask(Some(3), 3), [5].map(thread));
    assert_eq!(
        ask(Some(4), 3),
        [5].map(thread),
        "the thread before need not be there"
    );
    assert_eq!(ask(Some(5), 3), []);
}

fn found(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let mut find = |number, head| {
        let found = client.remote.find(thread(number), hash(head));
        found.expect("a thread can be looked for")
    };
    assert_eq!(find(1, START), None);
    client.share(&[1]);
    let lease = client.take(1);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
    let mut find = |number, head| {
        let found = client.remote.find(thread(number), hash(head));
        found.expect("a thread can be looked for")
    };
    for (head, had) in [(START, true), (11, true), (1011, false)] {
        let found = find(1, head).expect("it is shared");
        assert_eq!((found.had, found.listed.head), (had, hash(11)), "{head}");
        assert_eq!(found.record, records(&[1, 11]));
    }
    assert_eq!(find(2, START), None);
}

fn found_each(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    let mut ask = |asked: &[(u64, u64)]| {
        let asked = asked
            .iter()
            .map(|(number, head)| (thread(*number), hash(*head)));
        let found = client.remote.find_each(&asked.collect::<Vec<_>>());
        found.expect("threads can be looked for")
    };
    assert_eq!(ask(&[]), []);
    assert_eq!(ask(&[(1, START)]), []);
    let many: Vec<u64> = (1..=150).collect();
    client.share(&many);
    let lease = client.take(3);
    assert_eq!(client.step(&lease, START, 11), Advanced::Moved);
    let held = client.take(2);
    let mut ask = |asked: &[(u64, u64)]| {
        let asked: Vec<_> = asked
            .iter()
            .map(|(number, head)| (thread(*number), hash(*head)))
            .collect();
        let found = client.remote.find_each(&asked);
        let found = found.expect("threads can be looked for");
        // Each answer is that of the question about this thread alone.
        let mut alone = |(thread, head)| {
            let found = client.remote.find(thread, head);
            found.expect("a thread can be looked for")
        };
        let alone = asked.into_iter().filter_map(&mut alone);
        let without_time = |mut found: crate::Found| {
            let busy = found.listed.busy.take();
            (found, busy.map(|(owner, _)| owner))
        };
        let expected: Vec<_> = alone.map(without_time).collect();
        let sound = found.into_iter().map(|(id, found)| {
            let found = found.expect("the thread is sound");
            assert_eq!(found.listed.thread, id);
            found
        });
        let found: Vec<_> = sound.map(without_time).collect();
        assert_eq!(found, expected);
        found
    };
    let found = ask(&[(3, START), (999, START), (2, 11), (1, START), (3, 1011)]);
    let facts = found.iter().map(|(found, busy)| {
        let facts = (found.listed.thread, found.listed.head, found.had);
        (facts, busy.clone())
    });
    let expected = [
        ((thread(3), hash(11), true), None),
        ((thread(2), hash(START), false), Some(held.owner)),
        ((thread(1), hash(START), true), None),
        ((thread(3), hash(11), false), None),
    ];
    assert_eq!(facts.collect::<Vec<_>>(), expected);
    assert_eq!(found[0].0.record, records(&[3, 11]));
    // One of them is not there.
    let wanted: Vec<(u64, u64)> = (1..=151).rev().map(|number| (number, START)).collect();
    assert_eq!(ask(&wanted).len(), many.len());
}

fn relabelled(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1, 2]);
    for text in ["pool=gpu", "pool=gpu", "pool=cpu"] {
        let label = text.parse().expect("it is a label");
        assert_eq!(client.remote.set_label(thread(1), Some(&label)), Ok(()));
        let query = Query {
            label: Some(label.clone()),
            ..Query::default()
        };
        let found = list(&mut client, &query, None, 9);
        assert_eq!(ids(&found), [thread(1)], "{text}");
        assert_eq!(client.remote.set_label(thread(3), Some(&label)), Ok(()));
    }
    for _ in 0..2 {
        assert_eq!(client.remote.set_label(thread(1), None), Ok(()));
    }
    let labels = list(&mut client, &Query::default(), None, 9);
    assert!(labels.iter().all(|one| one.label.is_none()), "{labels:?}");
    let all = list(&mut client, &Query::default(), None, 9);
    assert_eq!(ids(&all), [1, 2].map(thread), "nothing else has changed");
}

fn filters(place: &dyn Place) {
    let mut client = Client::new(place, 1);
    client.share(&[1]);
    let label = "pool=gpu".parse().ok();
    let new = NewThread {
        status: HeadStatus::Blocked,
        label: label.clone(),
        ..new_thread(2)
    };
    assert_eq!(client.put(&start_nodes(), Some(&new)), Put::Done);
    client.take(1);
    let blocked = Query {
        statuses: vec![HeadStatus::Blocked],
        label: None,
    };
    let found = list(&mut client, &blocked, None, 9);
    let [found] = found.as_slice() else {
        panic!("one is blocked: {found:?}");
    };
    let expected = Listed {
        thread: thread(2),
        workflow: new.workflow,
        head: hash(START),
        status: HeadStatus::Blocked,
        label: label.clone(),
        busy: None,
    };
    assert_eq!(*found, expected);
    let of_label = Query {
        statuses: Vec::new(),
        label,
    };
    assert_eq!(ids(&list(&mut client, &of_label, None, 9)), [thread(2)]);
    let ready = Query {
        statuses: vec![HeadStatus::Ready],
        label: None,
    };
    let either = Query {
        statuses: vec![HeadStatus::Blocked, HeadStatus::Ready],
        label: None,
    };
    assert_eq!(
        ids(&list(&mut client, &either, None, 9)),
        [1, 2].map(thread)
    );
    let busy = list(&mut client, &ready, None, 9).remove(0).busy;
    assert_eq!(busy.map(|(by, _)| by), Some(owner(1)));
}
