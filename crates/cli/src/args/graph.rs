//! `uwf workflow graph`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Form;

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// A name, a hash, or the path of a YAML file (unset: the workflow that --thread runs)
    #[arg(required_unless_present = "thread")]
    pub(crate) workflow: Option<String>,
    /// Mark the way of this thread, and where it stands
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
    /// Print text, a drawing, or data (unset: text on a terminal, JSON elsewhere)
    // The name is that of the global option: this one takes its place, and takes more values.
    #[arg(
        id = "format",
        long,
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = false
    )]
    pub(crate) format: Option<Form>,
    /// Write to this file, or - for standard output; its ending tells the format if --format does not
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
