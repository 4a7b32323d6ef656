//! Schemas as their users see them: what is accepted, and what fits.

mod schemas;
mod suite;
