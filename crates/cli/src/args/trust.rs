//! The options of `uwf trust`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// A folder of the project (unset: this folder)
    pub(crate) dir: Option<PathBuf>,
    /// List the projects that were trusted, and whether they still are
    #[arg(long, conflicts_with_all = ["dir", "revoke", "show", "yes"])]
    pub(crate) list: bool,
    /// Trust the project no more
    #[arg(long, conflicts_with_all = ["show", "yes"])]
    pub(crate) revoke: bool,
    /// Only show what the config of the project says and which programs it starts
    #[arg(long, conflicts_with = "yes")]
    pub(crate) show: bool,
    /// Do not ask, also on a terminal
    #[arg(short, long)]
    pub(crate) yes: bool,
}
