//! Finding the program of the agent that a role gets, and how it is started.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use uwf_config::AgentEnv;
use uwf_process::Limits;
use uwf_protocol::agent::RECORDER;
use uwf_protocol::config::{AgentConfig, AgentProtocol, Config};
use uwf_protocol::ids::RoleName;
use uwf_protocol::permissions::Permissions;
use uwf_protocol::run::ChosenAgent;
use uwf_util::{shell_words, suggest, time};

use crate::agent_choice::{self, AgentChoice, alias_for, permissions_for};
use crate::check_error::CheckError;
use crate::run::process::Program;
use crate::thread::Thread;
use crate::{EngineError, Runner, Site};

/// A program that can be started as an agent.
pub(crate) struct AgentCommand {
    /// Its name in records: the program as it was given.
    pub(crate) label: String,
    /// The program.
    pub(crate) program: Program,
    /// The arguments before thread and role.
    pub(crate) args: Vec<String>,
    /// How thread and role are passed.
    pub(crate) protocol: AgentProtocol,
    /// How long it may take.
    pub(crate) limits: Limits,
    /// Its alias in the config, if it has one.
    pub(crate) alias: Option<String>,
    /// Whether processes that it leaves running when it succeeds may go on.
    pub(crate) keep_running: bool,
    /// Its environment.
    pub(crate) env: AgentEnv,
    /// The names of its secrets that are too short to be masked.
    pub(crate) short_secrets: Vec<String>,
    /// How many agents of the alias may work at once, if that is limited.
    pub(crate) max_running: Option<NonZeroU32>,
    /// What it may do without asking, if anything says so.
    pub(crate) permissions: Option<Permissions>,
}

impl AgentCommand {
    /// Returns the record of this agent. `choice` is that of the command line.
    pub(crate) fn chosen_by(&self, choice: &AgentChoice) -> ChosenAgent {
        agent_choice::chosen(choice, &self.label, &self.args, self.permissions)
    }
}

/// Fails if a role has checks and its agent cannot run them: only the agents of this program do, and nobody can tell what
/// another program has done.
pub(crate) fn refuse_without_checks(
    runner: &Runner,
    thread: &Thread,
    role: &RoleName,
    agent: &AgentCommand,
) -> Result<(), EngineError> {
    let task = thread.program.task(role);
    if task.is_none_or(|task| task.checks.is_none()) {
        return Ok(());
    }
    match other_program(runner, &agent.label, &agent.args) {
        None => Ok(()),
        Some(other) => Err(CheckError::OtherProgram {
            role: role.clone(),
            agent: other.to_owned(),
        }
        .into()),
    }
}

/// Returns the program that does the work of an agent, if it is not part of this program. The recorder runs another agent.
fn other_program<'a>(runner: &Runner, command: &'a str, args: &'a [String]) -> Option<&'a str> {
    let own = runner.site.env.program().canonicalize();
    match program(runner, command) {
        Program::BuiltIn { .. } => {}
        Program::File(path) if path.canonicalize().ok() == own.ok() => {}
        Program::File(_) => return Some(command),
    }
    // `uwf agent record` is the same as `uwf-record`.
    let (name, args) = match args {
        [agent, name, args @ ..] if agent == "agent" => (name.as_str(), args),
        args => (command.rsplit(['/', '-']).next()?, args),
    };
    match (name, args.splitn(2, |word| word == "--").nth(1)) {
        (RECORDER, Some([command, args @ ..])) => other_program(runner, command, args),
        // Without another agent, the recorder refuses the call itself.
        _ => None,
    }
}

/// Finds the agent for a role. `choice` is that of the command line. `next` is the alias of the agent that makes the next
/// attempt, if earlier ones decide that.
pub(crate) fn resolve(
    runner: &Runner,
    config: &Config,
    (choice, next): (&AgentChoice, Option<&str>),
    workflow: &str,
    role: &RoleName,
) -> Result<AgentCommand, EngineError> {
    let words = (choice.agent.as_deref(), next);
    let found = found(runner, config, words, workflow, role)?;
    let entry = found.alias.as_ref().and_then(|it| config.agents.get(it));
    Ok(AgentCommand {
        permissions: permissions_for(config, choice, entry, workflow, role),
        ..found
    })
}

/// Finds the agent for a role, without what it may do. `word` is what the command line says: an alias of the config or a
/// command line, split as a shell splits it.
fn found(
    runner: &Runner,
    config: &Config,
    (word, next): (Option<&str>, Option<&str>),
    workflow: &str,
    role: &RoleName,
) -> Result<AgentCommand, EngineError> {
    if let Some(word) = word {
        return match config.agents.get(word) {
            Some(agent) => from_config(runner, word, agent),
            None => from_words(runner, word, config),
        };
    }
    let alias = next.or_else(|| alias_for(config, workflow, role));
    let alias = alias.ok_or_else(|| EngineError::NoAgent {
        workflow: workflow.to_owned(),
        role: role.clone(),
    })?;
    match config.agents.get(alias) {
        Some(agent) => from_config(runner, alias, agent),
        None => Err(EngineError::UnknownAgent {
            alias: alias.to_owned(),
            near: suggest::nearest(alias, config.agents.keys().map(String::as_str))
                .map(ToOwned::to_owned),
        }),
    }
}

