//! `uwf remote`, `uwf push` and `uwf fetch`.

use clap::{Args, Subcommand};
use uwf_protocol::naming::Label;

#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Choose the server where threads are shared, and make the tables there if there are none
    Add(RemoteAddArgs),
    /// Show where threads are shared, and which of them are at the remote
    Status,
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
