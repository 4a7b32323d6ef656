//! The hermes agent: `hermes chat` by default, `hermes acp` if that is asked for.
//!
//! `uwf-hermes [options] <thread> <role>`. This module connects both modes to the kit.

mod chat;
mod options;
mod record;
mod words;

use std::path::{Path, PathBuf};

use uwf_agent_kit::{Adapter, AdapterError, ModelUsage, Reply, Task};
use uwf_storage::Env;

use crate::acp::{self, AcpAgent, Decided, Failed};
use crate::call;
use chat::Asker;
use options::{Mode, Options};

pub(crate) use options::OPTIONS;

/// The program, as it is looked for on PATH.
pub(crate) const PROGRAM: &str = "hermes";

const LABEL: &str = "uwf-hermes";

pub(crate) const USAGE: &str = "uwf-hermes [--program <path>] [--model <model>] [--timeout <duration>] [--max-output <size>] \
    ([--mode chat] [--max-turns <n>] [--no-yolo] | --mode acp \
    [--permissions deny|read-only|allow-edits|allow-once|allow-always] [--ask refuse|suspend] \
    [--session-mode <mode>] [--idle-timeout <duration>]) <thread> <role>";

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let mut hermes = Hermes {
        options: Options::parse(own).map_err(anyhow::Error::msg)?,
        home: home(env),
        decided: Decided::default(),
    };
    Ok(uwf_agent_kit::serve(&mut hermes, &call, env))
}

/// Returns where hermes keeps its sessions.
fn home(env: &Env) -> Option<PathBuf> {
    let named = env.var_os("HERMES_HOME").filter(|home| !home.is_empty());
    let default = || Some(env.home()?.join(".hermes"));
    named.map(PathBuf::from).or_else(default)
}

struct Hermes {
    options: Options,
    home: Option<PathBuf>,
    decided: Decided,
}

impl Adapter for Hermes {
    fn label(&self) -> String {
        LABEL.to_owned()
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        self.ask(task, task.session.as_deref(), &task.prompt)
    }

    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError> {
        self.ask(task, Some(session), message)
    }
}

impl Hermes {
    fn ask(
        &mut self,
        task: &Task,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Reply, AdapterError> {
        match &self.options.mode {
            Mode::Chat(chat) => {
                let asker = Asker {
                    options: &self.options,
                    chat,
                    home: self.home.as_deref().map(Path::new),
                };
                asker.ask(task, session, prompt)
            }
            Mode::Acp(rules) => {
                let agent = AcpAgent {
                    label: LABEL,
                    program: &self.options.program,
                    args: &["acp".to_owned()],
                    install: words::INSTALL,
                    model: self.options.model.as_deref(),
                    timeout: self.options.timeout,
                    max_output: self.options.max_output,
                    rules,
                };
                exchange(&agent, task, &mut self.decided, session, prompt)
            }
        }
    }
}

/// Sends a prompt over the protocol.
fn exchange(
    agent: &AcpAgent<'_>,
    task: &Task,
    decided: &mut Decided,
    session: Option<&str>,
    prompt: &str,
) -> Result<Reply, AdapterError> {
    let outcome = agent
        .ask(task, decided, session, prompt)
        .map_err(explained)?;
    if let Some(complaint) = words::provider_complaint(&outcome.text)
        && outcome.asked.is_none()
    {
        return Err(AdapterError {
            session_id: outcome.session_id,
            turns: outcome.turns,
            usage: Some(Box::new(ModelUsage {
                usage: outcome.usage,
                model: outcome.model,
            })),
            ..words::failed("hermes could not reach its model", complaint)
        });
    }
    Ok(acp::reply(outcome, &task.masks))
}

/// Adds a hint and the class to the error of an exchange.
fn explained(failed: Failed) -> AdapterError {
    let read = |message: &str| (words::class(message), words::hint(message));
    failed.explained("`hermes setup` logs in", read)
}
