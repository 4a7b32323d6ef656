//! The tools of servers of the Model Context Protocol, which the arguments of the agent name and the config describes.
//!
//! A server is a program of the user. It is started before the model is asked first, and ended with the attempt. What it says
//! is not trusted: it is bounded, and a server that fails gives the model an error text.

mod offer;
mod result;
mod server;
mod stderr;

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use uwf_agent_kit::llm::ToolSpec;
use uwf_agent_kit::{AdapterError, Task};
use uwf_config::secret::masked_arguments;
use uwf_protocol::config::{Config, McpServer};
use uwf_protocol::failure::FailureClass;
use uwf_storage::Env;
use uwf_util::mask::Masks;
use uwf_util::text::counted;
use uwf_util::{shell_words, suggest, time};

use super::LABEL;
use super::supervisor;
use super::tools::Commands;
use super::tools::environment::Variables;
use super::tools::workspace::Workspace;
use crate::progress;
use offer::{BETWEEN, Offered, Offers};
use server::{Problem, Server};

/// How long a server may take to start and to list its tools.
const START: Duration = Duration::from_secs(60);
/// How many pages of tools are asked for.
const MAX_PAGES: usize = 20;
/// The version of the protocol that we speak, and others that are the same to us.
const VERSION: &str = "2025-11-25";
const OLDER: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// The servers of an attempt.
pub(super) struct Servers {
    running: Vec<Running>,
    /// The servers that are named, but not for an agent with these permissions.
    withheld: Vec<String>,
    /// The secrets that no answer may show.
    masks: Masks,
}

/// A server with its tools.
struct Running {
    name: String,
    server: Server,
    tools: Vec<Offered>,
    /// How long one call may take.
    limit: Duration,
}

/// Where and with what servers are started.
pub(super) struct Start<'a> {
    pub(super) task: &'a Task,
    pub(super) env: &'a Env,
    pub(super) config: &'a Config,
    pub(super) workspace: &'a Workspace,
    /// The names of variables that no server gets unless its entry says so.
    pub(super) secret: &'a [String],
    /// When the time of the step is over.
    pub(super) deadline: Option<Instant>,
}

impl Servers {
    /// Starts the servers of these names, and asks each for its tools.
    ///
    /// # Errors
    /// When one is not in the config, does not start, or does not speak the protocol.
    pub(super) fn start(names: &[String], start: &Start<'_>) -> Result<Self, AdapterError> {
        let mut servers = Self {
            running: Vec::new(),
            withheld: Vec::new(),
            masks: start.task.masks.clone(),
        };
        let mut entries = Vec::new();
        for name in names {
            let entry = start.entry(name)?;
            if !entry.is_for(start.task.permissions) {
                servers.withheld.push(name.clone());
                continue;
            }
            // All are started before the first one is waited for: some take seconds.
            servers.running.push(start.running(name, entry)?);
            entries.push(entry);
        }
        let mut offers = Offers::default();
        for (running, entry) in servers.running.iter_mut().zip(entries) {
            let limit = start.left().map_or(START, |left| left.min(START));
            if let Err(problem) = running.introduce(limit, &mut offers) {
                return Err(start.did_not_start(&running.name, entry, &problem));
            }
            let tools = counted(running.tools.len() as u64, "tool");
            progress::line(
                LABEL,
                &format!("the MCP server `{}` has {tools}", running.name),
            );
        }
        Ok(servers)
    }

    /// Returns what the model may call.
    pub(super) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        let tools = self.running.iter().flat_map(|running| &running.tools);
        tools.map(|tool| &tool.spec)
    }

    /// Tells whether a tool of this name is offered.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.specs().any(|spec| spec.name == tool)
    }

    /// Tells whether a tool of this name would be that of a server that is withheld.
    pub(super) fn withholds(&self, tool: &str) -> bool {
        let mut withheld = self.withheld.iter();
        withheld.any(|server| {
            let of_server = tool.strip_prefix(server.as_str());
            of_server.is_some_and(|rest| rest.starts_with(BETWEEN))
        })
    }

    /// Calls a tool that is offered. `left` is the time that is left for the step.
    pub(super) fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
        left: Option<Duration>,
    ) -> Result<String, String> {
        let found = self.running.iter_mut().find_map(|running| {
            let offered = running.tools.iter().find(|one| one.spec.name == tool)?;
            Some((offered.name.clone(), running))
        });
        let (name, running) = found.ok_or_else(|| format!("there is no tool `{tool}`"))?;
        let params = json!({ "name": name, "arguments": arguments });
        let limit = left.map_or(running.limit, |left| left.min(running.limit));
        match running.server.ask("tools/call", &params, limit) {
            Ok(result) => result::text(&result, &self.masks),
            Err(Problem::Refused { message, .. }) => Err(message),
            Err(problem) => Err(format!("the MCP server `{}`: {problem}", running.name)),
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // All are asked before the first one is waited for.
        self.running.iter_mut().for_each(|one| one.server.close());
    }
}

