//! Garbage: what nobody needs goes, and nothing else, whatever is done meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use uwf_protocol::raw_node::RawNode;
use uwf_remote::care::{Cared, Collected, Fault, References, Verified};
use uwf_remote::{Advanced, Given, Part, Put, Remote, RemoteError};
use uwf_remote_postgres::{Limits, Postgres};

use crate::admin::Admin;
use crate::patient::Patient;
use crate::world::{
    START, acquire, advance, hash, new_thread, node, record, start_nodes, take, thread,
};
use crate::{InSchema, postgres};

/// A node that becomes garbage in a test.
const TEXT: u64 = 77;

/// Returns a connection that removes what was condemned a moment ago.
pub(crate) fn hasty(place: &InSchema) -> Postgres {
    place.open_within(Limits {
        least_age: Duration::ZERO,
        ..Limits::default()
    })
}

pub(crate) fn faults(remote: &mut Postgres) -> Vec<Fault> {
    let mut faults = Vec::new();
    verified(remote, &mut |fault| faults.push(fault));
    faults
}

/// Verifies a remote. The payloads of these tests mean nothing, so no references can be told from them.
fn verified(remote: &mut Postgres, found: &mut dyn FnMut(Fault)) -> Verified {
    let verified = remote.verify(&mut not_read, &mut |fault| match fault {
        Fault::UnknownRefs(_) => {}
        fault => found(fault),
    });
    verified.expect("the remote can be verified")
}

pub(crate) fn not_read(_: &RawNode, _: Option<&RawNode>) -> References {
    References::Unknown
}

/// Verifies a remote in which nothing is wrong.
pub(crate) fn sound(remote: &mut Postgres) -> Verified {
    verified(remote, &mut |fault| panic!("{fault}"))
}

pub(crate) fn numbers(collected: Collected) -> [u64; 3] {
    [collected.condemned, collected.reprieved, collected.removed]
}

#[test]
fn garbage_is_condemned_first_and_removed_when_its_time_has_come() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let admin = Admin::new(&server.url());
    let mut remote = place.open();
    let nodes = [&start_nodes()[..], &[node(TEXT, &[]), node(78, &[TEXT])]].concat();
    remote
        .put(&nodes, Some(&new_thread(1, record(None))))
        .unwrap();

    let age = Duration::from_secs(14 * 24 * 3600);
    assert_eq!(numbers(remote.collect(age).unwrap()), [2, 0, 0]);
    assert_eq!(remote.missing(&[hash(TEXT)]).unwrap(), [hash(TEXT)]);
    // Nobody may refer to it without sending it.
    let parent = [node(79, &[TEXT])];
    assert_eq!(
        remote.put(&parent, None).unwrap(),
        Put::Lacking(vec![hash(TEXT)])
    );
    // Nothing is removed within an hour, whatever is asked for.
    assert_eq!(numbers(remote.collect(Duration::ZERO).unwrap()), [0, 0, 0]);
    assert_eq!(remote.statistics().unwrap().unwrap().condemned, 2);

    // It is put again, and a record names it.
    let mut lease = take(&mut remote, 1);
    let step = [node(11, &[START]), node(TEXT, &[])];
    let moved = advance(&mut remote, &lease, &step, (START, 11), &record(Some(TEXT)));
    assert_eq!(moved, Ok(Advanced::Moved));
    let schema = &place.schema;
    admin.run(&format!(
        "UPDATE {schema}.nodes SET condemned_at = condemned_at - interval '15 days'"
    ));
    assert_eq!(numbers(remote.collect(age).unwrap()), [0, 0, 1]);
    assert_eq!(remote.missing(&[hash(TEXT), hash(78)]).unwrap(), [hash(78)]);

    // What somebody needs after all is no longer condemned.
    admin.run(&format!(
        "UPDATE {schema}.nodes SET condemned_at = now() - interval '15 days' WHERE hash IN ({TEXT}, {START})"
    ));
    assert_eq!(numbers(remote.collect(age).unwrap()), [0, 2, 0]);
    assert!(
        remote
            .missing(&[hash(TEXT), hash(START)])
            .unwrap()
            .is_empty()
    );

    // A record of a machine that has not seen the other one stays beside it, with what both name.
    lease = take(&mut place.open(), 1);
    let more = [node(12, &[11]), node(80, &[])];
    let moved = advance(
        &mut place.open(),
        &lease,
        &more,
        (11, 12),
        &record(Some(80)),
    );
    assert_eq!(moved, Ok(Advanced::Moved));
    assert_eq!(
        numbers(hasty(&place).collect(Duration::ZERO).unwrap()),
        [0, 0, 0]
    );
    assert_eq!(faults(&mut remote), []);
}

