//! The store as its users see it: formats, schemas, files, damage and races.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bytes;
mod damage;
mod gc;
mod index;
mod properties;
mod race;
mod raw;
mod schemas;
mod store;
mod support;
mod vectors;
