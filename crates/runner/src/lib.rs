//! The steps of pipelines on the machine: one task at a time, in one workspace.
//!
//! What a step does is decided elsewhere (`uwf-pipeline`), and comes in as a task in which everything is substituted.
//! What came of it goes out as a result. This crate knows no store and no thread, and asks neither clock nor environment
//! for anything that matters: the caller passes them in.

#[cfg(not(target_os = "linux"))]
compile_error!("`uwf` needs Linux: this crate finds the real places of open files in `/proc`");

mod archive;
mod attempt;
mod claims;
mod clean;
mod dependencies;
mod draft;
mod drain;
mod environment;
mod error;
mod glob;
mod log;
mod moving;
mod output_file;
mod pattern;
mod prepare;
mod program;
mod queue;
mod streams;
mod wait;
mod workspace;

pub use archive::ArchiveEnd;
pub use attempt::{Attempt, AttemptEnd, AttemptSpec, Report, RunTime, Surroundings, attempt};
pub use claims::Claimant;
pub use dependencies::needs;
pub use environment::Variables;
pub use error::{NotDone, NotWanted, RunError};
pub use log::Log;
pub use output_file::OutputFile;
pub use program::Watcher;
pub use queue::{Claim, Queue, Tasks};
pub use streams::{OutputText, Show, Stream};
pub use wait::wait;
pub use workspace::Workspace;

use std::time::Duration;

/// The time between the request to end and the kill.
pub const GRACE: Duration = Duration::from_secs(10);
