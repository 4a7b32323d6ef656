//! `uwf thread …` and `uwf step …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use uwf_protocol::limits::Setting;

use super::care::{KillArgs, PauseArgs, PruneArgs, RmArgs, ThreadsArgs};
use super::cost::CostArgs;
use super::deferred::Deferred;
use super::listing::ListArgs;
use super::naming::{LabelArgs, RenameArgs};
use super::reading::{DiffArgs, RestoreArgs, TailArgs};
use super::running::{AgentArgs, HeadArgs, RunThreadArgs, StartArgs, StepArgs, WaitArgs};
use super::sessions::SessionsArgs;
use super::{ExportArgs, ForkArgs, ImportArgs, MigrateArgs, positive};

/// The quota of a whole document. It leaves room for sums.
pub(crate) const WHOLE: usize = usize::MAX / 4;

#[derive(Debug, Subcommand)]
pub(crate) enum ThreadCommand {
    /// Record a task as a new thread; nothing is run
    Start(Deferred<StartArgs>),
    /// Do one cycle: route, run the agent, record the step
    #[command(visible_alias = "exec")]
    Step(Deferred<StepArgs>),
    /// Do steps until the thread ends, waits for a person, or fails
    Run(Deferred<RunThreadArgs>),
    /// Wait until nobody on this machine works on the threads, or until they end, ask or have a new step
    Wait(Deferred<WaitArgs>),
    /// Show the status of a thread
    Show {
        /// The thread
        thread: String,
    },
    /// List threads, newest first
    #[command(visible_alias = "ls")]
    List(Deferred<ListArgs>),
    /// Watch what runs and what waits for a person; ends with q
    Top,
    /// Sum what threads cost: their steps and failed attempts
    Cost(Deferred<CostArgs>),
    /// List all steps of a thread, oldest first
    Steps {
        /// The thread
        thread: String,
    },
    /// List the sessions of agents that a thread goes on with, or drop them
    Sessions(Deferred<SessionsArgs>),
    /// Read a thread as a Markdown document
    Read(Deferred<ReadArgs>),
    /// Show the newest turns of a thread's agents, also while they work
    Tail(Deferred<TailArgs>),
    /// Let a model write what has happened in a thread; `thread show`, `list` and `read` show it
    Summarize(Deferred<SummarizeArgs>),
    /// Compare two threads from their last common step, or two steps; or show the files that one changed
    Diff(Deferred<DiffArgs>),
    /// Put the files back that a step left in its git repository
    Restore(Deferred<RestoreArgs>),
    /// Start a new thread from a step (or the start) of another
    Fork(Deferred<ForkArgs>),
    /// Go on under another workflow, from where the thread stands
    Migrate(Deferred<MigrateArgs>),
    /// Dump everything that a step recorded, as YAML
    StepDetails {
        /// The step
        step: String,
    },
    /// Give a thread a name, which stands for it wherever a thread is wanted
    Rename(Deferred<RenameArgs>),
    /// Set, remove or show the labels of a thread
    Label(Deferred<LabelArgs>),
    /// End threads: archive them and end their agents
    #[command(visible_aliases = ["cancel", "stop"])]
    Kill(Deferred<KillArgs>),
    /// Keep threads from going on; a step that is being done goes on to its end
    Pause(Deferred<PauseArgs>),
    /// Let paused threads go on
    Unpause(Deferred<ThreadsArgs>),
    /// Remove threads for good; `cas gc` frees what only they needed
    #[command(visible_alias = "remove")]
    Rm(Deferred<RmArgs>),
    /// Remove all ended threads, or those that match
    Prune(Deferred<PruneArgs>),
    /// Answer a suspended thread, or let it go on beyond a limit
    Resume(Deferred<ResumeArgs>),
    /// Redo the last step: the same role improves its answer
    Poke(Deferred<PokeArgs>),
    /// Write threads with all that they need into one file, for another root
    Export(Deferred<ExportArgs>),
    /// Take threads out of a file that `thread export` wrote
    Import(Deferred<ImportArgs>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum StepCommand {
    /// List all steps of a thread, oldest first
    #[command(visible_alias = "ls")]
    List {
        /// The thread
        thread: String,
    },
    /// Show everything that a step recorded
    Show {
        /// The step
        step: String,
    },
    /// Read the turns of a step as a Markdown document
    Read(StepReadArgs),
    /// List the files that the agent of a step left
    Artifacts {
        /// The step
        step: String,
    },
    /// Print one of these files
    Cat {
        /// The step
        step: String,
        /// The file, as `uwf step artifacts` names it
        path: String,
    },
    /// Write these files into a folder
    Export(StepExportArgs),
    /// Start a new thread from a step (or the start) of another
    Fork(ForkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The thread
    pub(crate) thread: String,
    /// Show as many of the newest steps as fit into N characters, or all; one at least
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = parse_quota)]
    pub(crate) quota: usize,
    /// Show only steps before this one
    #[arg(long, value_name = "STEP")]
    pub(crate) before: Option<String>,
    /// With --before: show the start too
    #[arg(long)]
    pub(crate) start: bool,
    /// Write the whole thread as a page for a browser, in one file
    #[arg(long, conflicts_with_all = ["before", "start"])]
    pub(crate) html: bool,
    /// With --html: the file to write, or - for standard output (unset: standard output)
    #[arg(short, long, value_name = "FILE", requires = "html")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SummarizeArgs {
    /// The thread
    pub(crate) thread: String,
    /// The alias of a model in the config (unset: `summary.model`, else the model of agents)
    #[arg(long, value_name = "ALIAS")]
    pub(crate) model: Option<String>,
    /// This call runs in the background: it leaves the session, and its failures are in the log only
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The thread
    pub(crate) thread: String,
    /// The answer, @FILE for the text of a file, or - for standard input (unset: the role is told to go on)
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PokeArgs {
    /// The thread
    pub(crate) thread: String,
    /// What is wrong with the answer or wanted instead, @FILE for the text of a file, or - for standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// First put back the files that the step found in its git repository
    #[arg(long)]
    pub(crate) restore: bool,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// The options of `resume` and `poke`.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    /// Raise a limit of the thread, such as maxSteps=20 or maxVisits.writer=5; may be repeated
    #[arg(long = "raise", value_name = "LIMIT=VALUE")]
    pub(crate) raises: Vec<Setting>,
    /// Accept the unknown usage of these failed attempts, by their numbers in `thread steps`
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_attempt)]
    pub(crate) accept_unknown: Vec<u64>,
    /// Start a new session of the agent with the whole task, instead of continuing its old one
    #[arg(long)]
    pub(crate) new_session: bool,
    #[command(flatten)]
    pub(crate) at: HeadArgs,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Show no line about the running step on the terminal
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StepReadArgs {
    /// The step
    pub(crate) step: String,
    /// Show as many of the newest turns as fit into N characters, or all; one at least
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = parse_quota)]
    pub(crate) quota: usize,
    /// Show the whole prompt that the agent got instead
    #[arg(long)]
    pub(crate) prompt: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StepExportArgs {
    /// The step
    pub(crate) step: String,
    /// The files (unset: all that were kept)
    pub(crate) paths: Vec<String>,
    /// The folder to write into; it is made if it is missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace files that are there already
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Parses a length. `all` is longer than any document.
fn parse_quota(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(WHOLE),
        _ => positive(text, "`all`, or a number of characters"),
    }
}

/// Parses the number of a failed attempt.
fn parse_attempt(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        "the number of a failed attempt is expected; `uwf thread steps <thread>` lists them"
            .to_owned()
    })
}
