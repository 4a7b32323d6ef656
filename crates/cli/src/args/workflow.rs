//! `uwf workflow …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::GraphArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check a workflow file, store it and register it under its name
    #[command(visible_alias = "add")]
    Put {
        /// The YAML file; `-` is standard input
        file: PathBuf,
    },
    /// Check a workflow file; nothing is stored
    Validate {
        /// The YAML file; `-` is standard input
        file: PathBuf,
    },
    /// Show a workflow as it is stored
    Show {
        /// A name, a hash, or the path of a YAML file
        workflow: String,
    },
    /// Draw the graph of a workflow, and the way of a thread through it
    Graph(GraphArgs),
    /// List the workflows of this project and of the registry
    #[command(visible_alias = "ls")]
    List,
    /// Tell which file or which registered workflow a name means here, and what that hides
    Which {
        /// The name
        #[arg(value_name = "NAME")]
        workflow: String,
    },
    /// Show what differs between two workflows
    Diff(WorkflowDiffArgs),
    /// Write a workflow out as YAML that gives the same workflow again
    Export(WorkflowExportArgs),
    /// List what a name stood for, oldest first
    #[command(visible_alias = "log")]
    History {
        /// The name
        #[arg(value_name = "NAME")]
        workflow: String,
    },
    /// Let a name stand for an earlier workflow again, also after it was removed
    Rollback {
        /// The name
        #[arg(value_name = "NAME")]
        workflow: String,
        /// Its number in the history, or its hash (unset: the newest one that differs)
        version: Option<String>,
    },
    /// Remove a name from the registry; threads of the workflow go on
    Rm {
        /// The name
        #[arg(value_name = "NAME")]
        workflow: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowDiffArgs {
    /// The old one: a name, a hash, or the path of a YAML file
    #[arg(value_name = "A")]
    pub(crate) workflow: String,
    /// The new one (unset: the old one is registered, and A names the file)
    #[arg(value_name = "B")]
    pub(crate) other_workflow: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowExportArgs {
    /// A name, a hash, or the path of a YAML file
    pub(crate) workflow: String,
    /// Write this file, in place of what is there, and beside it the workflows that play its roles; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
