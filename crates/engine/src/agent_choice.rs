//! Which agent a role gets: by the command line, else by the config's override, else by the config's default. Finding its
//! program is not done here.

use uwf_config::secret;
use uwf_protocol::config::Config;
use uwf_protocol::ids::RoleName;
use uwf_protocol::run::ChosenAgent;
use uwf_util::shell_words;

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

/// Returns the command of the agent that a role gets, in the form of [`ChosenAgent::command`]; `None` if no agent can be
/// found. `choice` is an alias of the config, or a command line.
pub(crate) fn command_for(
    config: &Config,
    choice: Option<&str>,
    workflow: &str,
    role: &RoleName,
) -> Option<Vec<String>> {
    let word = choice.or_else(|| alias_for(config, workflow, role))?;
    match (config.agents.get(word), choice) {
        (Some(agent), _) => Some(command(agent.command.as_deref()?, &agent.args)),
        (None, Some(line)) => {
            let words = shell_words::split(line).ok()?;
            let (label, args) = words.split_first()?;
            Some(command(label, args))
        }
        (None, None) => None,
    }
}

/// Returns the record of a choice. `option` is the choice of the command line.
pub(crate) fn chosen(option: Option<&str>, label: &str, args: &[String]) -> ChosenAgent {
    ChosenAgent {
        option: option.map(str::to_owned),
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
            "agents": { "tool": { "command": "uwf-command", "args": ["--", "t", "--token", "s3cret"] } },
        }))
        .unwrap()
    }

    fn command_of(choice: Option<&str>) -> Option<String> {
        let command = command_for(&config(), choice, "review", &"writer".parse().unwrap());
        command.map(|words| words.join(" "))
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
