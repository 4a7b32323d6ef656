//! The tests that every remote must pass. A crate with a remote runs [`check`] in a test of its own.
//!
//! Nothing here looks into a remote: what holds is seen through its calls.

mod leases;
mod lists;
mod names;
mod nodes;
mod pushes;
mod races;
mod repeats;
mod shared;
mod world;

use std::time::Duration;

use crate::Remote;

/// A remote that a test may fill. Its threads and nodes are those of this test alone.
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

/// Returns all tests.
#[must_use]
pub fn cases() -> Vec<Case> {
    let parts: [&[Case]; 7] = [
        leases::CASES,
        pushes::CASES,
        repeats::CASES,
        shared::CASES,
        nodes::CASES,
        lists::CASES,
        names::CASES,
    ];
    [&parts.concat(), races::CASES].concat()
}

/// Runs all tests, each in a new place, and returns the names of those that passed. `begin` is told the name of each.
///
/// # Panics
/// At the first test that does not pass.
pub fn check(new_place: &dyn Fn() -> Box<dyn Place>, begin: &dyn Fn(&str)) -> Vec<&'static str> {
    let cases = cases().into_iter();
    let run = |case: Case| {
        begin(case.name);
        (case.check)(&*new_place());
        case.name
    };
    cases.map(run).collect()
}
