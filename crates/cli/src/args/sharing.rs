//! `uwf remote`, `uwf push` and `uwf fetch`.

use clap::{ArgGroup, Args, Subcommand};
use uwf_engine::NewLabel;
use uwf_protocol::naming::Label;

use super::cas::parse_grace;

#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Choose where threads are shared, a PostgreSQL server or an object storage, and make a remote there if there is none
    Add(RemoteAddArgs),
    /// Show where threads are shared, and how much the remote keeps
    Status,
    /// Add what an older version of uwf did not make at a remote: tables, and what its workers may do
    Migrate,
    /// Check the nodes, threads and names of the remote; exit code 4 if something is wrong
    Verify(RemoteVerifyArgs),
    /// Remove nodes from the remote that nothing needs; they are condemned first, and removed after a time
    Gc(RemoteGcArgs),
    /// End the lease of a machine that is gone; a step that it still finishes waits on that machine, and is shared unless others have gone on
    Release(ReleaseArgs),
    /// Print the SQL that makes roles for readers of the remote and for those who work with it, or what a storage must allow
    Roles,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteVerifyArgs {
    /// Send again what is damaged or missing there, as far as this machine has it whole
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteGcArgs {
    /// Remove what was condemned longer ago than this; 1h at least
    #[arg(long, value_name = "TIME", default_value = "14d", value_parser = parse_grace)]
    pub(crate) older_than: u64,
    /// Only say what it would do
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The thread; by its id or the beginning of it if it was never here
    pub(crate) thread: String,
    /// Do not ask on a terminal
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteAddArgs {
    /// postgres://USER@HOST/DATABASE, s3://BUCKET/PREFIX?region=REGION or az://CONTAINER/PREFIX?account=ACCOUNT; the password or the keys are in `.env` or the environment
    pub(crate) url: String,
    /// The schema of the database (unset: uwf)
    #[arg(long)]
    pub(crate) schema: Option<String>,
    /// Take the place of the remote with this id, which is lost for good; `uwf push --all` then sends its threads
    #[arg(long, value_name = "ID")]
    pub(crate) replaces: Option<String>,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which threads").args(["threads", "all"])))]
pub(crate) struct PushArgs {
    /// The threads, or runs of pipelines by their ids
    #[arg(required_unless_present_any = ["workflows", "all"])]
    pub(crate) threads: Vec<String>,
    /// Push every thread that is shared here, such as after the server was restored or replaced
    #[arg(long)]
    pub(crate) all: bool,
    /// Share the workflow that this name stands for here, and the name; may be repeated
    #[arg(long = "workflow", value_name = "NAME")]
    pub(crate) workflows: Vec<String>,
    /// Let the names stand for the workflows of this machine, whatever they stand for at the remote
    #[arg(long, requires = "workflows")]
    pub(crate) force: bool,
    /// Give them only to workers with this label from now on
    #[arg(long, value_name = "KEY=VALUE", requires = "which threads")]
    pub(crate) label: Option<Label>,
    /// Take their label away: every worker may do their steps from now on
    #[arg(long, conflicts_with = "label", requires = "which threads")]
    pub(crate) no_label: bool,
}

impl PushArgs {
    /// Returns which label the threads get.
    pub(crate) fn new_label(&self) -> NewLabel<'_> {
        match (&self.label, self.no_label) {
            (Some(label), _) => NewLabel::Set(label),
            (None, true) => NewLabel::Removed,
            (None, false) => NewLabel::Kept,
        }
    }
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("names of workflows").args(["names", "workflows"])))]
pub(crate) struct FetchArgs {
    /// The threads, by their ids or the beginning of them (unset: those that are shared here, unless workflows are fetched)
    pub(crate) threads: Vec<String>,
    /// Fetch every thread of the remote
    #[arg(long, conflicts_with = "threads")]
    pub(crate) all: bool,
    /// Register the workflow that this name stands for at the remote; may be repeated
    #[arg(long = "workflow", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Register every workflow that has a name at the remote
    #[arg(long)]
    pub(crate) workflows: bool,
    /// Let the names stand for the workflows of the remote, whatever they stand for here
    #[arg(long, requires = "names of workflows")]
    pub(crate) force: bool,
}
