//! Shows what each agent may do without asking, and what that means for its tool; finds agents that cannot keep to it.

use uwf_agents::{Keeping, keeping, leaves_open, said, with_permissions};
use uwf_protocol::config::{AgentConfig, Config};
use uwf_protocol::permissions::Permissions;

use crate::text::Check;

const NAME: &str = "permissions";

pub(super) fn look(config: &Config) -> Vec<Check> {
    let of_agents = config.agents.iter();
    let of_agents = of_agents.flat_map(|(alias, agent)| of_agent(alias, agent));
    of_agents.chain(of_roles(config)).collect()
}

/// Returns the built-in adapter that an agent is, if it is one.
pub(super) fn adapter(agent: &AgentConfig) -> Option<&str> {
    let file = agent.command.as_deref()?.rsplit('/').next()?;
    let name = file.strip_prefix("uwf-")?;
    uwf_agents::BUILT_IN.contains(&name).then_some(name)
}

/// Checks one agent. An agent without a command is reported with the config.
fn of_agent(alias: &str, agent: &AgentConfig) -> Vec<Check> {
    let checks = match (agent.permissions, adapter(agent)) {
        (None, None) => Vec::new(),
        (None, Some(adapter)) => without(alias, adapter, &agent.args),
        (Some(permissions), None) => vec![Check::ok(
            NAME,
            format!("{}, if it keeps to UWF_PERMISSIONS", meant(permissions)),
        )],
        (Some(permissions), Some(adapter)) => with(alias, adapter, &agent.args, permissions),
    };
    checks.into_iter().map(|check| check.of(alias)).collect()
}

/// Checks an agent whose entry has no permissions.
fn without(alias: &str, adapter: &str, args: &[String]) -> Vec<Check> {
    let said = said(adapter, args);
    if leaves_open(adapter, args) {
        return vec![Check::warning(
            NAME,
            "nothing says what it may do: unless its own settings do, it refuses to edit files and to run commands",
            format!("`uwf setup --agent {alias} --permissions edit`, or `read`, `run` or `all`"),
        )];
    }
    match said.is_empty() {
        true => Vec::new(),
        false => vec![Check::ok(
            NAME,
            format!("its `args` say what it may do: `{}`", said.join(" ")),
        )],
    }
}

/// Checks an agent whose entry has permissions.
fn with(alias: &str, adapter: &str, args: &[String], permissions: Permissions) -> Vec<Check> {
    if let Err(error) = with_permissions(adapter, args, permissions) {
        return vec![Check::error(
            NAME,
            format!("no step can be done: {error}"),
            format!("or `uwf config unset agents.{alias}.permissions`: then its program decides"),
        )];
    }
    let meant = meant(permissions);
    let means = match keeping(adapter, args, permissions) {
        Some(Keeping::Options(options)) => format!("{meant}: `{}`", options.join(" ")),
        Some(Keeping::NoTools) => format!("{meant}, but it has no tools"),
        Some(Keeping::HandedOn) | None => format!("{meant}, if its program keeps to them"),
    };
    let own = said(adapter, args);
    let mut checks = vec![Check::ok(NAME, means)];
    if !own.is_empty() {
        checks.push(Check::warning(
            NAME,
            format!(
                "its `args` say something about permissions, too; `permissions` replaces that: `{}`",
                own.join(" ")
            ),
            format!("`uwf setup --agent {alias} --permissions {permissions}` takes it out of them"),
        ));
    }
    checks
}

fn meant(permissions: Permissions) -> String {
    format!("`{permissions}`, {}", permissions.about())
}

/// Finds the roles whose agent cannot keep to what the config says about the role.
fn of_roles(config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    for (workflow, roles) in &config.permission_overrides {
        let agents = config.agent_overrides.get(workflow);
        for (role, permissions) in roles {
            let chosen = agents.and_then(|agents| agents.get(role));
            let alias = chosen.or(config.default_agent.as_ref());
            let agent = alias.and_then(|alias| config.agents.get(alias));
            let kept = agent.and_then(|agent| {
                with_permissions(adapter(agent)?, &agent.args, *permissions).err()
            });
            checks.extend(kept.map(|error| {
                let key = format!("permissionOverrides.{workflow}.{role}");
                let hint = format!("or `uwf config unset {key}`");
                Check::error(NAME, format!("no step can be done: {error}"), hint).of(key)
            }));
        }
    }
    checks
}
