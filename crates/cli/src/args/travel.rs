//! `uwf thread export` and `uwf thread import`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The threads
    #[arg(required_unless_present = "all")]
    pub(crate) threads: Vec<String>,
    /// Export every thread, active or ended
    #[arg(long, conflicts_with = "threads")]
    pub(crate) all: bool,
    /// Write the bundle to this file, or to standard output for -
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The bundle, or - for standard input
    pub(crate) bundle: PathBuf,
    /// Give a thread that went on both here and in the bundle another id, instead of refusing the bundle
    #[arg(long)]
    pub(crate) as_fork: bool,
}
