//! The half of the engine that runs agents: plain steps, resumed ones and poked ones, and the end of a thread.

mod admission;
mod adopt;
pub(crate) mod agent_command;
mod agent_hints;
mod agent_run;
mod answer;
mod attempted;
mod children;
pub(crate) mod claim;
mod commit;
mod contract;
pub(crate) mod cycle;
pub(crate) mod drop_sessions;
pub(crate) mod dry_run;
pub(crate) mod failure;
mod finished;
pub(crate) mod fork_files;
mod git_locks;
mod hooks;
pub(crate) mod kill;
mod left_secrets;
mod leftovers;
pub(crate) mod migrate;
pub(crate) mod next;
pub(crate) mod observer;
pub(crate) mod owned;
pub(crate) mod patience;
pub(crate) mod pipelines;
pub(crate) mod poke;
mod process;
pub(crate) mod push;
mod refused;
pub(crate) mod restore;
pub(crate) mod resume;
mod retry;
pub(crate) mod review;
mod shared;
pub(crate) mod slots;
pub(crate) mod summary;
mod supervised_git;
mod supervisor;
pub(crate) mod waiting;
mod workspace;

use std::process::Command;

use uwf_process::Signals;
use uwf_protocol::ids::ThreadId;

use crate::Site;
use crate::sharing::Remotes;
use cycle::StepOptions;
use observer::Observer;

/// Does steps on a site: it starts agents and ends them.
pub struct Runner {
    /// The site.
    pub site: Site,
    /// The names of the built-in adapters, without `uwf-`.
    pub built_in_agents: &'static [&'static str],
    /// The signals of this process.
    pub signals: Signals,
    /// Who sees what the agent does while it runs.
    pub observer: Observer,
    /// Shows the user at once what a call is waiting for.
    pub notice: fn(&str),
    /// Where threads are shared.
    pub remotes: Remotes,
    /// Returns a command of this program that does one step of a thread. Its messages on stderr are JSON.
    pub step_command: fn(&Site, ThreadId, &StepOptions) -> Command,
}
