//! The options of `uwf thread tail`, `uwf thread diff` and `uwf thread restore`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The thread
    pub(crate) thread: String,
    /// Go on until the thread ends, is blocked, or waits for a person
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Begin with the newest N turns
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) turns: usize,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The step; a thread stands for its last one
    pub(crate) step: String,
    /// Put back what the step found, not what it left
    #[arg(long)]
    pub(crate) before: bool,
    /// Replace changes that no snapshot and no commit has; a new snapshot keeps them
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A thread or a step
    pub(crate) a: String,
    /// Another one. Left out, the files that A changed in its git repository are shown
    pub(crate) b: Option<String>,
    /// Only list the files, without their lines
    #[arg(long, conflicts_with = "b")]
    pub(crate) stat: bool,
}
