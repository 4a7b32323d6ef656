//! Schemas as their users see them: what is accepted, and what fits.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod schemas;
mod suite;
