//! `uwf setup`: configures a model and an agent. Flags give the answers; on a terminal the wizard asks for the others.
//! `plan` decides what is written.

pub(crate) mod agents;
mod plan;
pub(crate) mod presets;
mod terminal;
mod wizard;

use std::io::IsTerminal;

use uwf_agent_kit::llm::{CallLimits, Client, LlmError, Secret, with_code};
use uwf_agents::{CannotKeep, LaunchTarget, launch_target, leaves_open, with_permissions};
use uwf_config::load_dotenv;
use uwf_protocol::config::Config;
use uwf_protocol::endpoint;
use uwf_protocol::exit::Exit;
use uwf_protocol::permissions::Permissions;
use uwf_storage::{Env, Root};
use uwf_util::suggest;

use crate::args::SetupArgs;
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::input::read_stdin;
use crate::output::{Format, print};
use crate::text::{SetupView, Validation};
use plan::{Answers, Behind, Key, ModelAnswer, SetupPlan};
use terminal::Terminal;

/// The environment and the config before `setup` changes anything.
struct Setting<'a> {
    env: &'a Env,
    root: &'a Root,
    config: Config,
    /// The variables of `.env`.
    dotenv: Vec<(String, String)>,
    built_in: &'static [&'static str],
}

impl Setting<'_> {
    /// Returns a variable as agents see it: the environment has priority over `.env`.
    fn variable(&self, name: &str) -> Option<String> {
        let in_file = || self.dotenv.iter().find(|(known, _)| known == name);
        let value = match self.env.var(name) {
            Some(value) => value,
            None => &in_file()?.1,
        };
        (!value.is_empty()).then(|| value.to_owned())
    }
}

pub(crate) fn run(context: &Context, args: &SetupArgs) -> Result<Exit, Failure> {
    let site = context.site();
    let setting = Setting {
        env: &site.env,
        root: &site.root,
        // An unreadable config fails here, before anything is asked or written.
        config: uwf_config::load(&site.root)?.unwrap_or_default(),
        dotenv: load_dotenv(&site.root)?,
        built_in: uwf_agents::BUILT_IN,
    };
    let has_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let only_agent = is_only_agent(args);
    if !only_agent && !has_terminal {
        require_all(args, &setting)?;
    }
    if args.api_key.as_deref().is_some_and(|key| key != "-") {
        warn(
            "a key on the command line is visible in process lists and kept in the shell's history; `--api-key -` reads it from standard input",
        );
    }
    let terminal = if has_terminal {
        let guard = Terminal::guard();
        Some(guard.map_err(|error| Failure::request("the terminal cannot be used").cause(&error))?)
    } else {
        None
    };
    let answers = match &terminal {
        Some(_) if !only_agent => wizard::ask(args, &setting)?,
        Some(_) => {
            let answers = of_flags(args, &setting)?;
            let permissions = wizard::ask_permissions(args, &setting, &answers.agent)?;
            Answers {
                permissions,
                ..answers
            }
        }
        None => of_flags(args, &setting)?,
    };
    warn_of_agent(&answers, &setting);
    let plan = SetupPlan::new(&answers, &setting.config)?;
    write(&setting, &plan, terminal.as_ref())?;
    let validation = answers
        .model
        .as_ref()
        .map(|model| probe(model, setting.env));
    if let Some(Err(error)) = &validation
        && context.format != Format::Text
    {
        let error = with_code(&error.to_string(), error.code());
        warn(&format!("the test call failed: {error}"));
    }
    print(
        &view(&setting, &answers, plan, validation.as_ref()),
        context.format,
    )?;
    Ok(Exit::Done)
}

fn is_only_agent(args: &SetupArgs) -> bool {
    let of_model = [
        &args.provider,
        &args.base_url,
        &args.api_key,
        &args.api_key_env,
        &args.model,
    ];
    let of_agent = [&args.agent, &args.timeout, &args.idle_timeout];
    let names_agent = of_agent.iter().any(|flag| flag.is_some()) || args.permissions.is_some();
    names_agent && of_model.iter().all(|flag| flag.is_none())
}

/// Fails if a flag is missing, because without a terminal nobody can be asked.
fn require_all(args: &SetupArgs, setting: &Setting) -> Result<(), Failure> {
    let mut missing = Vec::new();
    let mut hint =
        "`uwf setup --help` tells what they mean; on a terminal it asks for them".to_owned();
    if args.provider.is_none() {
        missing.push("`--provider`");
    }
    let base_url = base_url(args)?;
    if let (None, Some(provider)) = (&base_url, &args.provider) {
        missing.push("`--base-url` (the provider is not a preset)");
        let why = presets::no_preset(provider);
        hint = format!("{why} (presets: {})", presets::names());
    }
    if args.model.is_none() {
        missing.push("`--model`");
    }
    let provider = args.provider.as_deref().unwrap_or_default();
    let known = setting.variable(&presets::key_variable(provider)).is_some();
    let free = base_url.is_some_and(|url| endpoint::is_loopback(&url));
    if args.api_key.is_none() && args.api_key_env.is_none() && !known && !free {
        missing.push("`--api-key` or `--api-key-env`");
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "without a terminal, `uwf setup` needs {}",
        missing.join(", ")
    ))
    .hint(hint))
}

