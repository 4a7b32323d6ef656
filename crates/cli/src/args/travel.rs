//! `uwf thread export`, `uwf thread import` and `uwf import-store`.

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

#[derive(Debug, Args)]
pub(crate) struct ImportStoreArgs {
    /// The root or the store of the reference program, such as ~/.ocas; it is not changed
    pub(crate) dir: PathBuf,
    /// Where its nodes are (unset: the folder `cas` in it, else the folder itself)
    #[arg(long, value_name = "DIR")]
    pub(crate) cas: Option<PathBuf>,
}
