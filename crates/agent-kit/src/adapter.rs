//! The interface of an adapter, which is all that differs between agents: tasks in, replies out.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use uwf_process::process_identity;
use uwf_protocol::agent::env::{GRACE_MS, KEEP_RUNNING, LIMIT_MS};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{Turn, Usage};
use uwf_protocol::permissions::{AskedPermission, DecidedPermission, Permissions};
use uwf_protocol::prices::Prices;
use uwf_protocol::run::{Launched, Phase, StartedSession};
use uwf_storage::{Env, RunDir};
use uwf_util::mask::Masks;

/// Sends prompts to one kind of agent.
pub trait Adapter {
    /// Returns the label that goes into steps, such as `uwf-mock`.
    fn label(&self) -> String;

    /// Returns the key under which this agent's sessions are stored. Agents with the same label may run different
    /// programs, which do not know each other's sessions.
    fn session_key(&self) -> String {
        self.label()
    }

    /// Tells whether a session of this agent can be given another message.
    fn can_resume(&self) -> bool;

    /// Returns the answer of a program that an earlier attempt started for the same task, and that finished after that
    /// attempt had died. The answer is already paid for. The kit uses it if it fits the role.
    fn earlier(&mut self, _task: &Task) -> Option<Reply> {
        None
    }

    /// Returns the session in which a program of an earlier attempt has begun the same task, if that attempt died before it could
    /// record it. What the program has done there is already paid for.
    fn earlier_session(&self, _task: &Task) -> Option<String> {
        None
    }

    /// Sends [`Task::prompt`] to the agent and waits for its answer. An agent with sessions continues
    /// [`Task::session`].
    ///
    /// # Errors
    /// When the agent could not be started, failed, or gave no answer. If the session is
    /// [gone](AdapterError::session_gone), the kit calls again without a session and with the whole prompt.
    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError>;

    /// Sends a whole prompt that goes on from an answer of this attempt, and waits for the answer. It has [`Task::prompt`], that
    /// answer, and what was wrong with the work. Called only if there is no session that could be given a message.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    fn run_again(&mut self, task: &Task, prompt: &str) -> Result<Reply, AdapterError> {
        self.run(&Task {
            prompt: prompt.to_owned(),
            session: None,
            ..task.clone()
        })
    }

    /// Sends a message to a session that has the task already, and waits for the answer. Called only if the adapter
    /// [can resume](Self::can_resume).
    ///
    /// # Errors
    /// See [`run`](Self::run).
    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError>;
}

/// The work for an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The thread.
    pub thread: ThreadId,
    /// The role to play.
    pub role: RoleName,
    /// The head of the thread, which the step will follow.
    pub head: CasRef,
    /// The step that the new one will replace, in a poke.
    pub replaces: Option<CasRef>,
    /// The key of the agent's sessions; see [`Adapter::session_key`].
    pub agent: String,
    /// The whole prompt.
    pub prompt: String,
    /// The instruction of the moderator. In the prompt, only notes about earlier attempts and about a decided permission follow it.
    pub edge_prompt: String,
    /// The directory to work in.
    pub cwd: PathBuf,
    /// Where the adapter may leave files; it exists.
    pub run_dir: PathBuf,
    /// Which visit of the role this is, from 1.
    pub visit: u64,
    /// The position of the step in the thread, from 1.
    pub step: u64,
    /// The session of this agent in this role, from an earlier visit or from the step to replace.
    pub session: Option<String>,
    /// The JSON Schema of the answer's data. The prompt describes it already.
    pub schema: Value,
    /// What the agent may do without asking, if anything says so.
    pub permissions: Option<Permissions>,
    /// The call for which the role asked permission in its last step, and what a person says to it now.
    pub decided: Option<DecidedPermission>,
    /// How the programs of the adapter are ended.
    pub supervision: Supervision,
    /// The mark of the attempt, if an engine started it.
    pub attempt: Option<String>,
    /// What models cost whose agents do not tell it.
    pub prices: Prices,
    /// The secrets of the agent, which nothing that is written may show.
    pub masks: Masks,
}

