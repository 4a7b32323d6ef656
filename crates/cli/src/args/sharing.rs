//! `uwf remote`, `uwf push` and `uwf fetch`.

use clap::{Args, Subcommand};
use uwf_protocol::naming::Label;

use super::cas::parse_grace;

#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Choose the server where threads are shared, and make the tables there if there are none
    Add(RemoteAddArgs),
    /// Show where threads are shared, which of them are at the remote, and how much it keeps
    Status,
    /// Check the nodes and threads of the remote; exit code 4 if something is wrong
    Verify,
    /// Remove nodes from the remote that nothing needs; they are condemned first, and removed after a time
    Gc(RemoteGcArgs),
    /// End the lease of a machine that is gone; a step that it still does is kept on that machine, beside the thread
    Release(ReleaseArgs),
    /// Print the SQL that makes roles for those who read the remote, and for those who work with it
    Roles,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteGcArgs {
    /// Remove what was condemned longer ago than this; 1h at least
    #[arg(long, value_name = "TIME", default_value = "14d", value_parser = parse_grace)]
    pub(crate) older_than: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The thread; by its whole id if it was never here
    pub(crate) thread: String,
    /// Do not ask on a terminal
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteAddArgs {
    /// The server, such as postgres://uwf@db.example.org/uwf; the password is $UWF_REMOTE_PASSWORD, in `.env` or the environment
    pub(crate) url: String,
    /// The schema of the database (unset: uwf)
    #[arg(long)]
    pub(crate) schema: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    /// The threads
    #[arg(required = true)]
    pub(crate) threads: Vec<String>,
    /// Give a new one only to workers with this label
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) label: Option<Label>,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// The threads, by their whole ids (unset: those that are shared here)
    pub(crate) threads: Vec<String>,
    /// Fetch every thread of the remote
    #[arg(long, conflicts_with = "threads")]
    pub(crate) all: bool,
}
