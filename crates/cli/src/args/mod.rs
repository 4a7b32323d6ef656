//! The command line of `uwf`, `ocas` and `orchestrate`.

mod care;
mod cas;
mod config;
mod cost;
mod deferred;
#[cfg(test)]
mod documented;
mod examples;
mod fork;
mod graph;
mod init;
mod listing;
mod naming;
mod orchestrate;
mod reading;
mod refused;
mod running;
mod serve;
mod sessions;
mod sharing;
mod short;
mod thread;
mod travel;
mod tree;
mod trust;
mod workflow;
mod working;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{EnumValueParser, TypedValueParser};
use clap::error::Result as Parsed;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub(crate) use care::{KillArgs, PauseArgs, PruneArgs, RmArgs, ThreadsArgs};
pub(crate) use cas::{CasCommand, GcArgs, RepairArgs, SchemaCommand};
pub(crate) use config::{ConfigCommand, DoctorArgs, LogCommand, LogFilterArgs, SetupArgs};
pub(crate) use cost::CostArgs;
pub(crate) use deferred::{Deferred, whole};
pub(crate) use fork::{ForkArgs, MigrateArgs};
pub(crate) use graph::GraphArgs;
pub(crate) use init::InitArgs;
pub(crate) use listing::{AboutArgs, FilterArgs, ListArgs};
pub(crate) use naming::{LabelArgs, RenameArgs};
pub(crate) use orchestrate::{
    CleanRunsArgs, ContextArgs, FinishArgs, ListRunsArgs, LogLevel, OnErrorArg, OrchestrateCommand,
    PipelineGraphArgs, PlaceArgs, QueueArgs, ReportArgs, ResumeArgs, RetryArgs, RunLogsArgs,
    RunPipelineArgs, RunStatusArgs, RunStepArgs, StatusJsonCommand, TaskCommand, WatchArgs,
    WorkArgs,
};
pub(crate) use reading::{DiffArgs, RestoreArgs, TailArgs};
pub(crate) use running::{
    AgentArgs, Goal, HeadArgs, Many, Patience, RunArgs, RunHowArgs, RunThreadArgs, StartArgs,
    StepArgs, WaitArgs,
};
pub(crate) use serve::ServeArgs;
pub(crate) use sessions::SessionsArgs;
pub(crate) use sharing::{
    FetchArgs, PushArgs, ReleaseArgs, RemoteAddArgs, RemoteCommand, RemoteGcArgs, RemoteVerifyArgs,
};
pub(crate) use short::ShortCommand;
pub(crate) use thread::{
    HowArgs, ReadArgs, StepCommand, StepExportArgs, StepReadArgs, SummarizeArgs, ThreadCommand,
    WHOLE,
};
pub(crate) use travel::{ExportArgs, ImportArgs, ImportStoreArgs};
pub(crate) use tree::furnished;
pub(crate) use trust::TrustArgs;
pub(crate) use workflow::{WorkflowCommand, WorkflowDiffArgs, WorkflowExportArgs};
pub(crate) use working::WorkerArgs;

use crate::output::{Form, Format};
use crate::style::Color;

/// A stateless workflow engine for agents: one step per call, every step recorded
#[derive(Debug, Parser)]
#[command(
    name = "uwf",
    version,
    arg_required_else_help = true,
    subcommand_required = true
)]
#[command(
    after_help = "Exit codes: 0 done · 1 the request cannot be met · 2 wrong command line\n            3 the agent failed · 4 the store is damaged · 5 busy, try later\n            6 suspended, waits for you · 7 ended · 101 a bug\n            129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Read and write a content-addressed store
#[derive(Debug, Parser)]
#[command(
    name = "ocas",
    version,
    arg_required_else_help = true,
    subcommand_required = true
)]
struct OcasCli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: CasCommand,
}

/// Run pipelines: commands and calls of model programs in a fixed order
#[derive(Debug, Parser)]
#[command(
    name = "orchestrate",
    version,
    arg_required_else_help = true,
    subcommand_required = true
)]
struct OrchestrateCli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: OrchestrateCommand,
}

impl Cli {
    /// Parses a command line. Ends the process if the command line is wrong or asks for help.
    pub(crate) fn of(args: &[OsString]) -> Self {
        parsed::<Self>(args, "").unwrap_or_else(|error| refused::exit(error))
    }

    /// Parses a command line of `ocas` in the same way.
    pub(crate) fn of_ocas(args: &[OsString]) -> Self {
        parsed::<OcasCli>(args, "cas").map_or_else(|error| refused::exit(error), Self::from)
    }

    /// Parses a command line of `orchestrate` in the same way.
    pub(crate) fn of_orchestrate(args: &[OsString]) -> Self {
        let cli = parsed::<OrchestrateCli>(args, "orchestrate");
        cli.map_or_else(|error| refused::exit(error), Self::from)
    }
}

/// Parses a command line. `path` is the command of `uwf` that the program stands for.
fn parsed<C: CommandFactory + FromArgMatches>(args: &[OsString], path: &str) -> Parsed<C> {
    let mut plain = C::command();
    if let Ok(mut matches) = plain.try_get_matches_from_mut(args) {
        return C::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut plain));
    }
    // A call for help, or a mistake: only these show what furnishing adds, which takes as long as all the rest of parsing.
    let mut tree = furnished(whole::<C>(), path);
    let mut matches = tree.try_get_matches_from_mut(args)?;
    C::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut tree))
}

