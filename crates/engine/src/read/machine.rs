//! What runs here: the threads at work, the slots for agents, and what is shared.

use std::path::PathBuf;

use serde::Serialize;
use uwf_config::secret::masked_arguments;
use uwf_protocol::config::Config;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::permissions::Permissions;
use uwf_storage::Pool;

use crate::limits::config_for_views;
use crate::read::list::list;
use crate::read::selection::{Children, ListFilter};
use crate::read::thread_item::ThreadItem;
use crate::read::thread_state::ThreadStatus;
use crate::sharing::{shared_threads, waiting_threads};
use crate::{EngineError, Site};

/// What runs here. No server is asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineView {
    /// The storage root.
    pub root: PathBuf,
    /// The store.
    pub store: PathBuf,
    /// The threads on which somebody works, children too, newest first.
    pub running: Vec<ThreadItem>,
    /// The agents of the config, in its order.
    pub agents: Vec<AgentView>,
    /// The slots for agents, as far as the config limits them.
    pub slots: Vec<SlotsView>,
    /// Where threads are shared.
    pub remote: Option<String>,
    /// The threads that are shared.
    pub shared: Vec<ThreadId>,
    /// Those of them with a finished step that waits here.
    pub waiting: Vec<ThreadId>,
    /// The problems that may hide something, one line each.
    pub warnings: Vec<String>,
}

/// An agent of the config. Its secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// Its alias.
    pub alias: String,
    /// Whether it does what no other agent is named for.
    pub default: bool,
    /// Its program, if the config names one.
    pub command: Option<String>,
    /// The arguments before the thread and the role.
    pub args: Vec<String>,
    /// What it may do without asking, if the config says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The agents that are tried after it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// The roles that it is named for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<AgentRole>,
}

/// A role that an agent is named for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRole {
    /// The name of the workflow.
    pub workflow: String,
    /// The role.
    pub role: String,
}

/// The slots of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlotsView {
    /// The agent that they are for; `None` if they are for all.
    pub agent: Option<String>,
    /// How many there are.
    pub max: u32,
    /// The threads that have one.
    pub holders: Vec<ThreadId>,
}

/// Returns what runs here.
///
/// # Errors
/// When the files of the state cannot be read.
pub fn machine(site: &Site) -> Result<MachineView, EngineError> {
    let filter = ListFilter {
        statuses: Some(vec![ThreadStatus::Running]),
        children: Children::Listed,
        ..ListFilter::default()
    };
    let found = list(site, &filter)?;
    let config = config_for_views(site);
    let remote = config.remote.url.as_ref();
    Ok(MachineView {
        root: site.root.path().to_owned(),
        store: site.store.dir().to_owned(),
        running: found.threads,
        agents: agents(site, &config),
        slots: slots(site, &config),
        remote: remote.map(|url| site.secrets().text(url)),
        shared: shared_threads(site)?,
        waiting: waiting_threads(site)?,
        warnings: found.warnings,
    })
}

fn agents(site: &Site, config: &Config) -> Vec<AgentView> {
    let secrets = site.secrets();
    let agents = config.agents.iter().map(|(alias, agent)| {
        let args = masked_arguments(&agent.args).into_iter();
        let command = agent.command.as_ref();
        AgentView {
            alias: alias.clone(),
            default: config.default_agent.as_ref() == Some(alias),
            command: command.map(|command| secrets.text(command)),
            args: args.map(|arg| secrets.text(&arg)).collect(),
            permissions: agent.permissions,
            fallback: agent.fallback.clone(),
            roles: roles_of(alias, config),
        }
    });
    agents.collect()
}

fn roles_of(alias: &str, config: &Config) -> Vec<AgentRole> {
    let workflows = config.agent_overrides.iter();
    let all = workflows.flat_map(|(workflow, roles)| {
        roles
            .iter()
            .map(move |(role, agent)| (workflow, role, agent))
    });
    let own = all.filter(|(_, _, agent)| *agent == alias);
    own.map(|(workflow, role, _)| AgentRole {
        workflow: workflow.clone(),
        role: role.clone(),
    })
    .collect()
}

fn slots(site: &Site, config: &Config) -> Vec<SlotsView> {
    let of = |agent: Option<&str>, pool: &Pool| SlotsView {
        agent: agent.map(str::to_owned),
        max: pool.max(),
        holders: pool.holders(),
    };
    let all = config.concurrency.max_running;
    let all = all.map(|max| of(None, &Pool::of_root(&site.root, max)));
    let agents = config.agents.iter().filter_map(|(alias, agent)| {
        let pool = Pool::of_agent(&site.root, alias, agent.max_running?);
        Some(of(Some(alias), &pool))
    });
    all.into_iter().chain(agents).collect()
}