fn from_words(runner: &Runner, text: &str, config: &Config) -> Result<AgentCommand, EngineError> {
    let mut words = shell_words::split(text)?.into_iter();
    let command = words.next().ok_or(EngineError::EmptyAgent)?;
    let found = located(
        runner,
        &command,
        words.collect(),
        AgentProtocol::Positional,
        Limits::default(),
    );
    // A typo on the command line is no failed attempt, so it is refused before one starts.
    if matches!(&found.program, Program::File(path) if !path.is_file()) {
        return Err(EngineError::NoProgram {
            near: nearest(runner, &command, config.agents.keys().map(String::as_str)),
            word: command,
        });
    }
    Ok(found)
}

fn from_config(
    runner: &Runner,
    alias: &str,
    agent: &AgentConfig,
) -> Result<AgentCommand, EngineError> {
    let command = agent
        .command
        .as_deref()
        .ok_or_else(|| EngineError::Config {
            key: format!("agents.{alias}.command"),
            problem: "it is missing".to_owned(),
        })?;
    let limits = Limits {
        wall: duration(format!("agents.{alias}.timeout"), agent.timeout.as_deref())?,
        idle: duration(
            format!("agents.{alias}.idleTimeout"),
            agent.idle_timeout.as_deref(),
        )?,
    };
    let protocol = agent.protocol.unwrap_or(AgentProtocol::Positional);
    let env = AgentEnv::of(agent);
    let short_secrets = env.check(alias, &runner.site.root, &runner.site.env)?;
    Ok(AgentCommand {
        alias: Some(alias.to_owned()),
        env,
        short_secrets,
        max_running: agent.max_running,
        keep_running: agent.keep_running,
        ..located(runner, command, agent.args.clone(), protocol, limits)
    })
}

/// Returns the time that processes have to end after they were asked to, as the config says.
///
/// # Errors
/// When the config cannot be read.
pub fn configured_grace(site: &Site) -> Result<Duration, EngineError> {
    grace(&uwf_config::load(&site.root)?.unwrap_or_default())
}

/// Returns the time that processes have to end after they were asked to.
pub(crate) fn grace(config: &Config) -> Result<Duration, EngineError> {
    let grace = duration("grace".to_owned(), config.grace.as_deref())?;
    Ok(grace.unwrap_or(uwf_process::GRACE))
}

fn duration(key: String, text: Option<&str>) -> Result<Option<Duration>, EngineError> {
    let Some(text) = text else { return Ok(None) };
    match time::parse_duration(text) {
        Some(ms) => Ok(Some(Duration::from_millis(ms))),
        None => Err(EngineError::Config {
            key,
            problem: format!("`{text}` is not a duration such as `90s`, `10m` or `2h`"),
        }),
    }
}

/// Looks for the command on PATH. A built-in `uwf-<name>` that is not on PATH runs from the file of this program.
fn located(
    runner: &Runner,
    command: &str,
    args: Vec<String>,
    protocol: AgentProtocol,
    limits: Limits,
) -> AgentCommand {
    AgentCommand {
        label: command.to_owned(),
        program: program(runner, command),
        args,
        protocol,
        limits,
        alias: None,
        env: AgentEnv::default(),
        short_secrets: Vec::new(),
        max_running: None,
        keep_running: false,
        permissions: None,
    }
}

fn program(runner: &Runner, command: &str) -> Program {
    let built_in = command.strip_prefix("uwf-");
    let built_in = built_in.filter(|name| runner.built_in_agents.contains(name));
    match (runner.site.env.find_program(command), built_in) {
        (Some(found), _) => Program::File(found),
        (None, Some(name)) => Program::BuiltIn {
            name: name.to_owned(),
            file: runner.site.env.program(),
        },
        (None, None) => Program::File(PathBuf::from(command)),
    }
}

/// Returns the alias or the built-in agent whose name is nearest to a word, if one is near.
fn nearest<'a>(
    runner: &Runner,
    word: &str,
    aliases: impl Iterator<Item = &'a str>,
) -> Option<String> {
    if runner.built_in_agents.contains(&word) {
        return Some(format!("uwf-{word}"));
    }
    let alias = suggest::nearest(word, aliases).map(ToOwned::to_owned);
    alias.or_else(|| nearest_built_in(runner, word))
}

/// Returns the built-in agent whose name is near. The prefix is ignored: with it, all names would be near.
pub(crate) fn nearest_built_in(runner: &Runner, word: &str) -> Option<String> {
    let name = word.strip_prefix("uwf-").unwrap_or(word);
    let near = suggest::nearest(name, runner.built_in_agents.iter().copied())?;
    Some(format!("uwf-{near}"))
}
