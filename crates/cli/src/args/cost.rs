//! `uwf thread cost`.

use clap::{Args, ValueEnum};
use uwf_engine::CostKey;
use uwf_protocol::naming::LabelSelector;

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// The threads (unset: all)
    pub(crate) threads: Vec<String>,
    /// Only threads with this label: KEY=VALUE, or KEY for any value; may be repeated, then all must be there
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<LabelSelector>,
    /// What the runs of one row have in common (unset: the role for one thread, the thread for several)
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<CostBy>,
    /// Only runs that ended after this time: 7d, 12h, 30m, or a date
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
}

/// What the runs of one row have in common.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CostBy {
    Role,
    Agent,
    Model,
    Workflow,
    Day,
    Thread,
}

impl From<CostBy> for CostKey {
    fn from(by: CostBy) -> Self {
        match by {
            CostBy::Role => Self::Role,
            CostBy::Agent => Self::Agent,
            CostBy::Model => Self::Model,
            CostBy::Workflow => Self::Workflow,
            CostBy::Day => Self::Day,
            CostBy::Thread => Self::Thread,
        }
    }
}