#[test]
fn what_is_wrong_with_a_remote_is_found() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let (admin, schema) = (Admin::new(&server.url()), &place.schema);
    let mut remote = place.open();
    let mut nodes = start_nodes();
    // More than one page.
    nodes.extend((100..2200).map(|number| node(number, &[])));
    remote
        .put(&nodes, Some(&new_thread(1, record(None))))
        .unwrap();
    let verified = sound(&mut remote);
    assert_eq!((verified.threads, verified.nodes), (1, 2103));

    admin.run(&format!(
        "UPDATE {schema}.nodes SET payload = 'other' WHERE hash = 2000;
         DELETE FROM {schema}.nodes WHERE hash = 2;
         INSERT INTO {schema}.history (thread, from_head, to_head, version) VALUES ('nobody', 10, 10, 1);
         UPDATE {schema}.threads SET status = 'odd', lease_owner = 'x', version = 3, records = ARRAY['no record'::bytea]"
    ));
    let found: Vec<String> = faults(&mut remote)
        .iter()
        .map(ToString::to_string)
        .collect();
    let (two, all) = (hash(2), found.join("\n"));
    for expected in [
        format!("the node {} is damaged", hash(2000)),
        format!(
            "the node {} needs nodes that are missing: {two}",
            hash(START)
        ),
        format!(
            "the thread {} needs nodes that are missing: {two}",
            thread(1)
        ),
        "its head does not fit its history".into(),
        "`odd` is not a status".into(),
        "a lease has no".into(),
        "a record cannot be read".into(),
        "the thread nobody makes no sense".into(),
    ] {
        assert!(all.contains(&expected), "{expected} is expected in:\n{all}");
    }
    assert_eq!(found.len(), 8, "{all}");
}

/// Steps one thread until it is told to stop. It leaves garbage behind, and uses some of it later without sending it.
fn work(remote: &mut dyn Remote, number: u64, stop: &AtomicBool) -> u64 {
    let put = remote.put(&start_nodes(), Some(&new_thread(number, record(None))));
    assert_eq!(put, Ok(Put::Done));
    let (mut head, mut steps) = (START, 0);
    while !stop.load(Ordering::Relaxed) {
        let base = number * 1_000_000 + steps * 10;
        // The garbage of all workers has common parts.
        let common = 500 + steps % 7;
        let unused = [
            node(common, &[]),
            node(base + 1, &[common]),
            node(base + 2, &[base + 1]),
        ];
        assert_eq!(remote.put(&unused, None), Ok(Put::Done));
        let lease = take(remote, number);
        let step = node(base + 3, &[head, base + 2]);
        // Every other step is made of garbage.
        if steps % 2 == 0 {
            let all = [&unused[..], &[node(base + 3, &[head, common])]].concat();
            let moved = advance(
                remote,
                &lease,
                &all,
                (head, base + 3),
                &record(Some(common)),
            );
            assert!(
                matches!(moved, Ok(Advanced::Moved | Advanced::Already)),
                "{moved:?}"
            );
        } else {
            let mut nodes = vec![step];
            loop {
                match advance(remote, &lease, &nodes, (head, base + 3), &record(None)) {
                    Ok(Advanced::Moved | Advanced::Already) => break,
                    Ok(Advanced::Lacking(_)) => nodes.extend(unused.clone()),
                    other => panic!("{other:?}"),
                }
            }
        }
        (head, steps) = (base + 3, steps + 1);
    }
    steps
}

