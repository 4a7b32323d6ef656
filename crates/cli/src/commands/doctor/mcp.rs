//! Checks the MCP servers of the config: whether their programs are there, and whether the agents that name them get their
//! tools. No server is started.

use uwf_agents::mcp_servers;
use uwf_engine::Site;
use uwf_protocol::config::{AgentConfig, Config, McpServer};
use uwf_util::suggest;

use super::permissions::adapter;
use crate::commands::setup::agents::is_program;
use crate::text::Check;

const NAME: &str = "mcp";

pub(super) fn look(site: &Site, config: &Config) -> Vec<Check> {
    let servers = config.mcp_servers.iter();
    let servers = servers.filter_map(|(name, server)| Some(program(site, name, server)?.of(name)));
    let agents = config.agents.iter();
    let agents = agents.flat_map(|(alias, agent)| of_agent(config, alias, agent));
    servers.chain(agents).collect()
}

/// Checks the program of a server. A server without one is reported with the config.
fn program(site: &Site, name: &str, server: &McpServer) -> Option<Check> {
    let command = server.command.as_deref()?;
    let fix = format!("fix `mcpServers.{name}.command` with `uwf config set`");
    let found = site.env.find_program(command);
    let found = found.filter(|path| path.is_file());
    Some(match found {
        Some(path) if is_program(&path) => Check::ok(NAME, path.display().to_string()),
        Some(path) => Check::error(
            NAME,
            format!("the program `{command}` is not executable"),
            format!("chmod +x {}", path.display()),
        ),
        None if command.contains('/') && !command.starts_with('/') => Check::warning(
            NAME,
            format!("the program `{command}` is not in this folder"),
            format!("it is looked for in the folder of each step; look from there, or {fix}"),
        ),
        None => Check::error(
            NAME,
            format!("the program `{command}` is not there"),
            format!("install it, or {fix}"),
        ),
    })
}

/// Checks the servers that an agent names.
fn of_agent(config: &Config, alias: &str, agent: &AgentConfig) -> Vec<Check> {
    let named = adapter(agent).map(|adapter| mcp_servers(adapter, &agent.args));
    let named = named.unwrap_or_default().into_iter();
    let problem = |name: String| {
        let Some(server) = config.mcp_servers.get(&name) else {
            let known = config.mcp_servers.keys().map(String::as_str);
            let meant = suggest::question(&name, known);
            return Some(Check::error(
                NAME,
                format!("its `args` name `{name}`, which is not in `mcpServers`{meant}"),
                format!("`uwf config set mcpServers.{name}.command <program>` adds it"),
            ));
        };
        if server.is_for(agent.permissions) {
            return None;
        }
        let least = server.permissions.unwrap_or(McpServer::USUAL);
        let has = agent.permissions?;
        Some(Check::warning(
            NAME,
            format!("it gets no tools of `{name}`: these are for `{least}`, and it may do `{has}`"),
            format!(
                "if they do no more than that: `uwf config set mcpServers.{name}.permissions {has}`"
            ),
        ))
    };
    named
        .filter_map(problem)
        .map(|check| check.of(alias))
        .collect()
}