/// Returns the address of the provider from the flags, or from its preset.
fn base_url(args: &SetupArgs) -> Result<Option<String>, Failure> {
    if let Some(url) = &args.base_url {
        return Ok(Some(address("`--base-url`", url)?));
    }
    let preset = args.provider.as_deref().and_then(presets::base_url_of);
    Ok(preset.map(ToOwned::to_owned))
}

/// Returns an address in the form that calls use. The failure names it by `what` and does not quote it, because it may
/// contain a password.
fn address(what: &str, text: &str) -> Result<String, Failure> {
    let failure = |problem| {
        let failure = Failure::request(format!("{what}: {problem}"));
        failure.hint(if text.contains("://") {
            "it is like `https://host/v1`"
        } else {
            "put `https://` before it, or `http://` if the server is on this machine"
        })
    };
    let url = endpoint::base_url(text).map_err(failure)?;
    Ok(url.to_owned())
}

fn of_flags(args: &SetupArgs, setting: &Setting) -> Result<Answers, Failure> {
    let agent = match &args.agent {
        Some(agent) => agent_named(agent)?,
        None => default_agent(setting),
    };
    if !is_known_agent(&agent, setting) {
        return Err(unknown_agent(&agent, setting));
    }
    let permissions = args.permissions;
    if let Some(wanted) = permissions {
        can_keep(&agent, wanted, setting)?;
    }
    let (Some(provider), Some(base_url), Some(model)) =
        (&args.provider, base_url(args)?, &args.model)
    else {
        return Ok(Answers {
            model: None,
            agent,
            permissions,
            limits: args.into(),
        });
    };
    let model = ModelAnswer {
        provider: named("provider", provider)?,
        key: key_of_flags(args, setting, provider)?,
        api: presets::api_of(provider, &base_url, &setting.config),
        base_url,
        model: named("model", model)?,
    };
    Ok(Answers {
        model: Some(model),
        agent,
        permissions,
        limits: args.into(),
    })
}

/// Fails if the agent is one of ours and cannot keep to these permissions. Another program may keep to them.
fn can_keep(agent: &str, permissions: Permissions, setting: &Setting) -> Result<(), Failure> {
    let behind = Behind::of(agent, &setting.config);
    let is_ours = setting.built_in.contains(&behind.adapter.as_str());
    if !is_ours {
        return Ok(());
    }
    let kept = with_permissions(&behind.adapter, &behind.args, permissions);
    let failure = |error: CannotKeep| {
        Failure::request(format!("`{agent}` cannot be restricted so: {error}"))
            .hint("leave `--permissions` out; then its own arguments or its program decide")
    };
    kept.map(drop).map_err(failure)
}

/// Returns the key from the flags, or from the provider's usual variable.
fn key_of_flags(args: &SetupArgs, setting: &Setting, provider: &str) -> Result<Key, Failure> {
    let variable = args.api_key_env.clone();
    let name = variable
        .clone()
        .unwrap_or_else(|| presets::key_variable(provider));
    check_variable(&name)?;
    let Some(key) = &args.api_key else {
        let secret = setting.variable(&name).map(Secret::new);
        return Ok(match (variable, secret) {
            (None, None) => Key::None,
            (_, secret) => Key::Variable { name, secret },
        });
    };
    let key = if key == "-" {
        read_stdin()?
    } else {
        key.clone()
    };
    let secret = secret_of(&key)?;
    Ok(if args.key_in_config {
        Key::Config { secret }
    } else {
        Key::Env { name, secret }
    })
}

/// Returns a key in the form in which it is sent: one line without blanks around it.
fn secret_of(text: &str) -> Result<Secret, Failure> {
    let text = text.trim();
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(Failure::request(
            "the key is empty, or not one line of text",
        ));
    }
    Ok(Secret::new(text))
}

fn check_variable(name: &str) -> Result<(), Failure> {
    if endpoint::is_variable(name) {
        return Ok(());
    }
    // The text is not quoted, because it may be the key itself.
    Err(
        Failure::request(format!("`--api-key-env`: {}", endpoint::NO_VARIABLE))
            .hint("a key itself goes to `--api-key -`, on standard input"),
    )
}

fn named(what: &str, text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(Failure::request(format!(
            "`{text}` is no name for a {what}"
        )));
    }
    Ok(text.to_owned())
}

fn agent_named(text: &str) -> Result<String, Failure> {
    let agent = named("agent", text)?;
    if agent == "uwf-" || agent.ends_with('/') {
        return Err(Failure::request(format!(
            "`{agent}` is no name for an agent"
        )));
    }
    Ok(agent)
}

