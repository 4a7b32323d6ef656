//! An agent that speaks the protocol, as an adapter runs it: the rules of its options, and one prompt to it.

use std::time::Duration;

use uwf_agent_kit::{LiveFile, Task};
use uwf_protocol::permissions::DecidedPermission;

use super::client::{Outcome, PromptRequest};
use super::exchange::{Failed, Limits, exchange};
use super::permission::{self, Otherwise, Policy};
use crate::options;
use crate::program::Launch;

/// What options say about a session.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// How requests for permission are answered.
    pub(crate) permissions: Policy,
    /// What becomes of those that this does not permit.
    pub(crate) otherwise: Otherwise,
    /// The mode of the session, in the words of the agent.
    pub(crate) session_mode: Option<String>,
    /// How long the agent may be without a message.
    pub(crate) idle: Option<Duration>,
}

impl Rules {
    /// Sets the rule that an option is about. Returns whether there is one.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "--permissions" => self.permissions = permission::policy(value)?,
            "--ask" => self.otherwise = permission::otherwise(value)?,
            "--session-mode" => self.session_mode = Some(value.to_owned()),
            "--idle-timeout" => self.idle = Some(options::duration(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// An agent that can be started.
pub(crate) struct AcpAgent<'a> {
    /// The label of its steps.
    pub(crate) label: &'a str,
    /// A path, or a name that is looked for on PATH.
    pub(crate) program: &'a str,
    pub(crate) args: &'a [String],
    /// The hint to the user if the program does not exist.
    pub(crate) install: &'a str,
    /// The model, in the words of the agent.
    pub(crate) model: Option<&'a str>,
    /// How long one answer may take.
    pub(crate) timeout: Option<Duration>,
    /// How much it may send in all, in bytes.
    pub(crate) max_output: u64,
    pub(crate) rules: &'a Rules,
}

/// What a person has decided, until it is used. A step may take several prompts, and the decision is about one call.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    is_used: bool,
}

impl Decided {
    fn left(&self, task: &Task) -> Option<DecidedPermission> {
        task.decided.clone().filter(|_| !self.is_used)
    }
}

impl AcpAgent<'_> {
    /// Sends a prompt, in this session or in a new one, and waits for the end of the turn.
    pub(crate) fn ask(
        &self,
        task: &Task,
        decided: &mut Decided,
        session: Option<&str>,
        prompt: &str,
    ) -> Result<Outcome, Failed> {
        let launch = Launch {
            program: self.program,
            args: self.args,
            cwd: &task.cwd,
            variables: &[],
            stdin: "",
            install: self.install,
            timeout: self.timeout,
            supervision: task.supervision,
            run_dir: &task.run_dir,
            masks: &task.masks,
            on_start: &|_| {},
        };
        let request = PromptRequest {
            cwd: task.cwd.clone(),
            session: session.map(ToOwned::to_owned),
            prompt: prompt.to_owned(),
            model: self.model.map(ToOwned::to_owned),
            mode: self.rules.session_mode.clone(),
            permissions: self.rules.permissions,
            otherwise: self.rules.otherwise,
            decided: decided.left(task),
            masks: task.masks.clone(),
        };
        let limits = Limits {
            idle: self.rules.idle,
            max_output: self.max_output,
        };
        let mut live = LiveFile::of(task);
        let outcome = exchange(self.label, &launch, limits, request, &mut live)?;
        decided.is_used |= outcome.used_decision;
        Ok(outcome)
    }
}
