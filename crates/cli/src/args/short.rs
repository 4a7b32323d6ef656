//! Short commands that people of other tools try first. Each stands for a command of `uwf thread`.

use clap::Subcommand;

use super::care::RmArgs;
use super::deferred::Deferred;
use super::listing::ListArgs;
use super::reading::TailArgs;
use super::thread::ThreadCommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ShortCommand {
    /// List threads, as `thread list` does
    #[command(hide = true, alias = "ps")]
    Ls(Deferred<ListArgs>),
    /// Show where a thread stands, or list threads
    #[command(hide = true)]
    Status {
        /// The thread
        thread: Option<String>,
    },
    /// Show the newest turns of a thread, as `thread tail` does
    #[command(hide = true)]
    Logs(Deferred<TailArgs>),
    /// Remove threads for good, as `thread rm` does
    #[command(hide = true)]
    Rm(Deferred<RmArgs>),
}

impl ShortCommand {
    /// Returns the command that it stands for.
    pub(crate) fn meant(self) -> ThreadCommand {
        match self {
            Self::Ls(args) => ThreadCommand::List(args),
            Self::Status {
                thread: Some(thread),
            } => ThreadCommand::Show { thread },
            Self::Status { thread: None } => ThreadCommand::List(Deferred(ListArgs::default())),
            Self::Logs(args) => ThreadCommand::Tail(args),
            Self::Rm(args) => ThreadCommand::Rm(args),
        }
    }
}
