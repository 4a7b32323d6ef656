//! The commands that do steps and wait for them: `uwf run`, `uwf thread run`, `step` and `wait`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use uwf_engine::{AgentChoice, Early};
use uwf_protocol::permissions::Permissions;
use uwf_util::time;

use super::listing::FilterArgs;
use super::naming::NameArgs;

/// The options of every command that does steps.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentArgs {
    /// Use this agent: an alias of the config, or a command line with quotes as in a shell
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// What the agent may do without asking, whatever the config says
    #[arg(long, value_name = "WHAT", value_parser = parse_permissions)]
    pub(crate) permissions: Option<Permissions>,
    /// Exit with 5 instead of waiting: for a free agent slot, for threads that work in the same folder, and in a run for the time
    /// of the next attempt
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Let the agent work where another thread does, and say nothing about it
    #[arg(long)]
    pub(crate) shared_ok: bool,
    /// Leave the session of the caller: this is the process that works in the background
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

impl AgentArgs {
    /// Returns what the command line chooses for the agent.
    pub(crate) fn choice(&self) -> AgentChoice {
        AgentChoice {
            agent: self.agent.clone(),
            permissions: self.permissions,
        }
    }
}

/// Parses what an agent may do.
pub(crate) fn parse_permissions(text: &str) -> Result<Permissions, String> {
    text.parse().map_err(|_| {
        let known = Permissions::ALL.map(|one| format!("{one} ({})", one.about()));
        format!("one of these is expected: {}", known.join(", "))
    })
}

/// How long a command waits for a busy thread.
#[derive(Debug, Clone, Args)]
pub(crate) struct PatienceArgs {
    /// Wait for a busy thread, or one that waits for its next attempt: without a limit, or for this long, such as 30 (seconds) or 5m
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = parse_patience)]
    pub(crate) wait: Option<Patience>,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Without a limit.
    Endless,
    /// For this long.
    Limited(Duration),
}

impl Patience {
    /// Returns the end of a wait that begins now, if it has one.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::Limited(time) => Instant::now().checked_add(time),
            Self::Endless => None,
        }
    }
}

/// The head at which the caller saw a thread.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HeadArgs {
    /// Do nothing and exit with 5 unless this is still the head; only with one thread
    #[arg(long, value_name = "HASH")]
    pub(crate) head: Option<String>,
}

/// What a command does before the time of the next attempt.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct EarlyArgs {
    /// Make the next attempt now, even if the thread waits for a later time
    #[arg(long)]
    pub(crate) now: bool,
}

impl From<EarlyArgs> for Early {
    fn from(args: EarlyArgs) -> Self {
        match args.now {
            true => Self::TryNow,
            false => Self::Refuse,
        }
    }
}

/// What a thread is started with.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// A name, a hash, or the path of a YAML file
    pub(crate) workflow: String,
    /// The task, @FILE for the text of a file, or - for standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: String,
    /// Where the agents work (unset: this folder)
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) naming: NameArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) start: StartArgs,
    #[command(flatten)]
    pub(crate) how: RunHowArgs,
}

