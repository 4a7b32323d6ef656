//! The options that list and choose threads.

use clap::Args;
use uwf_protocol::naming::{LabelSelector, NamePattern};

use super::positive;

#[derive(Debug, Default, Args)]
pub(crate) struct ListArgs {
    /// List ended threads too
    #[arg(long)]
    pub(crate) all: bool,
    /// List child threads too: those that play a role of another thread
    #[arg(long)]
    pub(crate) children: bool,
    /// List the children of each thread below it, ended ones too; the other options choose the threads above them
    #[arg(long, conflicts_with = "children")]
    pub(crate) tree: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Skip the first N
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: usize,
    /// List the threads at the remote; statuses are ready, leased, suspended, blocked and ended
    #[arg(long, conflicts_with_all = ["children", "tree", "after", "before", "workflow", "name", "here", "skip", "watch"])]
    pub(crate) remote: bool,
    /// Redraw the list every 2 seconds until q is pressed; in a pipe, print it whenever it has changed
    #[arg(long)]
    pub(crate) watch: bool,
}

/// The options that choose threads.
#[derive(Debug, Default, Args)]
pub(crate) struct FilterArgs {
    /// Only these: a comma list of active (idle and running), idle, running, waiting, suspended, blocked, failed, paused, corrupt, completed, cancelled
    #[arg(long, value_name = "LIST")]
    pub(crate) status: Option<String>,
    /// Only threads started after this time: 7d, 12h, 30m, or a date
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// Only threads started before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) before: Option<String>,
    #[command(flatten)]
    pub(crate) about: AboutArgs,
    /// At most N: the newest; with `step --all`, those that have waited longest
    #[arg(long, value_name = "N", visible_alias = "take", value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,
}

/// The options that choose threads by what they are about. Ended threads can be chosen by them, too.
#[derive(Debug, Default, Args)]
pub(crate) struct AboutArgs {
    /// Only threads of this workflow: a name, which stands for all its versions, or a hash
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Only threads with this name; `*` stands for any characters, `?` for one
    #[arg(long, value_name = "PATTERN")]
    pub(crate) name: Option<NamePattern>,
    /// Only threads with this label: KEY=VALUE, or KEY for any value; may be repeated, then all must be there
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<LabelSelector>,
    /// Only threads that were started for this folder
    #[arg(long)]
    pub(crate) here: bool,
}

impl FilterArgs {
    /// Tells whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        let Self {
            status,
            after,
            before,
            about:
                AboutArgs {
                    workflow,
                    name,
                    labels,
                    here,
                },
            limit,
        } = self;
        let texts = [status, after, before, workflow];
        texts.into_iter().any(Option::is_some)
            || name.is_some()
            || !labels.is_empty()
            || *here
            || limit.is_some()
    }
}

fn parse_limit(text: &str) -> Result<usize, String> {
    positive(text, "a number of threads")
}
