//! The options of the commands that end, pause and remove threads.

use clap::Args;
use uwf_util::time;

use super::listing::AboutArgs;
use super::running::HeadArgs;

/// Any number of threads.
#[derive(Debug, Args)]
pub(crate) struct ThreadsArgs {
    /// The threads
    #[arg(required = true, value_name = "THREAD")]
    pub(crate) threads: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    #[command(flatten)]
    pub(crate) which: ThreadsArgs,
    #[command(flatten)]
    pub(crate) at: HeadArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) which: ThreadsArgs,
    /// Why, for those who find the threads paused; `-` reads it from standard input
    #[arg(
        short,
        long,
        visible_alias = "reason",
        value_name = "TEXT",
        allow_hyphen_values = true
    )]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    #[command(flatten)]
    pub(crate) which: ThreadsArgs,
    /// Remove threads that have not ended, too
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Remove their worktrees and branches also with changes that are nowhere else
    #[arg(long)]
    pub(crate) drop_worktree: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Remove ended threads; nothing else can be pruned
    #[arg(long, required = true)]
    pub(crate) ended: bool,
    /// Only threads that ended longer ago than this
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    pub(crate) older_than: Option<u64>,
    /// Only these: a comma list of completed, cancelled
    #[arg(long, value_name = "LIST")]
    pub(crate) status: Option<String>,
    #[command(flatten)]
    pub(crate) about: AboutArgs,
    /// Only list what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Collect garbage right after, as `cas gc` does without options: what was used within 14 days stays
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) gc: bool,
}

fn parse_age(text: &str) -> Result<u64, String> {
    time::parse_duration(text)
        .ok_or_else(|| "a time is expected, such as 12h, 3d or 30d".to_owned())
}
