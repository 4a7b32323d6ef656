//! A client of the Agent Client Protocol: JSON-RPC over the pipes of a program, one message a line.
//!
//! It knows no agent. What an agent's words mean, and how it is started, is its adapter's.

mod client;
mod error;
mod exchange;
mod permission;
mod transcript;
mod wire;

pub(crate) use client::Errand;
pub(crate) use error::AcpError;
pub(crate) use exchange::{Failed, Limits, exchange};
pub(crate) use permission::Policy;
