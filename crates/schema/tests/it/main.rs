//! The public interface of the crate: which schemas are accepted, and which values fit.

mod schemas;
mod suite;
