//! The options of `uwf orchestrate task …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Write a new task with the content of standard input; it appears whole or not at all
    Put {
        /// The new file in the workspace, such as inbox/qa/1.task; its folder is made
        path: String,
        #[command(flatten)]
        queue: QueueArgs,
    },
    /// Move a task that is finished to `processed/<time>/`, and print its new path
    Done(FinishArgs),
    /// Move a task that has failed to `failed/<time>/`, and print its new path
    Fail(FinishArgs),
    /// List the tasks of a folder and below; hidden files and folders, and links, do not count
    List {
        /// The folder in the workspace (unset: the inbox)
        dir: Option<String>,
        #[command(flatten)]
        queue: QueueArgs,
    },
    /// Take one task, so that nobody else gets it, and print its new path
    #[command(
        after_help = "Exit codes: 0 a task was claimed · 1 there is none, and nothing is printed · 2 refused or failed"
    )]
    Claim {
        /// The folder in the workspace (unset: the inbox)
        dir: Option<String>,
        /// Who claims it: a name for the folder `inbox/.claimed/<ID>/` (unset: ORCHESTRATE_RUN_ID, which steps have)
        #[arg(long, value_name = "ID")]
        run_id: Option<String>,
        #[command(flatten)]
        queue: QueueArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct FinishArgs {
    /// The file in the workspace
    pub(crate) file: String,
    /// The `<time>` in its new path, such as 20261121T093000Z (unset: that in ORCHESTRATE_RUN_ID, or now)
    #[arg(long, value_name = "TIME")]
    pub(crate) timestamp: Option<String>,
    #[command(flatten)]
    pub(crate) queue: QueueArgs,
}

/// Where queues are.
#[derive(Debug, Args)]
pub(crate) struct QueueArgs {
    /// The workspace: paths of tasks are relative to it (unset: this folder)
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The file of a pipeline that names the folders of queues and the ending of tasks
    // The id differs from the name: shells complete the workflows of the registry for `workflow`.
    #[arg(id = "pipeline", long = "workflow", value_name = "FILE")]
    pub(crate) pipeline: Option<PathBuf>,
    /// Print data, as `--format json` does
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}
