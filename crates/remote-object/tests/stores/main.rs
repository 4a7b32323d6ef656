//! The remote in an object storage passes the tests of every remote, on stores that lose answers, too.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

#[path = "../../../../tests/support/azurite.rs"]
mod azurite;
mod faulty;
mod fitness;
mod history;
mod servers;
mod time;
mod world;

use std::sync::Arc;
use std::time::Duration;

use faulty::Faulty;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use time::MovedClock;
use uwf_remote::care::Cared;
use uwf_remote::suite::{Place, cases_of, check};
use uwf_remote::{Abilities, Remote};
use uwf_remote_object::Object;

/// A store in memory whose time passes when it is told so.
struct InStore {
    store: Arc<dyn ObjectStore>,
    clock: Arc<MovedClock>,
}

impl InStore {
    fn new(store: Arc<dyn ObjectStore>, precision: Duration) -> Self {
        let clock = Arc::new(MovedClock::new(precision));
        let place = Self { store, clock };
        place.open().make().expect("the store is fit");
        place
    }

    fn open(&self) -> Object {
        let store = Arc::clone(&self.store);
        Object::over(store, "team/a", self.clock.clone()).expect("there is room for a connection")
    }
}

impl Place for InStore {
    fn connect(&self) -> Box<dyn Remote + Send> {
        Box::new(self.open())
    }

    fn pass(&self, time: Duration) {
        self.clock.pass(time);
    }
}

/// Runs the tests of every remote that gives no next thread.
fn passes(new_place: &(dyn Fn() -> Box<dyn Place> + Sync)) {
    let passed = check(new_place);
    let all = cases_of(Abilities { gives_next: false });
    assert_eq!(passed.len(), all.len());
    assert!(passed.len() >= 30, "{passed:#?}");
}

#[test]
fn a_store_in_memory_is_a_remote() {
    passes(&|| Box::new(InStore::new(Arc::new(InMemory::new()), Duration::ZERO)));
}

#[test]
fn a_store_that_tells_whole_seconds_is_a_remote() {
    let second = Duration::from_secs(1);
    passes(&|| Box::new(InStore::new(Arc::new(InMemory::new()), second)));
}

fn passes_without_answers(every: u64) {
    passes(&|| {
        Box::new(InStore::new(
            Arc::new(Faulty::losing(every)),
            Duration::ZERO,
        ))
    });
}

#[test]
fn a_store_that_loses_every_second_answer_is_a_remote() {
    passes_without_answers(2);
}

#[test]
fn a_store_that_loses_every_fifth_answer_is_a_remote() {
    passes_without_answers(5);
}
