//! What an adapter is: the one thing that differs between agents.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use uwf_process::process_identity;
use uwf_protocol::agent::env::{GRACE_MS, KEEP_RUNNING};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{Turn, Usage};
use uwf_protocol::run::{Begun, Launched, Phase};
use uwf_storage::{Env, RunDir};

/// Puts prompts to one kind of agent.
pub trait Adapter {
    /// Returns the label that goes into steps, such as `uwf-mock`.
    fn label(&self) -> String;

    /// Returns whose sessions the agent's are. Agents with the same label may drive different programs, which do not
    /// know each other's sessions.
    fn sessions_of(&self) -> String {
        self.label()
    }

    /// Tells whether a session of this agent can be given another message.
    fn can_resume(&self) -> bool;

    /// Returns the answer of a program that this agent started for the same task and that finished after the agent had
    /// died. It was paid for. The kit uses it if it fits the role.
    fn earlier(&mut self, _task: &Task) -> Option<Reply> {
        None
    }

    /// Plays the role: puts [`Task::prompt`] to the agent and waits for its answer. An agent with sessions
    /// goes on with [`Task::session`].
    ///
    /// # Errors
    /// When the agent could not be started, failed, or gave no answer. If the session is
    /// [gone](AdapterError::session_gone), the kit calls again without a session and with the whole prompt.
    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError>;

    /// Sends a message to a session that has the task already, and waits for the answer. It is asked for
    /// only if the adapter [can](Self::can_resume).
    ///
    /// # Errors
    /// See [`run`](Self::run).
    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError>;
}

/// What an agent is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The thread.
    pub thread: ThreadId,
    /// The role to play.
    pub role: RoleName,
    /// The head of the thread, which the step will follow.
    pub head: CasRef,
    /// The step whose place it will take, if one is done again.
    pub replaces: Option<CasRef>,
    /// Whose sessions the agent's are; see [`Adapter::sessions_of`].
    pub agent: String,
    /// The whole prompt.
    pub prompt: String,
    /// The instruction of the moderator alone; it is the last part of the prompt.
    pub edge_prompt: String,
    /// The directory to work in.
    pub cwd: PathBuf,
    /// Where the adapter may leave files; it exists.
    pub run_dir: PathBuf,
    /// Which visit of the role this is, from 1.
    pub visit: u64,
    /// The position of the step in the thread, from 1.
    pub step: u64,
    /// The session of this agent in this role, from an earlier visit or from the step that is done again.
    pub session: Option<String>,
    /// The JSON Schema of the answer's data. The prompt shows it in words already.
    pub schema: Value,
    /// How the programs that an adapter starts are ended.
    pub supervision: Supervision,
    /// The mark of the attempt, if an engine started it.
    pub attempt: Option<String>,
}

/// What is known of a program whose output was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It ended well.
    Ended,
    /// Its adapter died first: nobody saw how it ended.
    EndUnseen,
}

/// How a program is ended, with everything that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supervision {
    /// How long it has to end after it was asked to.
    pub grace: Duration,
    /// Whether what it leaves running when it succeeds may go on.
    pub keep_running: bool,
}

impl Supervision {
    /// Returns what the engine says about ending programs.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        let grace = env.var(GRACE_MS).and_then(|ms| ms.parse().ok());
        Self {
            grace: grace.map_or(uwf_process::GRACE, Duration::from_millis),
            keep_running: env.var(KEEP_RUNNING).is_some(),
        }
    }
}

impl Default for Supervision {
    fn default() -> Self {
        Self {
            grace: uwf_process::GRACE,
            keep_running: false,
        }
    }
}

impl Task {
    /// Says that a program is about to work on this task, and what it is asked. If both this process and its engine die,
    /// the next attempt reads what the program printed.
    pub fn announce_program(&self, call: &[String], asked: &str) {
        let run = RunDir::at(self.run_dir.clone());
        // What an earlier program printed must not pass for the output of this one.
        let _ = run.scratch.clear_program_files();
        let launched = Launched {
            message: (asked != self.prompt).then(|| asked.to_owned()),
            attempt: Some(run.ledger.next_attempt()),
            used_before: run.scratch.usage(),
            mark: self.attempt.clone(),
            adapter: process_identity(std::process::id()),
            ..self.launched(call)
        };
        // A record that cannot be written costs a second run after a crash, not this one.
        let _ = run.scratch.write_launched(&launched);
    }

    /// Says which process the announced program is. If this process and its engine die, the next call can tell that the
    /// program has ended, whatever it has left running.
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

    /// Says that the program has ended well: all that it printed is there.
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

    /// Says that the output of the program is of no use. That of a good one is kept until its step is written.
    pub fn forget_program(&self) {
        let _ = RunDir::at(self.run_dir.clone()).scratch.clear_launched();
    }

    /// Tells whether a program worked on this task whose output was not used.
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
    pub(crate) fn begun_in(&self, session_id: String) -> Begun {
        Begun {
            head: self.head,
            replaces: self.replaces,
            role: self.role.clone(),
            agent: self.agent.clone(),
            session_id,
            instruction: self.edge_prompt.clone(),
        }
    }
}

/// What an agent answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The answer: front matter and Markdown.
    pub text: String,
    /// The session, if the agent has sessions.
    pub session_id: Option<String>,
    /// The model that answered, if known.
    pub model: Option<String>,
    /// The turns that could be observed, oldest first; their index is set by the kit.
    pub turns: Vec<Turn>,
    /// What this answer used up, if the agent tells.
    pub usage: Option<Usage>,
    /// The tools whose calls were refused because the agent may not make them, one entry for each call.
    pub refused: Vec<String>,
}

/// Says why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AdapterError {
    /// What kind of failure it is.
    pub class: FailureClass,
    /// Whether the agent could not be started, or failed later.
    pub phase: Phase,
    /// What went wrong.
    pub message: String,
    /// What the user could do about it.
    pub hint: Option<String>,
    /// The session, if one was begun: the next attempt goes on with it.
    pub session_id: Option<String>,
    /// What the agent used up, if it tells.
    pub usage: Option<Box<Usage>>,
    /// The turns that could be observed before it failed; their index is set by the kit.
    pub turns: Vec<Turn>,
    /// Whether it failed because the session that was to go on does not exist any more. The kit starts a new
    /// one with the whole prompt then.
    pub session_gone: bool,
    /// The code that the process of the adapter exits with.
    pub exit_code: i32,
}

impl AdapterError {
    /// Returns an agent that failed.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            class: FailureClass::Crash,
            phase: Phase::Agent,
            message: message.into(),
            hint: None,
            session_id: None,
            usage: None,
            turns: Vec::new(),
            session_gone: false,
            exit_code: 1,
        }
    }

    /// Returns an agent that could not be started.
    #[must_use]
    pub fn not_started(message: impl Into<String>) -> Self {
        Self {
            phase: Phase::Spawn,
            ..Self::failed(message)
        }
    }

    /// Says what kind of failure it is.
    #[must_use]
    pub fn class(self, class: FailureClass) -> Self {
        Self { class, ..self }
    }

    /// Adds what the user could do about it.
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
        supervision: Supervision::default(),
        attempt: None,
    }
}
