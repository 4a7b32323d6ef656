//! `uwf config …` and `uwf log …`.

use clap::{Args, Subcommand};
use uwf_protocol::permissions::Permissions;
use uwf_util::time;

use super::running::parse_permissions;
use crate::commands::presets;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the whole config, with keys masked
    #[command(visible_alias = "ls")]
    List {
        /// List each value that holds in this folder, and which file it comes from
        #[arg(long)]
        origin: bool,
    },
    /// Show one value
    Get {
        /// The dotted key, such as agents.writer.command
        key: String,
    },
    /// Change one value; comments and layout stay
    Set {
        /// The dotted key, such as agents.writer.command
        key: String,
        /// The value; for `args` a JSON list
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove one value or entry, and sections that become empty
    Unset {
        /// The dotted key, such as agents.writer
        key: String,
    },
    /// Open a copy of the config in $VISUAL or $EDITOR, and save it if it is valid
    Edit,
    /// Check the config and list all mistakes
    Validate,
    /// List what models cost: the prices of the config, then the built-in ones
    Prices,
    /// Print the path of the config
    Path,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// List the log files, newest first
    #[command(visible_alias = "ls")]
    List,
    /// Show log lines, oldest first
    Show {
        #[command(flatten)]
        filter: LogFilterArgs,
        /// Only lines of this day: YYYY-MM-DD
        #[arg(long, value_name = "DATE")]
        date: Option<String>,
        /// Only the last N lines
        #[arg(long, value_name = "N")]
        last: Option<usize>,
        /// Print one JSON object per line, also on a terminal
        #[arg(long, conflicts_with = "format")]
        lines: bool,
    },
    /// Show the newest log lines, and with -f those to come
    Tail {
        #[command(flatten)]
        filter: LogFilterArgs,
        /// How many lines to begin with
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        last: usize,
        /// Wait for more until you press Ctrl-C
        #[arg(short, long)]
        follow: bool,
    },
    /// Delete the log files of days before a date
    Clean {
        /// The first day to keep: YYYY-MM-DD, or 30d for the last 30 days
        #[arg(long, value_name = "TIME")]
        before: String,
    },
}

/// The options that choose log lines.
#[derive(Debug, Args)]
pub(crate) struct LogFilterArgs {
    /// Only lines of this thread
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
    /// Only lines of this process: its number, or its name in `process`
    #[arg(long, value_name = "PROCESS")]
    pub(crate) process: Option<String>,
    /// Only lines of this event, such as step-failed; docs/cli.md lists them
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Only lines after this time: 7d, 12h, 30m, or a date
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    #[arg(long, value_name = "NAME", help = provider_help())]
    pub(crate) provider: Option<String>,
    /// The address of its API, usually ending in /v1: OpenAI-compatible, or Anthropic's own with `--provider anthropic`
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Its key, or - to read the key from standard input, so that no process list shows it
    #[arg(long, value_name = "KEY")]
    pub(crate) api_key: Option<String>,
    /// The environment variable for the key
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// Write the key into config.yaml (unset: into .env)
    #[arg(long, conflicts_with = "api_key_env")]
    pub(crate) key_in_config: bool,
    /// What the provider calls the model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The default agent: a name with or without uwf-, or a path
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// What the agent may do without asking
    #[arg(long, alias = "allow", value_name = "WHAT", value_parser = parse_permissions)]
    pub(crate) permissions: Option<Permissions>,
    /// How long a step of the agent may take (unset: 2h for an agent that is new in the config)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<String>,
    /// How long the agent may print nothing (unset: 45m for a new agent that prints while it works)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) idle_timeout: Option<String>,
}

fn duration(text: &str) -> Result<String, String> {
    let is_duration = time::parse_duration(text).is_some();
    let wrong = || "a duration such as 90s, 10m or 2h is expected".to_owned();
    is_duration.then(|| text.to_owned()).ok_or_else(wrong)
}

fn provider_help() -> String {
    format!(
        "The provider's name: one of the presets ({}), or a name of your own with --base-url",
        presets::names()
    )
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Call no provider, and no remote
    #[arg(long)]
    pub(crate) offline: bool,
    /// Verify every node of the store instead of a sample
    #[arg(long)]
    pub(crate) all: bool,
}