/// The options of every run.
#[derive(Debug, Args)]
pub(crate) struct RunHowArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Work on up to N branches at once (unset: as many as the workflow says)
    #[arg(long, value_name = "N", value_parser = parse_jobs)]
    pub(crate) jobs: Option<usize>,
    /// Print only the thread and how it stopped
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunThreadArgs {
    /// The thread
    pub(crate) thread: String,
    /// Start a new session of the agent with the whole task, instead of continuing its old one
    #[arg(long)]
    pub(crate) new_session: bool,
    #[command(flatten)]
    pub(crate) early: EarlyArgs,
    #[command(flatten)]
    pub(crate) at: HeadArgs,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    #[command(flatten)]
    pub(crate) how: RunHowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StepArgs {
    /// The threads, which get their steps one after the other
    #[arg(required_unless_present_any = ["all", "next"], conflicts_with_all = ["all", "next", "status", "after", "before", "AboutArgs", "limit"], value_name = "THREAD")]
    pub(crate) threads: Vec<String>,
    /// Start a new session of the agent with the whole task, instead of continuing its old one
    #[arg(long)]
    pub(crate) new_session: bool,
    #[command(flatten)]
    pub(crate) early: EarlyArgs,
    #[command(flatten)]
    pub(crate) at: HeadArgs,
    /// Do N steps one after the other, or all; stops early when the thread ends, suspends, is blocked or fails
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = parse_count)]
    pub(crate) count: u64,
    /// Do a step of every idle thread; a thread that another process works on is skipped
    #[arg(long)]
    pub(crate) all: bool,
    /// Do a step of the shared thread that has been ready at the remote for the longest time and that nobody works on; with `--label`,
    /// also of those that were pushed with that label
    #[arg(long, conflicts_with_all = ["all", "status", "after", "before", "workflow", "name", "here", "limit", "background", "dry_run", "wait"])]
    pub(crate) next: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Work on up to N threads at once (unset: 1); of one thread, on up to N branches at once
    #[arg(long, value_name = "N", value_parser = parse_jobs)]
    pub(crate) jobs: Option<usize>,
    /// Start the step, print the number of its process, and return
    #[arg(long, conflicts_with_all = ["all", "jobs", "dry_run"])]
    pub(crate) background: bool,
    /// Show who is next and what the agent would be told; nothing is started or written
    #[arg(long, conflicts_with_all = ["all", "jobs", "count", "wait"])]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) patience: PatienceArgs,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Show no line about the running step on the terminal, and no number of threads if all went well
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print as one of many: this is a process that `--jobs` starts
    #[arg(long, hide = true, value_enum)]
    pub(crate) part_of: Option<Many>,
}

impl Many {
    /// Returns its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::All => "all",
        }
    }
}

/// How several threads were named, which decides what a busy one means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Many {
    /// Each by its name: a busy one is a failure.
    Named,
    /// By `--all`: a busy one is skipped.
    All,
}

#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// The threads; what other machines do in a shared one counts when it was fetched
    #[arg(required = true, value_name = "THREAD")]
    pub(crate) threads: Vec<String>,
    /// Wait until the thread has ended, waits for a person, or has a new step (unset: until nobody works on it)
    #[arg(long = "for", value_enum, value_name = "WHAT")]
    pub(crate) goal: Option<Goal>,
    /// Exit with 5 after this time, such as 90 (seconds) or 10m (unset: no limit)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) timeout: Option<Duration>,
}

/// What `uwf thread wait` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    Ended,
    Suspended,
    // The thread has another head than at the beginning.
    Step,
}

/// Parses a number of steps. `all` is more than any thread has.
fn parse_count(text: &str) -> Result<u64, String> {
    match text.parse() {
        _ if text == "all" => Ok(u64::MAX),
        Ok(0) | Err(_) => Err("a number from 1, or `all`, is expected".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// How many threads are stepped at once at most: each takes some open files and two processes.
const MOST_JOBS: usize = 256;

pub(super) fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=MOST_JOBS).contains(&number) => Ok(number),
        Ok(_) | Err(_) => Err(format!("a number from 1 to {MOST_JOBS} is expected")),
    }
}

fn parse_patience(text: &str) -> Result<Patience, String> {
    match text {
        "" => Ok(Patience::Endless),
        text => parse_time(text).map(Patience::Limited),
    }
}

/// Parses a number of seconds, or a duration with its unit.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs).ok();
    let time = seconds.or_else(|| time::parse_duration(text).map(Duration::from_millis));
    time.ok_or_else(|| {
        "a number of seconds, or a time such as 90s, 10m or 2h, is expected".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_of_seconds_or_has_a_unit() {
        let seconds = |text| parse_time(text).ok().map(|time| time.as_secs());
        assert_eq!(
            ["90", "90s", "10m", "0"].map(seconds),
            [Some(90), Some(90), Some(600), Some(0)]
        );
        assert_eq!(["", "x", "-1", "1.5.2"].map(seconds), [None; 4]);
        assert_eq!(parse_patience(""), Ok(Patience::Endless));
    }
}
