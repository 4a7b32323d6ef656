//! Tests of the crate from outside, one file for each of its parts.

mod capture;
mod common;
mod load_accepts;
mod load_refuses;
mod substitute;
