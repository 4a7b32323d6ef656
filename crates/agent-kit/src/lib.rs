//! The agent's side of the process boundary.
//!
//! An adapter knows how to put a prompt to one kind of agent. Everything else that an agent of a thread does
//! is here: reading the thread, assembling the prompt, getting the data out of the answer, asking for
//! corrections, writing the step and announcing it. The engine is met only as a process, through
//! `uwf_protocol::agent`.

pub mod adapter;
pub mod cas_tool;
pub mod context;
pub mod conversation;
pub mod extract;
pub mod extractor;
pub mod limited_git;
mod live_file;
pub mod llm;
pub mod persist;
pub mod prompt;
pub mod review;
pub mod serve;
pub mod tool_loop;

mod artifacts;
mod checks;
mod error;
mod files;
mod late_check_files;
mod masked;
mod notes;
mod past;
mod recap;
mod session;

pub use adapter::{Adapter, AdapterError, ModelUsage, Reply, Supervision, Task, TryAgain, Unread};
pub use context::permissions;
pub use error::KitError;
pub use files::changes;
pub use live_file::LiveFile;
pub use past::Overflow;
pub use serve::{perform, serve};