impl Running {
    /// Opens the conversation, and asks for the tools.
    fn introduce(&mut self, limit: Duration, offers: &mut Offers) -> Result<(), String> {
        let until = Instant::now() + limit;
        let params = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": { "name": "uwf", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = self.ask("initialize", &params, until, limit)?;
        let version = answer["protocolVersion"].as_str().unwrap_or_default();
        if version != VERSION && !OLDER.contains(&version) {
            return Err(format!(
                "it speaks version `{version}` of the protocol, and `uwf` speaks {VERSION} and older ones"
            ));
        }
        self.server.tell("notifications/initialized", &json!({}));
        if answer["capabilities"]["tools"].is_null() {
            return Ok(());
        }
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let page = self.ask("tools/list", &params, until, limit)?;
            self.offer(&page, offers)?;
            let cursor = &page["nextCursor"];
            if cursor.is_null() {
                break;
            }
            params = json!({ "cursor": cursor });
        }
        Ok(())
    }

    /// Asks within a limit for all questions together, which the message about it names.
    fn ask(
        &mut self,
        method: &str,
        params: &Value,
        until: Instant,
        limit: Duration,
    ) -> Result<Value, String> {
        let left = until.saturating_duration_since(Instant::now());
        let answer = self.server.ask(method, params, left);
        answer.map_err(|problem| match problem {
            Problem::Late { method, noise, .. } => Problem::Late {
                method,
                limit,
                noise,
            }
            .to_string(),
            problem => problem.to_string(),
        })
    }

    fn offer(&mut self, page: &Value, offers: &mut Offers) -> Result<(), String> {
        let listed = page["tools"].as_array();
        let listed = listed.ok_or("its answer to `tools/list` has no `tools`")?;
        for tool in listed {
            match offers.offer(&self.name, tool) {
                Ok(offered) => self.tools.push(offered),
                Err(problem) => {
                    progress::line(LABEL, &format!("the MCP server `{}`: {problem}", self.name));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Start<'a> {
    /// Returns the entry of a server.
    fn entry(&self, name: &str) -> Result<&'a McpServer, AdapterError> {
        let servers = &self.config.mcp_servers;
        let entry = servers.get(name).ok_or_else(|| {
            let meant = suggest::question(name, servers.keys().map(String::as_str));
            let key = format!("mcpServers.{name}.command");
            AdapterError::not_started(format!(
                "`--mcp {name}` names no server: `{name}` is not in `mcpServers` of the config{meant}"
            ))
            .hint(format!("`uwf config set {key} <program>` adds it, and `uwf config list` shows those that there are"))
        })?;
        match McpServer::name_problem(name) {
            Some(problem) => Err(AdapterError::not_started(format!(
                "`mcpServers.{name}`: {problem}"
            ))
            .hint("`uwf config edit` opens the config")),
            None => Ok(entry),
        }
    }

    /// Starts a server.
    fn running(&self, name: &str, entry: &McpServer) -> Result<Running, AdapterError> {
        let program = self.program(name, entry)?;
        let broken = |error: String| {
            AdapterError::not_started(format!(
                "the MCP server `{name}` could not be started: {error}"
            ))
        };
        let variables = Variables {
            secret: self.secret.to_vec(),
            keep: entry.keep_env.clone(),
        };
        let folder = self.workspace.folder(".").map_err(broken)?;
        let args = [supervisor::SERVER, program].into_iter();
        let args: Vec<&str> = args.chain(entry.args.iter().map(String::as_str)).collect();
        let server = Commands::of(self.env, &variables)
            .0
            .start(&args, &entry.env, &folder)
            .and_then(|process| Server::of(name, process, &self.task.masks))
            .map_err(|error| broken(error.to_string()))?;
        let limit = entry.timeout.as_deref().and_then(time::parse_duration);
        Ok(Running {
            name: name.to_owned(),
            server,
            tools: Vec::new(),
            limit: limit.map_or(
                Duration::from_secs(McpServer::USUAL_SECONDS),
                Duration::from_millis,
            ),
        })
    }

    /// Returns the program of a server, which is looked for before it is started: so the message can say that it is missing.
    fn program<'e>(&self, name: &str, entry: &'e McpServer) -> Result<&'e str, AdapterError> {
        let hint =
            format!("`uwf config set mcpServers.{name}.command <program>` names another one");
        let Some(command) = entry.command.as_deref() else {
            let message = format!("the MCP server `{name}` has no `command`");
            return Err(AdapterError::not_started(message).hint(hint));
        };
        let is_there = match command.contains('/') {
            true => self.task.cwd.join(command).is_file(),
            false => self.env.find_program(command).is_some(),
        };
        if is_there {
            return Ok(command);
        }
        let message = format!("the program `{command}` of the MCP server `{name}` is not there");
        Err(AdapterError::not_started(message)
            .class(FailureClass::NotInstalled)
            .hint(format!("install `{command}`; {hint}")))
    }

    fn left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    fn did_not_start(&self, name: &str, entry: &McpServer, problem: &str) -> AdapterError {
        let command = entry.command.as_deref().unwrap_or_default();
        let args = masked_arguments(&entry.args);
        let words = std::iter::once(command).chain(args.iter().map(String::as_str));
        AdapterError::not_started(format!("the MCP server `{name}` cannot be used: {problem}"))
            .hint(format!(
                "`{}` in the folder of the step shows what it says; Ctrl-C ends it",
                shell_words::join(words)
            ))
    }
}
