//! Threads and tables that are damaged: that is told at once, and nobody keeps the lease of a thread that was asked for.

use std::time::Duration;

use uwf_protocol::raw_node::LinkedNode;
use uwf_remote::suite::small::{SCHEMA, WORKFLOW};
use uwf_remote::{Acquired, Put, Remote, RemoteError, Renewed, Want, Which};

use crate::admin::Admin;
use crate::world::{
    START, advance, hash, new_thread, node, owner, record, start_nodes, take, thread,
};
use crate::{InSchema, postgres};

/// A remote with the thread 1, and somebody who may do everything with it.
struct Damaged {
    place: InSchema,
    admin: Admin,
}

impl Damaged {
    /// Makes the remote, and damages it. `@` is the schema.
    fn by(url: &str, sql: &str) -> Self {
        let place = InSchema::new(url);
        let put = place
            .open()
            .put(&start_nodes(), Some(&new_thread(1, record(None))));
        assert_eq!(put, Ok(Put::Done));
        let admin = Admin::new(url);
        admin.run(&sql.replace('@', &place.schema));
        Self { place, admin }
    }

    /// Returns the number of the last lease, and who has it.
    fn lease(&self) -> String {
        let schema = &self.place.schema;
        let sql = format!("SELECT fence, lease_owner, lease_until FROM {schema}.threads");
        self.admin.row(&sql)
    }

    /// Checks that nobody gets the thread, that each is told why, and that nobody keeps the lease.
    fn is_told_as(&self, problem: &str) {
        for times in 1..=2 {
            let refused = ask(&mut self.place.open(), Which::Thread(thread(1)), times);
            let Err(RemoteError::Broken(said)) = &refused else {
                panic!("the damage is expected: {refused:?}");
            };
            assert!(said.contains(problem), "{said}");
            // The fence grows when a lease is taken and when it ends.
            assert_eq!(self.lease(), format!("{} null null", 2 * times));
        }
    }
}

/// Asks for a lease and all nodes, as this owner.
fn ask(remote: &mut dyn Remote, which: Which<'_>, number: u64) -> Result<Acquired, RemoteError> {
    let want = Want {
        owner: &owner(number),
        lasts: Duration::from_secs(600),
        have: &[],
        at_most: usize::MAX,
    };
    remote.acquire(which, &want)
}

/// Returns the SQL that deletes a node.
fn without(number: u64) -> String {
    let number = hash(number).to_u64().unwrap().cast_signed();
    format!("DELETE FROM @.nodes WHERE hash = {number}")
}

#[test]
fn a_head_that_lacks_nodes_is_damaged_and_not_busy() {
    let Some(server) = postgres::server() else {
        return;
    };
    for missing in [START, WORKFLOW, SCHEMA] {
        let damaged = Damaged::by(&server.url(), &without(missing));
        damaged.is_told_as(&format!(
            "nodes of the head `{}` are missing there",
            hash(START)
        ));
    }
}

#[test]
fn a_thread_that_lacks_nodes_is_given_again_when_they_are_there() {
    let Some(server) = postgres::server() else {
        return;
    };
    let damaged = Damaged::by(&server.url(), &without(WORKFLOW));
    damaged.is_told_as("are missing there");
    let mut remote = damaged.place.open();
    let sent: [LinkedNode; 1] = [node(WORKFLOW, &[])];
    assert_eq!(remote.put(&sent, None), Ok(Put::Done));
    assert_eq!(take(&mut remote, 1).thread, thread(1));
}

#[test]
fn nobody_keeps_the_lease_of_a_thread_that_cannot_be_read() {
    let Some(server) = postgres::server() else {
        return;
    };
    for (sql, problem) in [
        (
            "UPDATE @.threads SET records = ARRAY['no record'::bytea]",
            "a record cannot be read",
        ),
        (
            "UPDATE @.nodes SET payload = payload || ' '::bytea",
            "is damaged there",
        ),
    ] {
        Damaged::by(&server.url(), sql).is_told_as(problem);
    }
}

#[test]
fn an_owner_keeps_the_lease_that_it_had_before_though_the_thread_cannot_be_read() {
    let Some(server) = postgres::server() else {
        return;
    };
    let damaged = Damaged::by(&server.url(), "");
    let lease = take(&mut damaged.place.open(), 1);
    let schema = &damaged.place.schema;
    damaged.admin.run(&format!(
        "UPDATE {schema}.nodes SET payload = payload || ' '::bytea"
    ));
    for _ in 0..2 {
        let refused = ask(&mut damaged.place.open(), Which::Thread(thread(1)), 1);
        assert!(
            matches!(&refused, Err(RemoteError::Broken(_))),
            "{refused:?}"
        );
        let renewed = damaged.place.open().renew(&lease);
        assert_eq!(renewed, Ok(Renewed::Yes));
    }
}

#[test]
fn a_damaged_thread_that_was_next_stays_leased_so_that_others_are_next() {
    let Some(server) = postgres::server() else {
        return;
    };
    let sql = "UPDATE @.threads SET records = ARRAY['no record'::bytea]";
    let damaged = Damaged::by(&server.url(), sql);
    let next = |number| {
        ask(
            &mut damaged.place.open(),
            Which::Next {
                labels: &[],
                except: &[],
            },
            number,
        )
    };
    let refused = next(1);
    assert!(
        matches!(&refused, Err(RemoteError::Broken(_))),
        "{refused:?}"
    );
    assert_eq!(next(2), Ok(Acquired::Nothing));
}

#[test]
fn nodes_that_a_server_never_stores_are_not_sent_for_ever() {
    let Some(server) = postgres::server() else {
        return;
    };
    let damaged = Damaged::by(&server.url(), "");
    let mut remote = damaged.place.open();
    let lease = take(&mut remote, 1);
    let swallows = "
        CREATE FUNCTION @.swallows() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER swallows BEFORE INSERT ON @.nodes FOR EACH ROW EXECUTE FUNCTION @.swallows()";
    damaged
        .admin
        .run(&swallows.replace('@', &damaged.place.schema));
    let nodes = [node(77, &[START])];
    let moved = advance(&mut remote, &lease, &nodes, (START, 77), &record(None));
    let put = remote.put(&nodes, None);
    for said in [moved.map(drop), put.map(drop)] {
        assert!(
            matches!(&said, Err(RemoteError::Broken(text)) if text.contains("not stored")),
            "{said:?}"
        );
    }
}
