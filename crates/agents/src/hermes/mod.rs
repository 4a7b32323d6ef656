//! The hermes agent: `hermes chat` by default, `hermes acp` if that is asked for.
//!
//! `uwf-hermes [options] <thread> <role>`. This module connects both modes to the kit.

mod chat;
mod options;
mod record;
mod words;

use std::path::{Path, PathBuf};

use uwf_agent_kit::{Adapter, AdapterError, LiveFile, ModelUsage, Reply, Task};
use uwf_protocol::failure::FailureClass;
use uwf_storage::Env;

use crate::acp::{self, AcpError, Failed, Limits, PromptRequest};
use crate::call;
use crate::program::Launch;
use chat::Asker;
use options::{Acp, Mode, Options};

pub(crate) use options::OPTIONS;

/// The program, as it is looked for on PATH.
pub(crate) const PROGRAM: &str = "hermes";

const LABEL: &str = "uwf-hermes";

pub(crate) const USAGE: &str = "uwf-hermes [--program <path>] [--model <model>] [--timeout <duration>] [--max-output <size>] \
    ([--mode chat] [--max-turns <n>] [--no-yolo] | --mode acp \
    [--permissions deny|read-only|allow-once|allow-always] [--session-mode <mode>] \
    [--idle-timeout <duration>]) <thread> <role>";

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let mut hermes = Hermes {
        options: Options::parse(own).map_err(anyhow::Error::msg)?,
        home: home(env),
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
    fn ask(&self, task: &Task, session: Option<&str>, prompt: &str) -> Result<Reply, AdapterError> {
        match &self.options.mode {
            Mode::Chat(chat) => {
                let asker = Asker {
                    options: &self.options,
                    chat,
                    home: self.home.as_deref().map(Path::new),
                };
                asker.ask(task, session, prompt)
            }
            Mode::Acp(acp) => self.exchange(acp, task, session, prompt),
        }
    }

    fn exchange(
        &self,
        acp: &Acp,
        task: &Task,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Reply, AdapterError> {
        let launch = Launch {
            program: &self.options.program,
            args: &["acp".to_owned()],
            cwd: &task.cwd,
            variables: &[],
            stdin: "",
            install: words::INSTALL,
            timeout: self.options.timeout,
            supervision: task.supervision,
            run_dir: &task.run_dir,
            on_start: &|_| {},
        };
        let request = PromptRequest {
            cwd: task.cwd.clone(),
            session: session.map(ToOwned::to_owned),
            prompt: prompt.to_owned(),
            model: self.options.model.clone(),
            mode: acp.session_mode.clone(),
            permissions: acp.permissions,
        };
        let limits = Limits {
            idle: acp.idle,
            max_output: self.options.max_output,
        };
        let outcome = acp::exchange(LABEL, &launch, limits, request, &mut LiveFile::of(task));
        let outcome = outcome.map_err(explained)?;
        if let Some(complaint) = words::provider_complaint(&outcome.text) {
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
        Ok(Reply {
            text: outcome.text,
            session_id: outcome.session_id,
            model: outcome.model,
            turns: outcome.turns,
            usage: Some(outcome.usage),
            refused: outcome.refused,
        })
    }
}

/// Adds a hint and the class to the error of an exchange.
fn explained(failed: Failed) -> AdapterError {
    let Failed { error, cause } = failed;
    let hint = match &cause {
        Some(AcpError::NotLoggedIn { .. }) => Some("`hermes setup` logs in"),
        Some(AcpError::NoSuchMode { .. }) => Some("change `--session-mode` in the agent's `args`"),
        _ => words::hint(&error.message),
    };
    let class = match (&cause, error.class) {
        (Some(AcpError::NotLoggedIn { .. }), _) => FailureClass::Auth,
        (_, FailureClass::Crash) => words::class(&error.message),
        (_, class) => class,
    };
    AdapterError {
        hint: error.hint.clone().or(hint.map(ToOwned::to_owned)),
        class,
        ..*error
    }
}
