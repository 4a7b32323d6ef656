//! Decides what `setup` writes for its answers. This is pure, so that flags and wizard give the same result.

use serde_json::json;
use uwf_agent_kit::llm::{Api, Endpoint, Secret};
use uwf_agents::{usual_limits, without_permissions};
use uwf_config::{Change, ConfigError};
use uwf_protocol::config::Config;
use uwf_protocol::permissions::Permissions;

use crate::args::SetupArgs;

/// The alias under which `setup` puts its model.
pub(super) const MODEL_ALIAS: &str = "default";

/// The answers, from flags or from the wizard.
pub(super) struct Answers {
    pub(super) model: Option<ModelAnswer>,
    /// The agent's name, with or without `uwf-`.
    pub(super) agent: String,
    /// What it may do without asking; `None` keeps what its entry says.
    pub(super) permissions: Option<Permissions>,
    pub(super) limits: LimitAnswers,
}

/// The limits of time that were named.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitAnswers {
    pub(super) timeout: Option<String>,
    pub(super) idle_timeout: Option<String>,
}

impl From<&SetupArgs> for LimitAnswers {
    fn from(args: &SetupArgs) -> Self {
        Self {
            timeout: args.timeout.clone(),
            idle_timeout: args.idle_timeout.clone(),
        }
    }
}

/// The program behind an agent's name, and its arguments.
pub(super) struct Behind {
    /// The name of the built-in adapter, if the program is one.
    pub(super) adapter: String,
    pub(super) args: Vec<String>,
    /// What its entry says that it may do.
    pub(super) permissions: Option<Permissions>,
}

impl Behind {
    /// Returns the program from the config, or from the name itself if the config does not know it.
    pub(super) fn of(agent: &str, config: &Config) -> Self {
        let known = config.agents.get(&alias_of(agent));
        let command = known.and_then(|known| known.command.clone());
        Self {
            adapter: alias_of(&command.unwrap_or_else(|| command_of(agent))),
            args: known.map(|known| known.args.clone()).unwrap_or_default(),
            permissions: known.and_then(|known| known.permissions),
        }
    }
}

/// Which model to use, and where.
pub(super) struct ModelAnswer {
    pub(super) provider: String,
    pub(super) base_url: String,
    pub(super) api: Api,
    pub(super) key: Key,
    /// What the provider calls the model.
    pub(super) model: String,
}

/// Where the key is.
pub(super) enum Key {
    /// The endpoint needs none.
    None,
    /// It is in a variable already.
    Variable {
        name: String,
        secret: Option<Secret>,
    },
    /// It goes into `.env`, under this name.
    Env { name: String, secret: Secret },
    /// It goes into the config.
    Config { secret: Secret },
}

/// The changes to write.
pub(super) struct SetupPlan {
    pub(super) changes: Vec<Change>,
    /// The variables for `.env`.
    pub(super) variables: Vec<(String, String)>,
    /// The agent's alias.
    pub(super) agent: String,
}

impl Key {
    pub(super) fn secret(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::Variable { secret, .. } => secret.as_ref(),
            Self::Env { secret, .. } | Self::Config { secret } => Some(secret),
        }
    }
}

impl ModelAnswer {
    /// Returns what a call of the model needs.
    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint {
            // Before a model is chosen, calls only list the models of the provider.
            alias: (!self.model.is_empty()).then(|| MODEL_ALIAS.to_owned()),
            provider: self.provider.clone(),
            model: self.model.clone(),
            api: self.api,
            base_url: self.base_url.clone(),
            key: self.key.secret().cloned(),
            format: None,
        }
    }
}

impl SetupPlan {
    /// Decides what to write. The provider and the model `default` are replaced. The agent is added if it is missing, and
    /// becomes the default agent. An existing default model stays.
    pub(super) fn new(answers: &Answers, config: &Config) -> Result<Self, ConfigError> {
        let mut plan = Self {
            changes: Vec::new(),
            variables: Vec::new(),
            agent: alias_of(&answers.agent),
        };
        if let Some(model) = &answers.model {
            plan.model(model, config)?;
        }
        let agent = plan.agent.clone();
        if !config.agents.contains_key(&agent) {
            let command = command_of(&answers.agent);
            plan.set(&["agents", &agent, "command"], &command);
        }
        let behind = Behind::of(&answers.agent, config);
        plan.limits(&answers.limits, &behind.adapter, config);
        if let Some(permissions) = answers.permissions {
            plan.set(&["agents", &agent, "permissions"], permissions.as_str());
            plan.drop_arguments(&agent, &behind);
        }
        plan.set(&["defaultAgent"], &agent);
        Ok(plan)
    }

