//! `uwf thread …` and `uwf step …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum ThreadCommand {
    /// Record a task as a new thread; nothing is run
    Start(StartArgs),
    /// Do one cycle: route, run the agent, record the step
    #[command(visible_alias = "exec")]
    Step(StepArgs),
    /// Show where a thread stands
    Show {
        /// The thread
        thread: String,
    },
    /// List threads, newest first
    List(ListArgs),
    /// List all steps of a thread, oldest first
    Steps {
        /// The thread
        thread: String,
    },
    /// Read a thread as a Markdown document
    Read(ReadArgs),
    /// Start a new thread from a step (or the start) of another
    Fork(ForkArgs),
    /// Dump everything that a step recorded, as YAML
    StepDetails {
        /// The step
        step: String,
    },
    /// End a thread: archive it and end its agent
    #[command(visible_alias = "cancel")]
    Kill {
        /// The thread
        thread: String,
    },
    /// Answer a suspended thread and run the role that asked
    Resume(ResumeArgs),
}

#[derive(Debug, Subcommand)]
pub enum StepCommand {
    /// List all steps of a thread, oldest first
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
    /// Start a new thread from a step (or the start) of another
    Fork(ForkArgs),
}

#[derive(Debug, Args)]
pub struct StartArgs {
    /// A name, a hash, or the path of a YAML file
    pub workflow: String,
    /// The task
    #[arg(short, long, value_name = "TEXT")]
    pub prompt: String,
    /// Where the agents work (unset: this folder)
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct StepArgs {
    /// The thread
    pub thread: String,
    /// Use this agent: an alias of the config, or a command line
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Do up to N cycles; each prints a line when its step is recorded
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// List ended threads too
    #[arg(long)]
    pub all: bool,
    /// Only these: active, or a comma list of idle, running, suspended, blocked, failed, corrupt, completed, cancelled
    #[arg(long, value_name = "LIST")]
    pub status: Option<String>,
    /// Only threads started after this time: 7d, 12h, 30m, or a date
    #[arg(long, value_name = "TIME")]
    pub after: Option<String>,
    /// Only threads started before this time
    #[arg(long, value_name = "TIME")]
    pub before: Option<String>,
    /// Leave out the first N
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: usize,
    /// List at most N
    #[arg(long, value_name = "N", value_parser = parse_take)]
    pub take: Option<usize>,
}

#[derive(Debug, Args)]
pub struct ReadArgs {
    /// The thread
    pub thread: String,
    /// Show as many of the newest steps as fit into N characters; one at least
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = parse_quota)]
    pub quota: usize,
    /// Show only steps before this one
    #[arg(long, value_name = "STEP")]
    pub before: Option<String>,
    /// With --before: show the start too
    #[arg(long)]
    pub start: bool,
}

#[derive(Debug, Args)]
pub struct ForkArgs {
    /// The step, or the start of a thread
    pub step: String,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The thread
    pub thread: String,
    /// The answer
    #[arg(short, long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Use this agent: an alias of the config, or a command line
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
}

#[derive(Debug, Args)]
pub struct StepReadArgs {
    /// The step
    pub step: String,
    /// Show as many of the newest turns as fit into N characters; one at least
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = parse_quota)]
    pub quota: usize,
    /// Show the whole prompt that the agent got instead
    #[arg(long)]
    pub prompt: bool,
}

fn parse_quota(text: &str) -> Result<usize, String> {
    positive(text, "a number of characters")
}

fn parse_take(text: &str) -> Result<usize, String> {
    positive(text, "a number of threads")
}

fn positive(text: &str, what: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("{what} from 1 is expected")),
        Ok(number) => Ok(number),
    }
}
