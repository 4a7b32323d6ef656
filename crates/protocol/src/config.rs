//! The shape of `config.yaml`. Whether aliases exist and entries are complete is checked when they are used, not when the
//! file is read.

mod mcp;
mod remote;
mod retry;
mod workspace;

pub use mcp::McpServer;
pub use remote::RemoteConfig;
pub use retry::Retry;

use std::num::NonZeroU32;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::hooks::{Hook, HookEvent};
use crate::limits::Limits;
use crate::permissions::Permissions;
use crate::policy::{ContextPolicy, ExtractPolicy};
use crate::prices::{ModelPattern, PriceEntry};
use crate::workflow::WorkflowSupervisor;

pub use workspace::Workspace;

/// A value for each role of each workflow: workflow name → role → value.
pub type OfRoles<T> = IndexMap<String, IndexMap<String, T>>;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Where models are served, by name.
    #[serde(deserialize_with = "null_as_empty")]
    pub providers: IndexMap<String, Provider>,
    /// Models, by alias.
    #[serde(deserialize_with = "null_as_empty")]
    pub models: IndexMap<String, Model>,
    /// What models cost, in US dollars for a million tokens. It goes before the table that comes with the program.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub prices: IndexMap<ModelPattern, PriceEntry>,
    /// Agents, by alias.
    #[serde(deserialize_with = "null_as_empty")]
    pub agents: IndexMap<String, AgentConfig>,
    /// Servers of the Model Context Protocol, by name. Agents get the tools of those that they name.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub mcp_servers: IndexMap<String, McpServer>,
    /// The alias of the agent for every role without an override.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<String>,
    /// The alias of the model for every purpose without an override.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// How data may be extracted from answers; by a model, too, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extract: Option<ExtractPolicy>,
    /// How far any thread may go by itself.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Limits::is_empty"
    )]
    pub limits: Limits,
    /// The model that judges whether a thread goes on.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Supervisor::is_empty"
    )]
    pub supervisor: Supervisor,
    /// The model that summarizes threads.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Summary::is_empty"
    )]
    pub summary: Summary,
    /// How much of what happened prompts show.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "ContextPolicy::is_empty"
    )]
    pub context: ContextPolicy,
    /// Snapshots of the files that agents work on.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Snapshots::is_empty"
    )]
    pub snapshots: Snapshots,
    /// Where agents work.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Workspace::is_empty"
    )]
    pub workspace: Workspace,
    /// Where threads are shared.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "RemoteConfig::is_empty"
    )]
    pub remote: RemoteConfig,
    /// How many agents may work at once.
    #[serde(deserialize_with = "null_as_empty")]
    pub concurrency: Concurrency,
    /// How many threads may be above a child thread; [`MAX_DEPTH`](Self::MAX_DEPTH) if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<NonZeroU32>,
    /// The time that an agent and its descendants have to end after they were asked to, such as `5s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
    /// The commands that are told what became of a step.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub hooks: IndexMap<HookEvent, Hook>,
    /// Workflow name → role → agent alias.
    #[serde(deserialize_with = "null_as_empty")]
    pub agent_overrides: OfRoles<String>,
    /// Workflow name → role → what its agent may do, whatever the entry of the agent says.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub permission_overrides: OfRoles<Permissions>,
    /// Purpose → model alias.
    #[serde(deserialize_with = "null_as_empty")]
    pub model_overrides: IndexMap<String, String>,
}

impl Config {
    /// The purpose in `modelOverrides` of a model that extracts data from answers.
    pub const EXTRACT: &str = "extract";

    /// The purpose in `modelOverrides` of a model that works as an agent.
    pub const AGENT: &str = "agent";

    /// How many threads may be above a child thread, if the config does not say.
    pub const MAX_DEPTH: u32 = 3;

    /// Returns how many threads may be above a child thread.
    #[must_use]
    pub fn depth_limit(&self) -> u32 {
        self.max_depth.map_or(Self::MAX_DEPTH, NonZeroU32::get)
    }

    /// The purposes that `modelOverrides` may name.
    pub const PURPOSES: &[&str] = &[Self::EXTRACT, Self::AGENT];
}

