//! The remote in a database passes the tests of every remote.

#[path = "../../../tests/support/postgres.rs"]
mod postgres;

use std::time::Duration;

use uwf_remote::Remote;
use uwf_remote::suite::{Place, cases, check};
use uwf_remote_postgres::{Address, Postgres};

/// A schema of its own in a database.
struct InSchema {
    url: String,
    schema: String,
}

impl InSchema {
    fn new(url: &str) -> Self {
        let place = Self {
            url: url.to_owned(),
            schema: postgres::new_schema(),
        };
        place.open().make().expect("the tables are made");
        place
    }

    fn open(&self) -> Postgres {
        let address = Address::new(&self.url, &self.schema).expect("it is an address");
        let password = std::env::var("UWF_REMOTE_PASSWORD").ok();
        Postgres::new(address, password).expect("there is room for a connection")
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

fn passes(url: &str) {
    let passed = check(&|| Box::new(InSchema::new(url)), &|name| println!("{name}"));
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
    if let Some(server) = postgres::server() {
        passes(&format!(
            "{}?options=-cdefault_transaction_isolation%3Dserializable",
            server.url()
        ));
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
