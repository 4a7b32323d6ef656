//! The steps of pipelines on the machine: one task at a time, in one workspace.
//!
//! What a step does is decided elsewhere (`uwf-pipeline`), and comes in as a task in which everything is substituted.
//! What came of it goes out as a result. This crate knows no store and no thread, and asks neither clock nor environment
//! for anything that matters: the caller passes them in.

#[cfg(not(target_os = "linux"))]
compile_error!("`uwf` needs Linux: this crate finds the real places of open files in `/proc`");

mod glob;
mod output_file;
mod pattern;
mod workspace;

pub use output_file::OutputFile;
pub use workspace::Workspace;
