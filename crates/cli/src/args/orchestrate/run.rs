//! `uwf orchestrate run`, `resume` and `run-step`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use uwf_util::time::parse_duration;

/// Parses a number of seconds, or a duration with its unit.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok();
    let with_unit = || Some(Duration::from_millis(parse_duration(text)?).as_secs_f64());
    seconds.or_else(with_unit).ok_or_else(|| {
        "a number of seconds, or a time such as 90s, 10m or 2h, is expected".to_owned()
    })
}

/// What a command that does steps of a run may be told.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// End the run after so many seconds, or a time such as `10m`, as a step that takes too long
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Print what the programs print while they run
    #[arg(long)]
    pub(crate) stream_output: bool,
    /// Write output files without secrets
    #[arg(long)]
    pub(crate) mask_output_files: bool,
    /// The most that the log of one output may have (unset: 1 GiB)
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_log_bytes: Option<u64>,
    /// Keep the last three pictures of the run beside state.json
    #[arg(long)]
    pub(crate) backup_state: bool,
    /// Keep prompts as files, and the last pictures of the run
    #[arg(long)]
    pub(crate) debug: bool,
    /// Print one object in place of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but warnings and errors
    #[arg(long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// What is said on stderr (unset: info)
    #[arg(long, value_name = "LEVEL", conflicts_with_all = ["quiet", "verbose"])]
    pub(crate) log_level: Option<LogLevel>,
    /// Show how far the run is: on a terminal in a line that is redrawn, elsewhere in a line for each step that begins
    #[arg(long)]
    pub(crate) progress: bool,
}

/// What a command says of a run. The log of the run has all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum LogLevel {
    /// Why the command failed
    Error,
    /// Also what should not be so
    Warn,
    /// Also what came of each step
    Info,
    /// Also when an attempt begins
    Debug,
}

/// Where runs are.
#[derive(Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    /// The folder that all paths of the pipeline are relative to (unset: the current one)
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The folder of all runs (unset: ORCHESTRATE_STATE_DIR, or .orchestrate/runs in the workspace)
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// Where the context of a run comes from.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// A value of the context; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) context: Vec<String>,
    /// A JSON file with values of the context
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
}

/// What a failure without a handler does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnErrorArg {
    /// It ends the run
    Stop,
    /// The run goes on
    Continue,
}

/// How often calls of providers without `retries` are repeated.
#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// How often a failed call of a provider is repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=100))]
    pub(crate) max_retries: Option<u64>,
    /// The time between two tries, in milliseconds
    #[arg(long, value_name = "MS", requires = "max_retries")]
    pub(crate) retry_delay: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct RunPipelineArgs {
    /// The YAML file
    #[arg(value_name = "WORKFLOW")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) context: ContextArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Empty the folder of finished tasks first
    #[arg(long)]
    pub(crate) clean_processed: bool,
    /// Clean although another run works in the workspace
    #[arg(long, requires = "clean_processed")]
    pub(crate) force: bool,
    /// Archive finished tasks when the run is completed (unset: processed.zip in the folder of the run)
    #[arg(long, value_name = "DEST", num_args = 0..=1)]
    pub(crate) archive_processed: Option<Option<PathBuf>>,
    /// Check the file, and say what would be cleaned; nothing is made or run
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What a failure without a handler does
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_error: Option<OnErrorArg>,
    #[command(flatten)]
    pub(crate) retries: RetryArgs,
    /// How many transitions the run may make
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_transitions: Option<u64>,
    /// The id of the run
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run: its id or the beginning of it, or its thread
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Go on at this step of the pipeline
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// What a failure without a handler does from now on
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_error: Option<OnErrorArg>,
    /// Go on under the workflow file as it is now
    #[arg(long)]
    pub(crate) accept_changed_workflow: bool,
    /// Start a new run with the same context but for what is given anew, and leave this one as it is
    #[arg(long, conflicts_with_all = ["from", "accept_changed_workflow", "repair"])]
    pub(crate) force_restart: bool,
    /// Make state.json again from the thread, if it is missing or damaged. Something else in place of it, of `logs` or of a log gets another name
    #[arg(long)]
    pub(crate) repair: bool,
    /// A value of the context of the run that `--force-restart` starts; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) context: Vec<String>,
    /// A JSON file with values of that context
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunStepArgs {
    /// The step; one in a loop is written `Loop.Step`
    #[arg(value_name = "STEP")]
    pub(crate) step: String,
    /// The YAML file
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) workflow: PathBuf,
    /// Do the loop for this item only
    #[arg(long, value_name = "JSON")]
    pub(crate) item: Option<String>,
    /// Skip the step if its condition does not hold
    #[arg(long)]
    pub(crate) respect_when: bool,
    /// Let the step see the results of this run
    #[arg(long, value_name = "RUN")]
    pub(crate) from_run: Option<String>,
    #[command(flatten)]
    pub(crate) context: ContextArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// What a failure within a loop does
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_error: Option<OnErrorArg>,
    #[command(flatten)]
    pub(crate) retries: RetryArgs,
    /// The id of the run
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
}
