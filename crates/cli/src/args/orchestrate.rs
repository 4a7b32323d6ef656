//! `uwf orchestrate …`, also called as `orchestrate …`.

mod looking;
mod queues;
mod run;
mod watching;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

pub(crate) use looking::{CleanRunsArgs, ListRunsArgs, ReportArgs, RunLogsArgs, RunStatusArgs};
pub(crate) use queues::{FinishArgs, QueueArgs, TaskCommand};
pub(crate) use run::{
    ContextArgs, LogLevel, OnErrorArg, PlaceArgs, ResumeArgs, RetryArgs, RunPipelineArgs,
    RunStepArgs, WorkArgs,
};
pub(crate) use watching::WatchArgs;

use crate::output::Form;

#[derive(Debug, Subcommand)]
pub(crate) enum OrchestrateCommand {
    /// Run a pipeline
    Run(Box<RunPipelineArgs>),
    /// Go on with a run that was interrupted or has failed
    Resume(Box<ResumeArgs>),
    /// Run one step of a pipeline, in a run of its own
    RunStep(Box<RunStepArgs>),
    /// Run a pipeline, and again whenever its file changes
    // Its errors name the options that make no sense for several runs; its help does not.
    #[command(mut_arg("run_id", |arg| arg.hide(true)), mut_arg("dry_run", |arg| arg.hide(true)))]
    Watch(Box<WatchArgs>),
    /// List the runs
    List(ListRunsArgs),
    /// Show where a run stands
    Status(RunStatusArgs),
    /// Tell everything that happened in a run
    Report(ReportArgs),
    /// Print what the programs of a run printed
    Logs(RunLogsArgs),
    /// Remove the folders of old runs; a run that could go on is ended
    Clean(CleanRunsArgs),
    /// Check the file of a pipeline; nothing is made or run
    Validate {
        /// The YAML file
        #[arg(value_name = "WORKFLOW")]
        file: PathBuf,
    },
    /// Draw the steps of a pipeline and the ways between them
    Graph(PipelineGraphArgs),
    /// Check the files by which agents tell each other what came of their work
    #[command(arg_required_else_help = true)]
    StatusJson {
        #[command(subcommand)]
        command: StatusJsonCommand,
    },
    /// Put tasks into queues and take them out: files in folders, which appear whole and belong to one claimer
    #[command(arg_required_else_help = true)]
    Task {
        #[command(subcommand)]
        command: TaskCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum StatusJsonCommand {
    /// Report everything in which a file is not as status/v1 says
    Validate {
        /// The JSON file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PipelineGraphArgs {
    /// The YAML file
    #[arg(value_name = "WORKFLOW")]
    pub(crate) file: PathBuf,
    /// Print a drawing or data (unset: mermaid)
    // The name is that of the global option: this one takes its place.
    #[arg(
        id = "format",
        long,
        value_name = "FORMAT",
        value_parser = PossibleValuesParser::new(["mermaid", "dot", "json"]).try_map(|name| Form::from_str(&name, false)),
        hide_possible_values = false
    )]
    pub(crate) format: Option<Form>,
}
