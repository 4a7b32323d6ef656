//! A client of the Agent Client Protocol: JSON-RPC over the pipes of a program, one message a line.
//!
//! It knows no agent. The adapter starts the agent and interprets its texts.

mod agent;
mod client;
mod error;
mod exchange;
mod permission;
mod question;
mod settings;
mod transcript;
mod usage;

pub(crate) use agent::{AcpAgent, Decided, Rules};
pub(crate) use exchange::Failed;
#[cfg(test)]
pub(crate) use permission::{Otherwise, Policy};
pub(crate) use question::reply;
