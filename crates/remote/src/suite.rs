//! The tests that every remote must pass. A crate with a remote runs [`check`] in a test of its own.
//!
//! The tests use only the calls of a remote, and look at nothing inside of it.

mod kept;
mod leases;
mod lists;
mod names;
mod next;
mod nodes;
mod pushes;
mod races;
mod repeats;
mod shared;
pub mod small;
mod world;

use std::time::Duration;

use crate::{Abilities, Remote};

/// A new remote for one test.
pub trait Place: Sync {
    /// Returns a new connection.
    fn connect(&self) -> Box<dyn Remote + Send>;

    /// Lets time pass for the remote. Nothing else may happen meanwhile.
    fn pass(&self, time: Duration);
}

/// A test.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What must hold.
    pub name: &'static str,
    /// Checks it.
    ///
    /// # Panics
    /// If it does not hold.
    pub check: fn(&dyn Place),
}

/// Returns the tests of a remote that gives the next thread.
#[must_use]
pub fn cases() -> Vec<Case> {
    cases_of(Abilities { gives_next: true })
}

/// Returns the tests of a remote with these abilities.
#[must_use]
pub fn cases_of(abilities: Abilities) -> Vec<Case> {
    let of_all: [&[Case]; 8] = [
        leases::CASES,
        kept::CASES,
        pushes::CASES,
        repeats::CASES,
        shared::CASES,
        nodes::CASES,
        lists::CASES,
        names::CASES,
    ];
    let of_some: [&[Case]; 3] = match abilities.gives_next {
        true => [next::CASES, races::CASES, races::CASES_OF_NEXT],
        false => [next::CASES_WITHOUT, races::CASES, &[]],
    };
    [of_all.concat(), of_some.concat()].concat()
}

/// How many tests run at once. They mostly wait for the remote, and for time to pass.
const AT_ONCE: usize = 8;

/// Runs all tests that fit the abilities of a remote, each in a new place, and returns their names. Each runs in a thread with its name, so
/// the message of a panic has it.
///
/// # Panics
/// When the tests have run, if one did not pass.
pub fn check(new_place: &(dyn Fn() -> Box<dyn Place> + Sync)) -> Vec<&'static str> {
    let hello = new_place().connect().hello();
    let abilities = hello.expect("a remote tells what it is").abilities;
    let cases = cases_of(abilities);
    let run_several = |some: &[Case]| {
        std::thread::scope(|scope| {
            for case in some {
                let thread = std::thread::Builder::new().name(case.name.to_owned());
                let running = thread.spawn_scoped(scope, || (case.check)(&*new_place()));
                running.expect("a thread can be started");
            }
        });
    };
    cases.chunks(AT_ONCE).for_each(run_several);
    cases.iter().map(|case| case.name).collect()
}
