//! The options of `uwf trust`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// A folder of the project (unset: this folder)
    pub(crate) dir: Option<PathBuf>,
    /// List the projects that were trusted, and whether they still are
    #[arg(long, conflicts_with_all = ["dir", "revoke"])]
    pub(crate) list: bool,
    /// Trust the project no more
    #[arg(long)]
    pub(crate) revoke: bool,
}
