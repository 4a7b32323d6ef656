//! The options of `uwf thread tail` and `uwf thread diff`.

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
pub(crate) struct DiffArgs {
    /// A thread or a step
    pub(crate) a: String,
    /// Another one
    pub(crate) b: String,
}