/// Reads the chain of each worker. Every other step has three nodes beside it, one of them common to all.
fn every_chain_is_whole(remote: &mut Postgres, steps: &[u64]) {
    for (at, steps) in steps.iter().enumerate() {
        let number = at as u64 + 1;
        let head = number * 1_000_000 + (steps - 1) * 10 + 3;
        let part = Part {
            skip: 0,
            at_most: usize::MAX.try_into().unwrap(),
        };
        match remote.closure(&[hash(head)], &[], part).unwrap() {
            Given::Nodes(closure) => {
                let own = closure.nodes.len() as u64 - 3;
                let (even, odd) = (steps.div_ceil(2), steps / 2);
                let common = own - even - 3 * odd;
                assert!(
                    (1..=7).contains(&common),
                    "{number}: {own} nodes in {steps} steps"
                );
            }
            Given::Lacking(nodes) => panic!("{number}: {nodes:?}"),
        }
    }
}

#[test]
fn nothing_is_removed_that_eight_workers_need() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let stop = AtomicBool::new(false);
    let (steps, collected) = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=8)
            .map(|number| {
                scope.spawn({
                    let (place, stop) = (&place, &stop);
                    move || work(&mut place.open(), number, stop)
                })
            })
            .collect();
        let mut collector = hasty(&place);
        let started = std::time::Instant::now();
        let goes_on = |all: &Collected| match all.removed {
            0 => started.elapsed() < Duration::from_secs(90),
            _ => started.elapsed() < Duration::from_secs(4),
        };
        let mut all = Collected::default();
        let mut times = 0;
        while goes_on(&all) {
            let once = collector
                .collect(Duration::ZERO)
                .expect("garbage can be collected");
            times += 1;
            all.condemned += once.condemned;
            all.reprieved += once.reprieved;
            all.removed += once.removed;
        }
        stop.store(true, Ordering::Relaxed);
        println!("{times} collections");
        let steps: Vec<u64> = workers.into_iter().map(|one| one.join().unwrap()).collect();
        (steps, all)
    });
    println!("{steps:?} steps, {collected:?}");
    assert!(collected.removed > 0, "the collector met no garbage");
    let mut remote = hasty(&place);
    remote.collect(Duration::ZERO).unwrap();
    assert_eq!(faults(&mut remote), []);
    every_chain_is_whole(&mut remote, &steps);
    let last = remote.collect(Duration::ZERO).unwrap();
    assert_eq!(numbers(last), [0, 0, 0], "all garbage is gone");
}

#[test]
fn a_node_stays_that_a_statement_under_way_refers_to() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let nodes = [&start_nodes()[..], &[node(TEXT, &[])]].concat();
    place.open().put(&nodes, None).unwrap();
    let (writer, watcher) = (Admin::new(&server.url()), Admin::new(&server.url()));
    let schema = &place.schema;
    writer.run(&format!(
        "BEGIN; INSERT INTO {schema}.nodes (hash, type, payload, digest, stamp, refs) VALUES (78, 1, '', '', 0, '{{{TEXT}}}')"
    ));
    let collected = std::thread::scope(|scope| {
        let collector = scope.spawn(|| hasty(&place).collect(Duration::ZERO).unwrap());
        let waits = format!(
            "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = '{schema}.nodes'::regclass"
        );
        while !collector.is_finished() && watcher.row(&waits) != "t" {
            std::thread::sleep(Duration::from_millis(10));
        }
        writer.run("COMMIT");
        collector.join().unwrap()
    });
    // Nothing needs the other three.
    assert_eq!(numbers(collected), [4, 2, 2]);
    let missing = place.open().missing(&[hash(TEXT)]).unwrap();
    assert!(missing.is_empty(), "another node refers to it");
}

