//! Names of workflows: the collector keeps what they stand for, and remotes that were made without them get them.

use std::time::Duration;

use uwf_remote::care::{Cared, Fault, Migrated};
use uwf_remote::{Named, Put, Remote, RemoteError};

use crate::admin::Admin;
use crate::collector::{faults, hasty, not_read, numbers, sound};
use crate::security::{Shared, assert_denied};
use crate::world::{START, hash, new_thread, node, record, start_nodes, take};
use crate::{InSchema, postgres};

/// Nodes that only names need: the second one needs the first one.
const NAMED: [u64; 2] = [76, 77];

/// Makes a remote with a thread, and with two nodes that nothing needs yet.
fn place(url: &str) -> InSchema {
    let place = InSchema::new(url);
    let nodes = [
        &start_nodes()[..],
        &[node(NAMED[0], &[]), node(NAMED[1], &[NAMED[0]])],
    ];
    let put = place
        .open()
        .put(&nodes.concat(), Some(&new_thread(1, record(None))));
    assert_eq!(put, Ok(Put::Done));
    place
}

#[test]
fn what_a_name_stands_for_stays_until_the_name_moves_on() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = place(&server.url());
    let mut remote = hasty(&place);
    let named = NAMED.map(hash);
    assert_eq!(remote.set_name("solve", 0, named[1]), Ok(Named::Done));
    for _ in 0..2 {
        assert_eq!(numbers(remote.collect(Duration::ZERO).unwrap()), [0, 0, 0]);
    }
    assert_eq!(faults(&mut remote), []);
    assert_eq!(remote.set_name("solve", 1, hash(START)), Ok(Named::Done));
    assert_eq!(numbers(remote.collect(Duration::ZERO).unwrap()), [2, 0, 2]);
    assert_eq!(remote.missing(&named).unwrap(), named);
    assert_eq!(
        faults(&mut remote),
        [],
        "an earlier version need not be there"
    );
    assert_eq!(remote.set_name("solve", 2, named[1]), Ok(Named::Lacking));
    // The call of before is repeated.
    assert_eq!(remote.set_name("solve", 0, named[1]), Ok(Named::Already));
    assert_eq!(remote.statistics().unwrap().unwrap().names, 1);
}

#[test]
fn a_name_that_is_set_while_garbage_is_collected_keeps_what_it_stands_for() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = place(&server.url());
    let (admin, schema) = (Admin::new(&server.url()), &place.schema);
    // A statement that has begun before the collection, and ends amid it.
    admin.run(&format!(
        "BEGIN; INSERT INTO {schema}.names (name, hash, version) VALUES ('solve', {}, 1)",
        NAMED[1]
    ));
    let collected = std::thread::scope(|scope| {
        let collector = scope.spawn(|| hasty(&place).collect(Duration::ZERO).unwrap());
        std::thread::sleep(Duration::from_millis(700));
        assert!(!collector.is_finished(), "it waits for the statement");
        admin.run("COMMIT");
        collector.join().unwrap()
    });
    assert_eq!(numbers(collected), [2, 2, 0]);
    assert_eq!(faults(&mut place.open()), []);
}

#[test]
fn a_name_without_its_node_is_found() {
    let Some(server) = postgres::server() else {
        return;
    };
    let place = place(&server.url());
    let mut remote = place.open();
    let solve = remote.set_name("solve", 0, hash(NAMED[1]));
    assert_eq!(solve, Ok(Named::Done));
    let verified = sound(&mut remote);
    assert_eq!(verified.names, 1);
    let (admin, schema) = (Admin::new(&server.url()), &place.schema);
    let lacking = Fault::NameLacks {
        name: "solve".to_owned(),
        missing: hash(NAMED[1]),
    };
    let condemn = format!(
        "UPDATE {schema}.nodes SET condemned_at = now() WHERE hash = {}",
        NAMED[1]
    );
    let remove = format!("DELETE FROM {schema}.nodes WHERE hash = {}", NAMED[1]);
    admin.run(&condemn);
    assert_eq!(faults(&mut remote), [], "it is there until it is removed");
    admin.run(&remove);
    assert_eq!(faults(&mut remote), [lacking]);
}

/// Makes the remote what an older version has made: without names.
fn make_older(admin: &Admin, schema: &str) {
    admin.run(&format!(
        "DROP TABLE {schema}.names; UPDATE {schema}.remote SET version = 1"
    ));
}

#[test]
fn a_remote_of_an_older_version_says_what_it_needs_and_gets_it() {
    let Some(server) = postgres::server() else {
        return;
    };
    let shared = Shared::new(&server.url());
    let admin = Admin::new(&server.url());
    let mut owner = shared.owned.open();
    owner
        .put(&start_nodes(), Some(&new_thread(1, record(None))))
        .unwrap();
    make_older(&admin, &shared.owned.schema);

    let mut worker = shared.as_worker.open();
    take(&mut worker, 1);
    let older = RemoteError::NotMigrated;
    for refused in [
        worker.set_name("solve", 0, hash(START)).err(),
        worker.names(None, 9).err(),
        owner.collect(Duration::ZERO).err(),
        owner
            .verify(&mut not_read, &mut |fault| panic!("{fault}"))
            .err(),
        owner.statistics().err(),
    ] {
        assert_eq!(refused.as_ref(), Some(&older));
    }
    assert_denied(vec![("migrate", worker.migrate())]);

    let done = Migrated { from: 1, to: 2 };
    assert_eq!(owner.migrate(), Ok(done));
    assert_eq!(owner.migrate(), Ok(Migrated { from: 2, to: 2 }));
    assert_eq!(owner.hello().unwrap().least_client, 1, "old clients go on");
    assert_eq!(worker.set_name("solve", 0, hash(START)), Ok(Named::Done));
    assert_eq!(worker.set_name("solve", 1, hash(2)), Ok(Named::Done));
    let mut reader = shared.as_reader.open();
    assert_eq!(reader.names(None, 9).unwrap().len(), 1);
    assert_denied(vec![("set_name", reader.set_name("solve", 2, hash(START)))]);
    assert_eq!(faults(&mut owner), []);
}

#[test]
fn several_owners_may_migrate_a_remote_at_once() {
    let Some(server) = postgres::server() else {
        return;
    };
    let (place, admin) = (place(&server.url()), Admin::new(&server.url()));
    for _ in 0..5 {
        make_older(&admin, &place.schema);
        std::thread::scope(|scope| {
            let owners: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| place.open().migrate().unwrap().to))
                .collect();
            for owner in owners {
                assert_eq!(owner.join().unwrap(), 2);
            }
        });
        assert_eq!(place.open().names(None, 9), Ok(vec![]));
    }
}
