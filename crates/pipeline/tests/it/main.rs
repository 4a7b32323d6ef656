//! Tests of the crate from outside, one file for each of its parts.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

mod capture;
mod common;
mod course;
mod course_accept;
mod course_loops;
mod course_only;
mod course_properties;
mod difference;
mod drive;
mod graph;
mod load_accepts;
mod load_hints;
mod load_refuses;
mod load_refuses_names;
mod state;
mod substitute;
mod total;
mod workflows;