    /// Takes out of an agent's arguments what its permissions say now.
    fn drop_arguments(&mut self, agent: &str, behind: &Behind) {
        let path = ["agents", agent, "args"];
        let others = without_permissions(&behind.adapter, &behind.args);
        if others.len() < behind.args.len() {
            self.changes.push(match others.is_empty() {
                true => Change::unset(&path),
                false => Change::set(&path, others),
            });
        }
    }

    fn model(&mut self, answer: &ModelAnswer, config: &Config) -> Result<(), ConfigError> {
        let name = &answer.provider;
        let checked = Change::parse(&format!("providers.{name}.baseUrl"), &answer.base_url)?;
        self.changes.push(checked);
        let old = config.providers.get(name);
        let path = ["providers", name, "api"];
        match answer.api {
            Api::Chat if old.is_some_and(|old| old.api.is_some()) => {
                self.changes.push(Change::unset(&path));
            }
            Api::Chat => {}
            api => self.changes.push(Change::set(&path, json!(api))),
        }
        let (key, variable) = match &answer.key {
            Key::None => (None, None),
            Key::Variable { name, .. } => (None, Some(name)),
            Key::Env { name, secret } => {
                self.variables
                    .push((name.clone(), secret.reveal().to_owned()));
                (None, Some(name))
            }
            Key::Config { secret } => (Some(secret.reveal()), None),
        };
        let had_key = old.is_some_and(|old| old.api_key.is_some());
        self.set_or_remove(&["providers", name, "apiKey"], key, had_key);
        let had_variable = old.is_some_and(|old| old.api_key_env.is_some());
        let variable = variable.map(String::as_str);
        self.set_or_remove(&["providers", name, "apiKeyEnv"], variable, had_variable);

        self.set(&["models", MODEL_ALIAS, "provider"], name);
        self.set(&["models", MODEL_ALIAS, "name"], &answer.model);
        let had_format = config.models.get(MODEL_ALIAS);
        let had_format = had_format.is_some_and(|old| old.response_format.is_some());
        self.set_or_remove(&["models", MODEL_ALIAS, "responseFormat"], None, had_format);
        if config.default_model.is_none() {
            self.set(&["defaultModel"], MODEL_ALIAS);
        }
        Ok(())
    }

    /// Sets the limits of time that were named. An agent that is new gets the usual ones for the others; what is there stays.
    fn limits(&mut self, named: &LimitAnswers, adapter: &str, config: &Config) {
        let agent = self.agent.clone();
        let is_new = !config.agents.contains_key(&agent);
        let usual = usual_limits(adapter).filter(|_| is_new);
        let timeout = usual.map(|usual| usual.timeout);
        let idle = usual.and_then(|usual| usual.idle_timeout);
        for (key, named, usual) in [
            ("timeout", &named.timeout, timeout),
            ("idleTimeout", &named.idle_timeout, idle),
        ] {
            if let Some(limit) = named.as_deref().or(usual) {
                self.set(&["agents", &agent, key], limit);
            }
        }
    }

    fn set(&mut self, path: &[&str], value: &str) {
        self.changes.push(Change::set(path, value));
    }

    fn set_or_remove(&mut self, path: &[&str], value: Option<&str>, is_there: bool) {
        match value {
            Some(value) => self.set(path, value),
            None if is_there => self.changes.push(Change::unset(path)),
            None => {}
        }
    }
}

/// Returns the name in `agents` for what was typed: a name, with or without `uwf-`, or a path.
pub(super) fn alias_of(agent: &str) -> String {
    let name = agent.rsplit('/').next().unwrap_or(agent);
    name.strip_prefix("uwf-").unwrap_or(name).to_owned()
}