/// How a program ended whose output was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It ended well.
    Ended,
    /// Unknown: its adapter died before it.
    EndUnseen,
}

/// How a program is ended, together with everything that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supervision {
    /// The time between the request to end and the kill.
    pub grace: Duration,
    /// After how much time, or silence, the engine ends the agent, if it does.
    pub limit: Option<Duration>,
    /// Whether processes that it leaves running when it succeeds may go on.
    pub keep_running: bool,
}

impl Supervision {
    /// Returns the settings that the engine passes in the environment.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        let time = |name| env.var(name)?.parse().ok().map(Duration::from_millis);
        Self {
            grace: time(GRACE_MS).unwrap_or(uwf_process::GRACE),
            limit: time(LIMIT_MS),
            keep_running: env.var(KEEP_RUNNING).is_some(),
        }
    }
}

impl Default for Supervision {
    fn default() -> Self {
        Self {
            grace: uwf_process::GRACE,
            limit: None,
            keep_running: false,
        }
    }
}

impl Task {
    /// Records that a program is about to work on this task, and its prompt. If both this process and its engine die,
    /// the next attempt reads what the program printed.
    pub fn announce_program(&self, call: &[String], asked: &str) {
        let run = RunDir::at(self.run_dir.clone());
        // The output of an earlier program must not be taken for that of this one.
        let _ = run.scratch.clear_program_files();
        let launched = Launched {
            message: (asked != self.prompt).then(|| asked.to_owned()),
            attempt: Some(run.ledger.next_attempt()),
            used_before: run.scratch.usage(),
            mark: self.attempt.clone(),
            adapter: process_identity(std::process::id()),
            ..self.launched(call)
        };
        // Best effort: without the record, an attempt after a crash runs the program again.
        let _ = run.scratch.write_launched(&launched);
    }

    /// Records the process of the announced program. If both this process and its engine die, the next call can tell
    /// whether the program has ended, whatever it has left running.
    pub fn program_started(&self, process: u32) {
        let scratch = RunDir::at(self.run_dir.clone()).scratch;
        let Some(launched) = scratch.launched() else {
            return;
        };
        let _ = scratch.write_launched(&Launched {
            program: process_identity(process),
            ..launched
        });
    }

    /// Records that the program has ended well: its output is complete.
    pub fn program_ended(&self) {
        let run = RunDir::at(self.run_dir.clone());
        let Some(launched) = run.scratch.launched() else {
            return;
        };
        let _ = run.scratch.write_launched(&Launched {
            ended: true,
            ..launched
        });
    }

    /// Forgets the program, because its output cannot be used. A usable output is kept until its step is written.
    pub fn forget_program(&self) {
        let _ = RunDir::at(self.run_dir.clone()).scratch.clear_launched();
    }

    /// Returns how a program of an earlier attempt at this task ended, if its output was not used.
    #[must_use]
    pub fn unread_program(&self, call: &[String]) -> Option<Unread> {
        let launched = RunDir::at(self.run_dir.clone()).scratch.launched()?;
        let end = match launched.ended {
            true => Unread::Ended,
            false => Unread::EndUnseen,
        };
        let asked = Launched {
            message: launched.message.clone(),
            ended: launched.ended,
            attempt: launched.attempt,
            used_before: launched.used_before.clone(),
            mark: launched.mark.clone(),
            adapter: launched.adapter.clone(),
            program: launched.program.clone(),
            ..self.launched(call)
        };
        (launched == asked).then_some(end)
    }

    fn launched(&self, call: &[String]) -> Launched {
        Launched {
            head: self.head,
            replaces: self.replaces,
            role: self.role.clone(),
            agent: self.agent.clone(),
            call: call.to_vec(),
            prompt: self.prompt.clone(),
            message: None,
            ended: false,
            attempt: None,
            used_before: None,
            mark: None,
            adapter: None,
            program: None,
        }
    }

