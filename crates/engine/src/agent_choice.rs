//! Which agent a role gets, and what that may do: by the command line, else by the config's override for the role, else by
//! the config's default or the agent's own entry. Finding its program is not done here.

use uwf_config::secret;
use uwf_protocol::config::{AgentConfig, Config};
use uwf_protocol::ids::RoleName;
use uwf_protocol::permissions::Permissions;
use uwf_protocol::run::ChosenAgent;
use uwf_util::shell_words;

/// What the command line chooses for the agent of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentChoice {
    /// An alias of the config, or a command line, split as a shell splits it.
    pub agent: Option<String>,
    /// What the agent may do.
    pub permissions: Option<Permissions>,
}

impl AgentChoice {
    /// Returns the options that say the same, quoted for a shell, each with a blank before it.
    #[must_use]
    pub fn options(&self) -> String {
        let agent = self.agent.as_ref();
        let agent = agent.map(|agent| format!(" --agent {}", shell_words::quote(agent)));
        let permissions = self.permissions.map(|it| format!(" --permissions {it}"));
        agent.into_iter().chain(permissions).collect()
    }
}

impl From<ChosenAgent> for AgentChoice {
    fn from(chosen: ChosenAgent) -> Self {
        Self {
            agent: chosen.option,
            permissions: chosen.permissions_option,
        }
    }
}

/// The agent that a role gets, so far as the config and the command line tell it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlannedAgent {
    /// Its command in the form of [`ChosenAgent::command`].
    pub(crate) command: Vec<String>,
    /// What it may do, if anything says so.
    pub(crate) permissions: Option<Permissions>,
}

/// Returns the alias that the config has for a role.
pub(crate) fn alias_for<'a>(
    config: &'a Config,
    workflow: &str,
    role: &RoleName,
) -> Option<&'a str> {
    let of_role = config
        .agent_overrides
        .get(workflow)
        .and_then(|roles| roles.get(role.as_str()));
    of_role
        .or(config.default_agent.as_ref())
        .map(String::as_str)
}

/// Returns what the agent of a role may do, if anything says so: the call goes before the role, and the role before the
/// entry of the agent. `agent` is `None` for an agent that has no entry.
pub(crate) fn permissions_for(
    config: &Config,
    choice: &AgentChoice,
    agent: Option<&AgentConfig>,
    workflow: &str,
    role: &RoleName,
) -> Option<Permissions> {
    let roles = config.permission_overrides.get(workflow);
    let of_role = roles.and_then(|roles| roles.get(role.as_str()));
    let of_agent = agent.and_then(|agent| agent.permissions);
    choice.permissions.or(of_role.copied()).or(of_agent)
}

/// Returns the agent that a role gets; `None` if no agent can be found.
pub(crate) fn planned_for(
    config: &Config,
    choice: &AgentChoice,
    workflow: &str,
    role: &RoleName,
) -> Option<PlannedAgent> {
    let said = choice.agent.as_deref();
    let word = said.or_else(|| alias_for(config, workflow, role))?;
    let agent = config.agents.get(word);
    let command = match (agent, said) {
        (Some(agent), _) => command(agent.command.as_deref()?, &agent.args),
        (None, Some(line)) => {
            let words = shell_words::split(line).ok()?;
            let (label, args) = words.split_first()?;
            command(label, args)
        }
        (None, None) => return None,
    };
    Some(PlannedAgent {
        command,
        permissions: permissions_for(config, choice, agent, workflow, role),
    })
}

/// Returns the record of an agent that is about to be started.
pub(crate) fn chosen(
    choice: &AgentChoice,
    label: &str,
    args: &[String],
    permissions: Option<Permissions>,
) -> ChosenAgent {
    ChosenAgent {
        option: choice.agent.clone(),
        permissions_option: choice.permissions,
        permissions,
        command: command(label, args),
    }
}

/// Returns a command without the secrets in it.
fn command(label: &str, args: &[String]) -> Vec<String> {
    let mut words = vec![label.to_owned()];
    words.extend(secret::masked_arguments(args));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        serde_json::from_value(serde_json::json!({
            "defaultAgent": "tool",
            "agents": {
                "tool": { "command": "uwf-command", "args": ["--", "t", "--token", "s3cret"] },
                "editor": { "command": "e", "permissions": "edit" },
            },
            "permissionOverrides": { "review": { "judge": "read" } },
        }))
        .unwrap()
    }

    fn planned(choice: &AgentChoice, role: &str) -> Option<PlannedAgent> {
        planned_for(&config(), choice, "review", &role.parse().unwrap())
    }

    fn says(agent: Option<&str>, permissions: Option<Permissions>) -> AgentChoice {
        AgentChoice {
            agent: agent.map(str::to_owned),
            permissions,
        }
    }

    fn command_of(agent: Option<&str>) -> Option<String> {
        Some(planned(&says(agent, None), "writer")?.command.join(" "))
    }

    #[test]
    fn the_call_goes_before_the_role_and_the_role_before_the_agent() {
        use Permissions::{All, Edit, Read};
        for (agent, call, role, expected) in [
            (Some("editor"), None, "writer", Some(Edit)),
            (Some("editor"), None, "judge", Some(Read)),
            (Some("editor"), Some(All), "judge", Some(All)),
            (Some("e"), None, "writer", None),
            (Some("e"), None, "judge", Some(Read)),
            (None, None, "writer", None),
        ] {
            let planned = planned(&says(agent, call), role).unwrap();
            assert_eq!(planned.permissions, expected, "{agent:?} {call:?} {role}");
        }
    }

    #[test]
    fn a_choice_is_repeated_by_its_options() {
        let both = says(Some("a b"), Some(Permissions::Read));
        assert_eq!(both.options(), " --agent 'a b' --permissions read");
        assert_eq!(AgentChoice::default().options(), "");
    }

    #[test]
    fn an_alias_and_its_command_line_are_the_same_agent_and_secrets_do_not_count() {
        let by_default = command_of(None).unwrap();
        assert!(!by_default.contains("s3cret"), "{by_default}");
        for same in ["tool", "uwf-command -- t --token s3cret"] {
            assert_eq!(command_of(Some(same)).unwrap(), by_default);
        }
        assert_ne!(command_of(Some("uwf-command -- u")).unwrap(), by_default);
        assert_eq!(command_of(Some("it's")), None);
    }
}
