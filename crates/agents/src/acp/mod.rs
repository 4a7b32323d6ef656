//! A client of the Agent Client Protocol: JSON-RPC over the pipes of a program, one message a line.
//!
//! It knows no agent. The adapter starts the agent and interprets its texts.

mod client;
mod error;
mod exchange;
mod permission;
mod transcript;
mod wire;

pub(crate) use client::PromptRequest;
pub(crate) use error::AcpError;
pub(crate) use exchange::{Failed, Limits, exchange};
pub(crate) use permission::Policy;