    /// Returns the record which says that the agent has this task in a session.
    pub(crate) fn started_session(&self, session_id: String) -> StartedSession {
        StartedSession {
            head: self.head,
            replaces: self.replaces,
            role: self.role.clone(),
            agent: self.agent.clone(),
            session_id,
            instruction: self.edge_prompt.clone(),
        }
    }
}

/// The answer of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The answer: front matter and Markdown.
    pub text: String,
    /// The session, if the agent has sessions.
    pub session_id: Option<String>,
    /// The model that answered, if known.
    pub model: Option<String>,
    /// The turns that were observed, oldest first. The kit sets their indices.
    pub turns: Vec<Turn>,
    /// What this answer used up, if the agent reports it.
    pub usage: Option<Usage>,
    /// The tools whose calls were refused because the agent may not make them, one entry for each call.
    pub refused: Vec<String>,
    /// The call for which the answer asks a person for permission, if it suspends the thread for that.
    pub asked: Option<AskedPermission>,
}

/// What a model used up.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelUsage {
    /// How much it was.
    pub usage: Usage,
    /// The model, if known.
    pub model: Option<String>,
}

/// When a provider that refused a call allows the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryAgain {
    /// So long after its refusal.
    After(Duration),
    /// At this time, in milliseconds since 1970.
    At(i64),
}

impl TryAgain {
    /// Returns how long that is from now, in milliseconds.
    #[must_use]
    pub fn from_now_ms(self, now_ms: i64) -> u64 {
        match self {
            Self::After(time) => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            Self::At(at_ms) => u64::try_from(at_ms.saturating_sub(now_ms)).unwrap_or_default(),
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AdapterError {
    /// What kind of failure it is.
    pub class: FailureClass,
    /// Where the agent failed: at its start or later.
    pub phase: Phase,
    /// What went wrong.
    pub message: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// When the provider allows the next call, if it says so.
    pub try_again: Option<Box<TryAgain>>,
    /// The session, if there is one. The next attempt continues it.
    pub session_id: Option<String>,
    /// What the agent used up, if it reports it.
    pub usage: Option<Box<ModelUsage>>,
    /// The turns that were observed before it failed. The kit sets their indices.
    pub turns: Vec<Turn>,
    /// Whether it failed because the session to continue does not exist any more. The kit then starts a new one with
    /// the whole prompt.
    pub session_gone: bool,
    /// The exit code of the adapter's process.
    pub exit_code: i32,
}

impl AdapterError {
    /// Returns the error of an agent that failed.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            class: FailureClass::Crash,
            phase: Phase::Agent,
            message: message.into(),
            hint: None,
            try_again: None,
            session_id: None,
            usage: None,
            turns: Vec::new(),
            session_gone: false,
            exit_code: 1,
        }
    }

    /// Returns the error of an agent that could not be started.
    #[must_use]
    pub fn not_started(message: impl Into<String>) -> Self {
        Self {
            phase: Phase::Spawn,
            ..Self::failed(message)
        }
    }

    /// Sets what kind of failure it is.
    #[must_use]
    pub fn class(self, class: FailureClass) -> Self {
        Self { class, ..self }
    }

    /// Sets what the user can do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// Returns a task for tests: the first visit of `writer`, in the first step.
#[cfg(test)]
pub(crate) fn test_task(run_dir: &std::path::Path) -> Task {
    Task {
        thread: "01J7K9Z0000000000000000004".parse().unwrap(),
        role: "writer".parse().unwrap(),
        head: uwf_protocol::schemas::TEXT,
        replaces: None,
        agent: String::new(),
        prompt: "the task".to_owned(),
        edge_prompt: String::new(),
        cwd: "/".into(),
        run_dir: run_dir.to_owned(),
        visit: 1,
        step: 1,
        session: None,
        schema: Value::Null,
        permissions: None,
        decided: None,
        supervision: Supervision::default(),
        attempt: None,
        prices: Prices::default(),
        masks: Masks::default(),
    }
}
