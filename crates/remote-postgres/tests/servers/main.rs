//! The remote in a database passes the tests of every remote.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

#[path = "../../../../tests/support/postgres_admin.rs"]
mod admin;
mod collector;
#[path = "../../../../tests/support/proxy.rs"]
mod cuts;
mod damage;
#[path = "../../../../tests/support/postgres_guarded.rs"]
mod guarded;
mod names;
mod patient;
#[path = "../../../../tests/support/postgres.rs"]
mod postgres;
mod proxy;
mod security;
mod silence;
mod world;

use std::time::Duration;

use patient::Patient;
use uwf_remote::care::Cared;
use uwf_remote::suite::{Case, Place, cases, check};
use uwf_remote::{Remote, RemoteError};
use uwf_remote_postgres::{Address, Limits, Postgres};

/// A schema of its own in a database.
struct InSchema {
    url: String,
    schema: String,
}

impl InSchema {
    fn new(url: &str) -> Self {
        let place = Self::not_made(url);
        place.open().make().expect("the tables are made");
        place
    }

    fn not_made(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            schema: postgres::new_schema(),
        }
    }

    fn open(&self) -> Postgres {
        self.open_within(Limits::default())
    }

    fn open_within(&self, limits: Limits) -> Postgres {
        let address = Address::new(&self.url, &self.schema).expect("it is an address");
        let password = std::env::var("UWF_REMOTE_PASSWORD").ok();
        Postgres::with_limits(address, password, limits).expect("there is room for a connection")
    }
}

impl Place for InSchema {
    fn connect(&self) -> Box<dyn Remote + Send> {
        Box::new(self.open())
    }

    fn pass(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The same, for clients that wait for the server.
struct Patiently(InSchema);

impl Place for Patiently {
    fn connect(&self) -> Box<dyn Remote + Send> {
        Box::new(Patient(self.0.open()))
    }

    fn pass(&self, time: Duration) {
        self.0.pass(time);
    }
}

/// Runs the tests of every remote on a server.
fn passes(url: &str) {
    let passed = check(&|| Box::new(InSchema::new(url)));
    assert_eq!(passed.len(), cases().len());
}

#[test]
fn a_database_is_a_remote() {
    if let Some(server) = postgres::server() {
        passes(&server.url());
    }
}

#[test]
fn a_database_that_serializes_transactions_is_a_remote() {
    let isolation = "options=-cdefault_transaction_isolation%3Dserializable";
    if let Some(server) = postgres::server() {
        let url = format!("{}?{isolation}", server.url());
        passes(&url);
    }
}

/// Another server that speaks the language of PostgreSQL, such as CockroachDB.
#[test]
fn the_database_that_the_environment_names_is_a_remote() {
    match std::env::var("UWF_TEST_POSTGRES_URL") {
        Ok(url) => passes(&url),
        Err(_) => println!("skipped: UWF_TEST_POSTGRES_URL names no database"),
    }
}

#[test]
fn a_server_that_is_killed_amid_work_is_found_again_with_all_it_said_yes_to() {
    let Some(server) = postgres::own_server() else {
        return;
    };
    let workers = |case: &Case| case.name == "many workers take each thread once, and lose no step";
    let case = cases()
        .into_iter()
        .find(workers)
        .expect("there is such a test");
    let place = Patiently(InSchema::new(&server.url()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(40));
                server.kill_and_start();
            }
        });
        (case.check)(&place);
    });
}

#[test]
fn a_server_that_is_away_for_a_while_is_found_again_by_the_same_client() {
    let Some(server) = postgres::own_server() else {
        return;
    };
    let mut client = InSchema::new(&server.url()).open();
    let before = client.hello().expect("it answers");
    server.pause();
    assert!(matches!(client.hello(), Err(RemoteError::Away(_))));
    server.resume();
    assert_eq!(client.hello(), Ok(before));
}
