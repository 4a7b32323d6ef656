//! Tests of the crate from outside, with real files and real processes; one file for each of its parts.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

mod archives;
mod attempts;
mod cleaning;
mod ends;
mod paths;
mod places;
mod prompts;
mod queues;
mod secrets;
mod steps;
mod waits;
mod world;
