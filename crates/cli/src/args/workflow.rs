//! `uwf workflow …`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::args::GraphArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check a workflow file, store it and register it under its name
    #[command(visible_alias = "add")]
    Put {
        /// The YAML file
        file: PathBuf,
    },
    /// Check a workflow file; nothing is stored
    Validate {
        /// The YAML file
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
    List,
}
