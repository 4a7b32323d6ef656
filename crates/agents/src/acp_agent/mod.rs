//! The acp agent: any program that speaks the Agent Client Protocol on its pipes.
//!
//! `uwf-acp [options] -- <program> <args…> <thread> <role>`.

mod options;

use std::io::{self, Write as _};

use uwf_agent_kit::{Adapter, AdapterError, Reply, Task};
use uwf_storage::Env;
use uwf_util::shell_words;

use crate::acp::{self, AcpAgent, Decided, Failed};
use crate::{call, signs};
use options::Options;

pub(crate) use options::OPTIONS;

const LABEL: &str = "uwf-acp";

pub(crate) const USAGE: &str = "uwf-acp [--model <model>] [--permissions deny|read-only|allow-edits|allow-once|allow-always] \
    [--ask refuse|suspend] [--session-mode <mode>] [--timeout <duration>] [--idle-timeout <duration>] [--max-output <size>] \
    -- <program> <args…> <thread> <role>";

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let mut agent = Acp {
        options: Options::parse(own).map_err(anyhow::Error::msg)?,
        decided: Decided::default(),
        has_answered: false,
    };
    Ok(uwf_agent_kit::serve(&mut agent, &call, env))
}

struct Acp {
    options: Options,
    decided: Decided,
    /// Whether an answer came in this call.
    has_answered: bool,
}

impl Adapter for Acp {
    fn label(&self) -> String {
        LABEL.to_owned()
    }

    fn session_key(&self) -> String {
        let Options { program, args, .. } = &self.options;
        let words = std::iter::once(program).chain(args).map(String::as_str);
        format!("{LABEL} {}", shell_words::join(words))
    }

    // Whether an agent can is known only when a session is to be continued. If it cannot, a new session starts.
    fn can_resume(&self) -> bool {
        true
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        self.ask(task, task.session.as_deref(), &task.prompt)
    }

    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError> {
        match self.ask(task, Some(session), message) {
            // The kit wants a correction, and the agent cannot go on with the session in which it has just answered. What it
            // has done is done. A prompt for an older session does not hold the whole task.
            Err(error) if error.session_gone && self.has_answered && task.session.is_none() => {
                let _ = writeln!(io::stderr(), "{}; a new session begins", error.message);
                self.ask(task, None, &format!("{}\n\n{message}", task.prompt))
            }
            answer => answer,
        }
    }
}

impl Acp {
    fn ask(
        &mut self,
        task: &Task,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Reply, AdapterError> {
        let options = &self.options;
        let agent = AcpAgent {
            label: LABEL,
            program: &options.program,
            args: &options.args,
            install: "install it, or give its full path after `--` in the agent's `args`",
            model: options.model.as_deref(),
            timeout: options.timeout,
            max_output: options.max_output,
            rules: &options.rules,
        };
        let outcome = agent.ask(task, &mut self.decided, session, prompt);
        self.has_answered |= outcome.is_ok();
        let reply = outcome.map(|outcome| acp::reply(outcome, &task.masks));
        reply.map_err(explained)
    }
}

/// Adds a hint and the class to the error of an exchange.
fn explained(failed: Failed) -> AdapterError {
    let read = |message: &str| (signs::class_in([message]), None);
    failed.explained("log in with the agent's own program", read)
}
