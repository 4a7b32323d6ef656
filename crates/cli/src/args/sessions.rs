//! The options of `uwf thread sessions`.

use clap::Args;
use uwf_protocol::ids::RoleName;

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// The thread
    pub(crate) thread: String,
    /// Forget them: the next visit of each role begins a new session with the whole prompt
    #[arg(long)]
    pub(crate) drop: bool,
    /// Only the sessions of this role
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<RoleName>,
    /// Only the sessions of this agent, by its name in the list
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}