/// Parses a number of something, from 1.
fn positive(text: &str, what: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("{what} from 1 is expected")),
        Ok(number) => Ok(number),
    }
}

impl From<OcasCli> for Cli {
    fn from(ocas: OcasCli) -> Self {
        Self {
            global: ocas.global,
            command: Command::Cas {
                command: Deferred(ocas.command),
            },
        }
    }
}

impl From<OrchestrateCli> for Cli {
    fn from(orchestrate: OrchestrateCli) -> Self {
        Self {
            global: orchestrate.global,
            command: Command::Orchestrate {
                command: Deferred(orchestrate.command),
            },
        }
    }
}

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// The options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print data as compact JSON, YAML, or text (unset: text on a terminal, JSON elsewhere; text everywhere for runs and tasks of orchestrate). With json, messages are JSON, too
    #[arg(long, global = true, value_name = "FORMAT", value_parser = EnumValueParser::<Format>::new().map(Form::Data), help_heading = GLOBAL)]
    pub(crate) format: Option<Form>,
    /// Keep everything under this folder (unset: $UWF_STORAGE_ROOT, else ~/.uwf)
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) root: Option<PathBuf>,
    /// Colour words in text for people
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, help_heading = GLOBAL)]
    pub(crate) color: Color,
    /// Show what the agent writes to stderr while it works; of orchestrate, when each attempt begins
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = GLOBAL)]
    pub(crate) verbose: u8,
    /// Print long texts as they are, also on a terminal
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_pager: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a thread and do steps until it ends, waits for a person, or fails
    Run(Deferred<RunArgs>),
    /// Start, step, read and end threads
    #[command(arg_required_else_help = true)]
    Thread {
        #[command(subcommand)]
        command: Deferred<ThreadCommand>,
    },
    /// List, show and fork single steps
    #[command(arg_required_else_help = true)]
    Step {
        #[command(subcommand)]
        command: Deferred<StepCommand>,
    },
    /// Register, check and show workflows
    #[command(arg_required_else_help = true)]
    Workflow {
        #[command(subcommand)]
        command: Deferred<WorkflowCommand>,
    },
    /// Write a workflow to begin with into a folder, or list those that there are
    Init(Deferred<InitArgs>),
    /// Read and write the content-addressed store
    #[command(arg_required_else_help = true)]
    Cas {
        #[command(subcommand)]
        command: Deferred<CasCommand>,
    },
    /// Run, check and draw pipelines: commands and calls of model programs in a fixed order
    #[command(arg_required_else_help = true)]
    Orchestrate {
        #[command(subcommand)]
        command: Deferred<OrchestrateCommand>,
    },
    /// Share threads with other machines, or send the new steps of shared ones
    Push(Deferred<PushArgs>),
    /// Bring shared threads from other machines, or their new steps
    Fetch(Deferred<FetchArgs>),
    /// Do steps of the threads at the remote, whenever one is ready, until this process is told to stop
    Work(Deferred<WorkerArgs>),
    /// Choose, look at and care for the server where threads are shared
    #[command(arg_required_else_help = true)]
    Remote {
        #[command(subcommand)]
        command: Deferred<RemoteCommand>,
    },
    /// Open pages on which a browser shows threads, workflows and the store, until this process is told to stop
    Serve(Deferred<ServeArgs>),
    /// Take over the threads and workflow names of the reference program, the older `uwf` in TypeScript
    ImportStore(Deferred<ImportStoreArgs>),
    /// Choose a provider, a model and an agent; asks on a terminal
    Setup(Deferred<SetupArgs>),
    /// Check the root, the config, agents, providers and threads for problems
    Doctor(Deferred<DoctorArgs>),
    /// Read and change the config
    #[command(arg_required_else_help = true)]
    Config {
        #[command(subcommand)]
        command: Deferred<ConfigCommand>,
    },
    /// Use the config of a project, which names agents; shows what it says
    Trust(Deferred<TrustArgs>),
    /// Read and clean the process log
    #[command(arg_required_else_help = true)]
    Log {
        #[command(subcommand)]
        command: Deferred<LogCommand>,
    },
    /// Run a built-in agent, as `thread step` does
    #[command(after_help = format!(
        "Agents:\n{}\n`uwf agent <NAME> --help` shows the options of one.",
        uwf_agents::listed(),
    ))]
    Agent {
        /// The agent
        name: String,
        /// Its own arguments, then the thread and the role
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Print the script with which a shell completes commands, threads, workflows and keys
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print a reference text for an agent that uses this program
    Prompt {
        /// What the agent is to do
        #[arg(value_enum)]
        topic: Topic,
    },
    /// Print the manual page of the program, or write the pages of all commands
    Man {
        /// Where to write them; the folder is made if it is not there
        dir: Option<PathBuf>,
    },
    /// Print the version, as `--version` does
    #[command(hide = true)]
    Version,
    #[command(flatten)]
    Short(ShortCommand),
    /// Run a bundled workflow from start to end, in a folder of its own
    Demo {
        /// Where to put it (unset: a new folder in the temp directory)
        dir: Option<PathBuf>,
    },
}

/// What agents are told about this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topic {
    /// Run and look after threads
    #[value(alias = "user")]
    Usage,
    /// Write a workflow file
    #[value(alias = "author")]
    Authoring,
    /// Make a program an agent
    #[value(aliases = ["adapter", "developer"])]
    Adapters,
    /// A skill file that names the other texts
    Bootstrap,
}

/// The shells that can be completed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// GNU Bash 4.4 or newer
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}
