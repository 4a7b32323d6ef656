//! The options of commands that go on elsewhere: in another thread, or under another workflow.

use clap::Args;
use uwf_protocol::ids::RoleName;

use super::naming::NameArgs;

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The step, or the start of a thread
    #[arg(required_unless_present = "thread", conflicts_with = "thread")]
    pub(crate) step: Option<String>,
    /// Go on under this workflow: a name, a hash, or the path of a YAML file
    #[arg(long, value_name = "WORKFLOW")]
    pub(crate) workflow: Option<String>,
    /// Fork this thread, at its head or at a step of --from-role
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
    /// With --thread: go on from a step of this role, the last one unless --nth says which
    #[arg(long, value_name = "ROLE", requires = "thread")]
    pub(crate) from_role: Option<RoleName>,
    /// With --from-role: its Nth step, from 1
    #[arg(long, value_name = "N", requires = "from_role", value_parser = parse_nth)]
    pub(crate) nth: Option<usize>,
    /// With --from-role: its last step
    #[arg(long, requires = "from_role", conflicts_with = "nth")]
    pub(crate) last: bool,
    /// Put back the files that the step left in its git repository
    #[arg(long)]
    pub(crate) restore: bool,
    #[command(flatten)]
    pub(crate) naming: NameArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// The thread
    pub(crate) thread: String,
    /// A name, a hash, or the path of a YAML file (unset: the workflow that has the name of the thread's own now)
    pub(crate) workflow: Option<String>,
    /// Show what differs, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

fn parse_nth(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a number from 1 is expected".to_owned()),
        Ok(number) => Ok(number),
    }
}
