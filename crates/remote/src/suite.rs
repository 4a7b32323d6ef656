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

/// Runs all tests that fit the abilities of a remote, each in a new place, and returns their names. `begin` is called with the name
/// of each test before it runs.
///
/// # Panics
/// At the first test that does not pass.
pub fn check(new_place: &dyn Fn() -> Box<dyn Place>, begin: &dyn Fn(&str)) -> Vec<&'static str> {
    let hello = new_place().connect().hello();
    let abilities = hello.expect("a remote tells what it is").abilities;
    let run = |case: Case| {
        begin(case.name);
        (case.check)(&*new_place());
        case.name
    };
    cases_of(abilities).into_iter().map(run).collect()
}