fn command_of(agent: &str) -> String {
    if agent.contains('/') {
        return agent.to_owned();
    }
    format!("uwf-{}", alias_of(agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(key: Key) -> Answers {
        Answers {
            model: Some(ModelAnswer {
                provider: "p".to_owned(),
                base_url: "http://h/v1".to_owned(),
                api: Api::Chat,
                key,
                model: "m".to_owned(),
            }),
            agent: "uwf-hermes".to_owned(),
            permissions: None,
            limits: LimitAnswers::default(),
        }
    }

    fn config(value: serde_json::Value) -> Config {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_new_config_gets_all_of_it() {
        let secret = Secret::new("k");
        let name = "P_KEY".to_owned();
        let plan = SetupPlan::new(&answers(Key::Env { name, secret }), &Config::default()).unwrap();
        let expected = [
            Change::set(&["providers", "p", "baseUrl"], "http://h/v1"),
            Change::set(&["providers", "p", "apiKeyEnv"], "P_KEY"),
            Change::set(&["models", "default", "provider"], "p"),
            Change::set(&["models", "default", "name"], "m"),
            Change::set(&["defaultModel"], "default"),
            Change::set(&["agents", "hermes", "command"], "uwf-hermes"),
            Change::set(&["agents", "hermes", "timeout"], "2h"),
            Change::set(&["defaultAgent"], "hermes"),
        ];
        assert_eq!(plan.changes, expected);
        assert_eq!(plan.variables, [("P_KEY".to_owned(), "k".to_owned())]);
    }

    #[test]
    fn what_is_there_is_replaced_or_stays() {
        let config = config(json!({
            "providers": { "p": { "apiKeyEnv": "OLD" } },
            "models": { "default": { "responseFormat": "none" } },
            "agents": { "hermes": { "command": "mine" } },
            "defaultModel": "other",
        }));
        let secret = Secret::new("k");
        let plan = SetupPlan::new(&answers(Key::Config { secret }), &config).unwrap();
        let has = |change: Change| plan.changes.contains(&change);
        assert!(has(Change::set(&["providers", "p", "apiKey"], "k")));
        assert!(has(Change::unset(&["providers", "p", "apiKeyEnv"])));
        assert!(has(Change::unset(&["models", "default", "responseFormat"])));
        let keeps = |key: &str| plan.changes.iter().all(|change| change.path[0] != key);
        assert!(keeps("agents") && keeps("defaultModel"));
        assert!(plan.variables.is_empty());
    }

    #[test]
    fn what_an_agent_may_do_is_written_and_its_arguments_say_nothing_else() {
        let config = config(json!({ "agents": {
            "claude": { "command": "uwf-claude-code", "args": ["--model", "m", "--permission-mode", "plan"] },
            "codex": { "command": "uwf-codex", "args": ["--sandbox=read-only"] },
        } }));
        let check = |agent: &str, args: Option<Change>| {
            let answers = Answers {
                model: None,
                agent: agent.to_owned(),
                permissions: Some(Permissions::Edit),
                limits: LimitAnswers::default(),
            };
            let changes = SetupPlan::new(&answers, &config).unwrap().changes;
            let permissions = Change::set(&["agents", agent, "permissions"], "edit");
            assert!(changes.contains(&permissions), "{agent}");
            let mut of_args = changes.into_iter();
            let of_args = of_args.find(|change| change.path.last().is_some_and(|it| it == "args"));
            assert_eq!(of_args, args, "{agent}");
        };
        let others = vec!["--model", "m"];
        check(
            "claude",
            Some(Change::set(&["agents", "claude", "args"], others)),
        );
        check("codex", Some(Change::unset(&["agents", "codex", "args"])));
        check("gemini", None);
    }

    #[test]
    fn a_new_agent_gets_limits_of_time_and_another_one_only_those_that_were_named() {
        let known = config(json!({
            "agents": { "codex": { "command": "uwf-codex", "timeout": "5m" } },
        }));
        let check = |agent: &str, timeout: Option<&str>, expected: &[(&str, &str)]| {
            let answers = Answers {
                model: None,
                agent: agent.to_owned(),
                permissions: None,
                limits: LimitAnswers {
                    timeout: timeout.map(str::to_owned),
                    idle_timeout: None,
                },
            };
            let plan = SetupPlan::new(&answers, &known).unwrap();
            let alias = alias_of(agent);
            let expected: Vec<Change> = expected
                .iter()
                .map(|(key, value)| Change::set(&["agents", &alias, key], *value))
                .collect();
            let is_limit = |change: &Change| {
                change
                    .path
                    .last()
                    .is_some_and(|key| key.to_lowercase().ends_with("timeout"))
            };
            let found: Vec<Change> = plan.changes.into_iter().filter(is_limit).collect();
            assert_eq!(found, expected, "{agent}");
        };
        check(
            "claude-code",
            None,
            &[("timeout", "2h"), ("idleTimeout", "45m")],
        );
        check(
            "claude-code",
            Some("1h"),
            &[("timeout", "1h"), ("idleTimeout", "45m")],
        );
        check("command", None, &[("timeout", "2h")]);
        check("/opt/uwf-mine", None, &[("timeout", "2h")]);
        check("mock", None, &[]);
        check("codex", None, &[]);
        check("codex", Some("1h"), &[("timeout", "1h")]);
    }

    #[test]
    fn an_agent_is_a_name_or_a_path() {
        for (typed, alias, command) in [
            ("hermes", "hermes", "uwf-hermes"),
            ("uwf-hermes", "hermes", "uwf-hermes"),
            ("/opt/uwf-mine", "mine", "/opt/uwf-mine"),
        ] {
            assert_eq!(alias_of(typed), alias);
            assert_eq!(command_of(typed), command);
        }
    }
}
