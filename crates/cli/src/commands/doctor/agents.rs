//! Checks the agents of the config: whether they can start, and their versions.

use std::path::PathBuf;

use uwf_agents::{LaunchTarget, launch_target};
use uwf_engine::Site;
use uwf_protocol::config::{AgentConfig, Config};

use super::version;
use crate::commands::setup::agents::is_program;
use crate::text::Check;

const NAME: &str = "agent";

pub(super) fn look(site: &Site, config: &Config) -> Vec<Check> {
    let agents = config.agents.iter();
    let mut checks: Vec<Check> = agents
        .filter_map(|(alias, agent)| Some(one(site, alias, agent)?.of(alias)))
        .collect();
    for (alias, agent) in &config.agents {
        checks.extend(no_limit(alias, agent).map(|check| check.of(alias)));
    }
    if config.default_agent.is_none() {
        checks.push(Check::warning(
            NAME,
            "there is no default agent",
            "`uwf setup --agent <name>` or `uwf config set defaultAgent <alias>` chooses one",
        ));
    }
    checks
}

/// Checks one agent. An agent without a command is reported with the config.
fn one(site: &Site, alias: &str, agent: &AgentConfig) -> Option<Check> {
    let command = agent.command.as_deref()?;
    let file = command.rsplit('/').next().unwrap_or(command);
    let adapter = file.strip_prefix("uwf-");
    let adapter = adapter.filter(|name| uwf_agents::BUILT_IN.contains(name));
    let found = site.env.find_program(command);
    // A link to this program under an adapter's name is that adapter.
    let ours = site.env.program().canonicalize().ok();
    let is_ours = |path: &PathBuf| ours.is_some() && path.canonicalize().ok() == ours;
    Some(match (adapter, found) {
        (Some(adapter), found) if found.as_ref().is_none_or(is_ours) => {
            built_in(site, adapter, agent)
        }
        (_, Some(program)) if !program.is_file() => missing(alias, command),
        (_, Some(program)) if !is_program(&program) => Check::error(
            NAME,
            format!("the program `{command}` is not executable"),
            format!("chmod +x {}", program.display()),
        ),
        // A script may start to work whatever its arguments are, so it is not asked for its version.
        (_, Some(program)) if !file.starts_with("uwf-") => {
            Check::ok(NAME, program.display().to_string())
        }
        (_, Some(program)) => match version::of(&program) {
            Ok(version) => Check::ok(NAME, format!("{} ({version})", program.display())),
            Err(problem) => Check::warning(
                NAME,
                format!("{}: {problem}", program.display()),
                "run it by hand; it may work all the same",
            ),
        },
        (_, None) => missing(alias, command),
    })
}

/// Warns of an agent that may work for ever: it drives a tool, and nothing limits its time.
fn no_limit(alias: &str, agent: &AgentConfig) -> Option<Check> {
    let file = agent.command.as_deref()?.rsplit('/').next()?;
    let adapter = file.strip_prefix("uwf-")?;
    let drives_tool = matches!(launch_target(adapter, &agent.args), LaunchTarget::Tool(_));
    let own = agent.args.iter().take_while(|arg| *arg != "--");
    let has_own = own.into_iter().any(|arg| arg.starts_with("--timeout"));
    let is_limited = agent.timeout.is_some() || agent.idle_timeout.is_some() || has_own;
    (drives_tool && !is_limited).then(|| {
        Check::warning(
            NAME,
            "it has no limit of time: if it hangs, so does its thread",
            format!("`uwf config set agents.{alias}.timeout 2h`; `agents.{alias}.idleTimeout` limits the time without output"),
        )
    })
}

fn missing(alias: &str, command: &str) -> Check {
    Check::error(
        NAME,
        format!("the program `{command}` is not there"),
        format!("install it, or fix `agents.{alias}.command` with `uwf config set`"),
    )
}

fn built_in(site: &Site, adapter: &str, agent: &AgentConfig) -> Check {
    let ours = format!("built in (uwf {})", env!("CARGO_PKG_VERSION"));
    let (tool, is_known) = match launch_target(adapter, &agent.args) {
        LaunchTarget::Tool(tool) => (tool, true),
        LaunchTarget::Program(program) => (program, false),
        LaunchTarget::Model | LaunchTarget::Unknown => return Check::ok(NAME, ours),
    };
    let found = site.env.find_program(&tool).filter(|path| path.is_file());
    let is_relative = tool.contains('/') && !tool.starts_with('/');
    let Some(path) = found else {
        if is_relative {
            return Check::warning(
                NAME,
                format!("{ours}, drives `{tool}`, which is not in this folder"),
                "it is looked for in the folder of each step; look from there, or give its whole path",
            );
        }
        return Check::error(
            NAME,
            format!("{ours}, but `{tool}`, which it drives, is not there"),
            format!("install `{tool}`, or choose another agent with `uwf setup --agent <name>`"),
        );
    };
    if !is_program(&path) {
        let problem = format!("{ours}, but `{tool}`, which it drives, is not executable");
        return Check::error(NAME, problem, format!("chmod +x {}", path.display()));
    }
    // A program of the user may do anything when it runs, so it is not asked for its version.
    if !is_known {
        return Check::ok(NAME, format!("{ours}, drives {}", path.display()));
    }
    match version::of(&path) {
        Ok(version) => Check::ok(
            NAME,
            format!("{ours}, drives {} ({version})", path.display()),
        ),
        Err(problem) => Check::warning(
            NAME,
            format!("{ours}, drives {}: {problem}", path.display()),
            format!("run `{tool} --version` by hand"),
        ),
    }
}