/// Returns the agent if none is named: the default agent of the config, or the first one that can run here.
fn default_agent(setting: &Setting) -> String {
    let set = setting.config.default_agent.clone();
    set.unwrap_or_else(|| {
        let found = agents::discover(setting.env, setting.built_in);
        found
            .into_iter()
            .next()
            .map_or_else(|| "hermes".to_owned(), |first| first.name)
    })
}

fn is_known_agent(agent: &str, setting: &Setting) -> bool {
    let name = agent.strip_prefix("uwf-").unwrap_or(agent);
    setting.config.agents.contains_key(name)
        || setting.built_in.contains(&name)
        || is_program_of(agent, setting)
}

/// Tells whether an agent is the path of a file, or a program `uwf-<name>` on PATH.
fn is_program_of(agent: &str, setting: &Setting) -> bool {
    if agent.contains('/') {
        return setting.env.cwd().join(agent).is_file();
    }
    let name = agent.strip_prefix("uwf-").unwrap_or(agent);
    setting.env.find_program(&format!("uwf-{name}")).is_some()
}

/// Returns the failure for an unknown agent.
fn unknown_agent(agent: &str, setting: &Setting) -> Failure {
    let found = agents::discover(setting.env, setting.built_in);
    let known = setting.built_in.iter().map(ToString::to_string);
    let known = known.chain(setting.config.agents.keys().cloned());
    let known: Vec<String> = known.chain(found.into_iter().map(|one| one.name)).collect();
    let meant = suggest::question(agent, known.iter().map(String::as_str));
    let failure = Failure::request(format!("there is no agent `{agent}`{meant}"));
    failure.hint("it is neither built in (`uwf agent --help` lists those), nor in the config, nor a program `uwf-<name>` on PATH, nor a path")
}

/// Warns if the tool of the agent is not installed, or will refuse to work.
/// The adapters that need arguments, and what these are like.
const NEED_ARGUMENTS: [(&str, &str); 3] = [
    ("mock", r#"["script.yaml"]"#),
    ("command", r#"["--", "program"]"#),
    ("acp", r#"["--", "program"]"#),
];

fn warn_of_agent(answers: &Answers, setting: &Setting) {
    let agent = &answers.agent;
    let behind = Behind::of(agent, &setting.config);
    if let LaunchTarget::Tool(tool) = launch_target(&behind.adapter, &behind.args)
        && setting.env.find_program(&tool).is_none()
    {
        warn(&format!(
            "`{tool}`, which `{agent}` drives, is not on PATH: install it, then `uwf doctor` looks again"
        ));
    }
    let needed = NEED_ARGUMENTS.iter().find(|it| it.0 == behind.adapter);
    if let Some((_, args)) = needed.filter(|_| behind.args.is_empty()) {
        let alias = plan::alias_of(agent);
        warn(&format!(
            "`{agent}` does nothing without arguments: `uwf config set agents.{alias}.args '{args}'` gives it some"
        ));
    }
    let is_said = answers.permissions.or(behind.permissions).is_some();
    if !is_said && leaves_open(&behind.adapter, &behind.args) {
        warn(&format!(
            "`{agent}` will refuse to edit files and to run commands, since nobody is there to ask: `uwf setup --agent {agent} --permissions edit` (or `run`) allows it"
        ));
    }
}

fn write(setting: &Setting, plan: &SetupPlan, terminal: Option<&Terminal>) -> Result<(), Failure> {
    let _held = terminal.map(Terminal::hold);
    setting.root.create()?;
    uwf_config::change(setting.root, &plan.changes, &plan.variables)?;
    Ok(())
}

/// Calls the model once.
fn probe(model: &ModelAnswer, env: &Env) -> Result<(), LlmError> {
    Client::new(model.endpoint(), CallLimits::default(), env).probe()
}

fn view(
    setting: &Setting,
    answers: &Answers,
    plan: SetupPlan,
    validation: Option<&Result<(), LlmError>>,
) -> SetupView {
    let model = answers.model.as_ref();
    SetupView {
        config_path: setting.root.config_file(),
        provider: model.map(|model| model.provider.clone()),
        model: model.map(|model| model.model.clone()),
        limits: limits_of(&plan),
        default_agent: plan.agent,
        validation: validation.map(Validation::of),
        variables: plan.variables.into_iter().map(|(name, _)| name).collect(),
        env_path: setting.root.env_file(),
    }
}

/// Returns the limits of time that were written, for people.
fn limits_of(plan: &SetupPlan) -> Vec<String> {
    let limit = |key: &str| {
        let mut changes = plan.changes.iter();
        let change = changes.find(|change| change.path == ["agents", &plan.agent, key])?;
        change.value.as_ref()?.as_str()
    };
    let timeout = limit("timeout").map(|limit| format!("{limit} for a step"));
    let idle = limit("idleTimeout").map(|limit| format!("{limit} without output"));
    timeout.into_iter().chain(idle).collect()
}
