//! The kit against a model's server on this machine.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

#[path = "../../../../tests/support/model_server.rs"]
mod model_server;

mod calls;
mod tool_loop;