/// How many agents may work at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Concurrency {
    /// All agents under one root; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_running: Option<NonZeroU32>,
}

/// The model that judges whether a thread goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Supervisor {
    /// It judges each time when so many more steps are done; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<NonZeroU32>,
    /// The alias of the model; that of agents over models if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long a verdict may take, such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl Supervisor {
    /// Returns the supervisor of the threads of a workflow. What the workflow says goes before what the config says.
    #[must_use]
    pub fn of(&self, workflow: Option<&WorkflowSupervisor>) -> Self {
        let model = workflow.and_then(|workflow| workflow.model.clone());
        Self {
            every: workflow.map(|workflow| workflow.every).or(self.every),
            model: model.or_else(|| self.model.clone()),
            timeout: self.timeout.clone(),
        }
    }

    /// How long a verdict may take if the config does not say, in seconds.
    pub const USUAL_SECONDS: u64 = 60;

    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The model that summarizes threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Summary {
    /// Whether a thread is summarized by itself when it is completed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// The alias of the model; that of agents over models if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long a summary may take, such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl Summary {
    /// How long a summary may take if the config does not say, in seconds.
    pub const USUAL_SECONDS: u64 = 120;

    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Snapshots of the files that agents work on, if they work in a git repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Snapshots {
    /// Whether they are taken; they are if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How large a file may be that git does not track, in MiB; [`USUAL_MIB`](Self::USUAL_MIB) if absent. A larger one is
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_mib: Option<NonZeroU32>,
}

impl Snapshots {
    /// How large a file may be that git does not track if the config does not say, in MiB.
    pub const USUAL_MIB: u32 = 10;

    /// Tells whether snapshots are taken.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Returns how large a file may be that git does not track, in bytes.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        let mib = self.max_file_mib.map_or(Self::USUAL_MIB, NonZeroU32::get);
        u64::from(mib) << 20
    }

    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where models are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provider {
    /// The base URL of an endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The key itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// The environment variable that holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Which API it speaks; [`Api::Chat`] if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
}

/// Which API an endpoint speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Chat completions, as OpenAI had them first and most servers have them.
    #[default]
    Chat,
    /// The Messages API of Anthropic.
    Messages,
    /// The Responses API of OpenAI.
    Responses,
}

/// A model of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    /// The provider's name in `providers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What the provider calls the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How to ask the endpoint for JSON; detected if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
}

/// How an endpoint is asked to answer with JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// By the schema that the answer must fit.
    JsonSchema,
    /// By asking for any JSON object.
    JsonObject,
    /// By the prompt alone.
    None,
}

/// How an agent is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentConfig {
    /// The program: a path, a name on PATH, or the name of a built-in adapter. An entry without one cannot be
    /// used, but does not spoil the file: entries are set key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments before the thread and the role.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub args: Vec<String>,
    /// What it may do without asking; what `args` or its tool's own settings say if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// How thread and role are passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<AgentProtocol>,
    /// How long a step may take, such as `2h`; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// How long the agent may print nothing, such as `10m`; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<String>,
    /// How many of this agent may work at once under one root; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_running: Option<NonZeroU32>,
    /// Whether processes that the agent leaves running when it succeeds may go on; they are ended if absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_running: bool,
    /// Variables of the agent's environment. They go before those of `.env` and of the surrounding environment.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub env: IndexMap<String, String>,
    /// The variables of `.env` that the agent gets; all of them if absent. Their values are masked in what is written of
    /// its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<String>>,
    /// Whether and when it is tried again after a failure.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Retry::is_empty"
    )]
    pub retry: Retry,
    /// The aliases of the agents that are tried when the attempts of this one are used up, in order.
    #[serde(
        default,
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub fallback: Vec<String>,
}

/// How thread and role are passed to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentProtocol {
    /// `<thread> <role>` after the arguments.
    Positional,
    /// `--thread <t> --role <r> --prompt <p>` after the arguments.
    Named,
}

/// Reads `null` like an absent key.
fn null_as_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
