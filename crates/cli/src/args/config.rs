//! `uwf config …` and `uwf log …`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the whole config, with keys masked
    List,
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
    /// Remove one value or entry, and what becomes empty by that
    Unset {
        /// The dotted key, such as agents.writer
        key: String,
    },
    /// Open the config in $VISUAL or $EDITOR, and take it over if it is sound
    Edit,
    /// Tell everything that is wrong with the config
    Validate,
    /// Print where the config is
    Path,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// List the log files, newest first
    List,
    /// Show log lines, oldest first
    Show {
        /// Only lines of this thread
        #[arg(long, value_name = "THREAD")]
        thread: Option<String>,
        /// Only lines of this process, as its lines name it
        #[arg(long, value_name = "PROCESS")]
        process: Option<String>,
        /// Only lines of this day: YYYY-MM-DD
        #[arg(long, value_name = "DATE")]
        date: Option<String>,
    },
    /// Delete the log files of days before a date
    Clean {
        /// The first day to keep: YYYY-MM-DD
        #[arg(long, value_name = "DATE")]
        before: String,
    },
}
