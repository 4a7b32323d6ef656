//! `uwf work`.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use uwf_protocol::naming::Label;

use super::AgentArgs;
use super::running::{parse_jobs, parse_time};

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Work on up to N threads at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_jobs)]
    pub(crate) jobs: usize,
    /// Work also on threads that were pushed with this label; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// End when no thread was ready for this long (unset: never)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) idle: Option<Duration>,
    /// End when N steps have failed one after the other, with the exit code of the last
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) max_failures: NonZeroU32,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Say nothing about the worker itself, only what its steps say
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