#[test]
fn a_collection_waits_longer_than_one_lock_may_take() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let writer = Admin::new(&server.url());
    let schema = &place.schema;
    writer.run(&format!(
        "BEGIN; LOCK TABLE {schema}.nodes IN ROW EXCLUSIVE MODE"
    ));
    std::thread::scope(|scope| {
        let collector = scope.spawn(|| hasty(&place).collect(Duration::ZERO));
        // The barrier gives up after 5 seconds, and is tried again.
        std::thread::sleep(Duration::from_secs(7));
        assert!(!collector.is_finished(), "{:?}", collector.join());
        writer.run("COMMIT");
        let collected = collector.join().unwrap();
        assert_eq!(collected.map(numbers), Ok([0, 0, 0]));
    });
}

#[test]
fn a_server_that_is_killed_amid_a_collection_loses_nothing() {
    let Some(server) = postgres::own_server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let stop = AtomicBool::new(false);
    let steps = std::thread::scope(|scope| {
        let (place, stop) = (&place, &stop);
        let workers: Vec<_> = (1..=3)
            .map(|number| scope.spawn(move || work(&mut Patient(place.open()), number, stop)))
            .collect();
        let collector = scope.spawn(move || {
            let mut collector = hasty(place);
            while !stop.load(Ordering::Relaxed) {
                match collector.collect(Duration::ZERO) {
                    Err(error) if !error.may_pass() => panic!("{error}"),
                    Ok(_) | Err(_) => {}
                }
            }
        });
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(300));
            server.kill_and_start();
        }
        stop.store(true, Ordering::Relaxed);
        collector.join().expect("the collector goes on");
        workers
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect::<Vec<u64>>()
    });
    println!("{steps:?} steps");
    let mut remote = hasty(&place);
    remote.collect(Duration::ZERO).unwrap();
    assert_eq!(faults(&mut remote), []);
    every_chain_is_whole(&mut remote, &steps);
}

/// A client that is too old changes nothing, whatever it calls.
#[test]
fn an_old_client_is_refused() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = InSchema::new(&server.url());
    let (admin, schema) = (Admin::new(&server.url()), &place.schema);
    let mut remote = place.open();
    remote
        .put(&start_nodes(), Some(&new_thread(1, record(None))))
        .unwrap();
    let lease = take(&mut remote, 1);
    let state = || {
        admin.row(&format!(
            "SELECT (SELECT string_agg(t::text, ';') FROM {schema}.threads AS t), (SELECT count(*) FROM {schema}.nodes), (SELECT count(*) FROM {schema}.names)"
        ))
    };
    let before = state();
    admin.run(&format!("UPDATE {schema}.remote SET least_client = 3"));

    let old = RemoteError::TooOld { least: 3, ours: 2 };
    let step = [node(11, &[START])];
    let calls = [
        remote.hello().err(),
        acquire(&mut remote, 1).err(),
        acquire(&mut remote, 2).err(),
        remote.renew(&lease).err(),
        advance(&mut remote, &lease, &step, (START, 11), &record(None)).err(),
        remote.release(&lease, &record(None)).err(),
        remote.put(&step, None).err(),
        remote
            .put(&start_nodes(), Some(&new_thread(3, record(None))))
            .err(),
        remote.set_name("solve", 0, hash(START)).err(),
        remote.collect(Duration::ZERO).err(),
        remote.make().err(),
        remote.migrate().err(),
    ];
    for (at, refused) in calls.into_iter().enumerate() {
        assert_eq!(refused.as_ref(), Some(&old), "call {at}");
    }
    assert_eq!(state(), before);
}

#[test]
fn two_that_make_a_remote_at_once_make_one() {
    let Some(server) = postgres::server() else {
        return;
    };
    for _ in 0..5 {
        let place = InSchema::not_made(&server.url());
        let made: Vec<String> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| place.open().make().expect("it is made").store))
                .collect();
            makers
                .into_iter()
                .map(|maker| maker.join().unwrap())
                .collect()
        });
        assert!(made.iter().all(|store| *store == made[0]), "{made:?}");
    }
}
