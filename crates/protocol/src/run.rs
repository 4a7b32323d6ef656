//! The records of a thread's run, which lie beside the store: who works on the thread, which step is finished but not yet
//! committed, and which attempts failed. All of them can be deleted without losing a thread.

mod absorb;
mod answered;
mod merge;
mod thread_record;

use serde::{Deserialize, Serialize};
use uwf_pipeline::nodes::AttemptRecord;

pub use crate::chosen_agent::ChosenAgent;
use crate::failure::{self, FailureClass};
use crate::ids::{CasRef, RoleName};
use crate::nodes::Usage;
pub(crate) use merge::greater;

pub use answered::{Answered, RunningCheck, Said};
pub use thread_record::ThreadRecord;

/// Where a run of a pipeline stands at a head. It is a cache: the chain tells the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStanding {
    /// The head that it describes.
    pub head: CasRef,
    /// What comes next.
    pub next: NextOfRun,
}

/// What comes next in a run of a pipeline. Steps are named by their keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextOfRun {
    /// This step.
    Step(RoleName),
    /// Nothing: a failed step stopped the run.
    Stopped {
        /// The step.
        step: RoleName,
        /// Why it failed.
        message: String,
    },
    /// Nothing: the run is completed.
    End,
}

/// A step that the agent finished: written after the step's nodes, removed when the head has moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The finished step.
    pub step: CasRef,
    /// The head that the step links to.
    pub head: CasRef,
    /// The step that it replaces, if it was poked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: i64,
    /// The numbers of the failed attempts that worked on the answer, the first one first: the step counts their usage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer_of: Vec<u64>,
    /// The agent that finished the step. The lease record may not name it: its engine may have died before it could write
    /// that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ProcessIdentity>,
}

impl Pending {
    /// Returns the head that the thread must have for the step to be committed.
    #[must_use]
    pub fn expects(&self) -> CasRef {
        self.replaces.unwrap_or(self.head)
    }
}

/// A finished step that was not committed, because the thread's head had moved since the step started. The step stays in
/// the store, and can be forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedStep {
    /// The finished step.
    pub step: CasRef,
    /// The head that the step links to.
    pub head: CasRef,
    /// The step that it was to replace, if it was poked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// When it was refused, in milliseconds since 1970.
    pub at_ms: i64,
}

impl RefusedStep {
    /// Returns the head that the thread must have for the step to be committed after all.
    #[must_use]
    pub fn expects(&self) -> CasRef {
        self.replaces.unwrap_or(self.head)
    }
}

/// Names exactly one process. Its number alone does not: the kernel uses numbers again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessIdentity {
    /// The process number.
    pub pid: u32,
    /// When the process started, in the kernel's clock ticks since the machine started.
    pub started: u64,
    /// The start of the machine that both numbers belong to.
    pub boot: String,
}

impl ProcessIdentity {
    /// Tells whether a process with this number and this start, seen since this start of the machine, is the one meant.
    #[must_use]
    pub fn matches(&self, pid: u32, started: u64, boot: &str) -> bool {
        (self.pid, self.started, self.boot.as_str()) == (pid, started, boot)
    }
}

/// The record of a thread's lease: who does a step of the thread. The lock alone decides whether the thread is busy; the
/// record tells which processes to name and to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseRecord {
    /// The engine.
    pub engine: ProcessIdentity,
    /// The agent, which leads a process group of its own, once it is started.
    pub agent: Option<ProcessIdentity>,
    /// The label of the agent.
    #[serde(default)]
    pub label: String,
    /// The mark in the environment of all processes of the attempt, once the agent is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// The head that the step follows, once the agent is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CasRef>,
    /// The step that is done again, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// Whether processes that the agent leaves running when it succeeds may go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_running: bool,
    /// The role that works.
    pub role: RoleName,
    /// When the step started, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// Whether the engine still waits for a slot to start the agent in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    /// What a person said with `-p` of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The number of the attempt at the step, in a run of a pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The attempts at the step that failed before this one, in a run of a pipeline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<AttemptRecord>,
    /// How the agent was chosen, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ChosenAgent>,
}

impl LeaseRecord {
    /// Returns the record of an engine that has started no agent yet.
    #[must_use]
    pub fn before_agent(engine: ProcessIdentity, role: RoleName, started_at_ms: i64) -> Self {
        Self {
            engine,
            agent: None,
            label: String::new(),
            attempt: None,
            head: None,
            replaces: None,
            keep_running: false,
            role,
            started_at_ms,
            waiting: false,
            words: None,
            number: None,
            failed: Vec::new(),
            chosen: None,
        }
    }

    /// Tells whether the processes of the record are no agent, but help that its engine started before any agent: `git`, for
    /// a worktree. They do no paid work.
    #[must_use]
    pub fn is_before_agent(&self) -> bool {
        self.attempt.is_some() && self.agent.is_none() && self.head.is_none()
    }

    /// Tells whether a thread with this head is beyond the head that the attempt expects: its step was committed.
    #[must_use]
    pub fn is_behind(&self, head: CasRef) -> bool {
        let expected = self.replaces.or(self.head);
        expected.is_some_and(|expected| expected != head)
    }

    /// Tells whether this failed attempt is the one that the lease record is about.
    #[must_use]
    pub fn is_recorded_as(&self, attempt: &Attempt) -> bool {
        let place = (attempt.head, attempt.replaces, &attempt.role);
        attempt.started_at_ms == self.started_at_ms
            && self
                .head
                .is_some_and(|head| place == (head, self.replaces, &self.role))
    }
}

/// The agent's own session in which a step is being done. It is recorded as soon as the agent has started to work: if the
/// attempt is ended from outside, the next attempt continues the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedSession {
    /// The head that the step would follow.
    pub head: CasRef,
    /// The step that it would replace, if it is poked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// Who does it.
    pub role: RoleName,
    /// The key under which the agent's sessions are stored.
    pub agent: String,
    /// The session.
    pub session_id: String,
    /// The instruction that the session got.
    #[serde(default)]
    pub instruction: String,
}

/// A program that an adapter started for a step. A later attempt reads its output if this one could not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launched {
    /// The head that the step would follow.
    pub head: CasRef,
    /// The step that it would replace, if it is poked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// The role of the step.
    pub role: RoleName,
    /// The key under which the agent's sessions are stored.
    pub agent: String,
    /// How the program is called, apart from the prompt and the session.
    #[serde(default)]
    pub call: Vec<String>,
    /// The whole prompt. The output is an answer to this prompt only: another message of a person makes another prompt.
    #[serde(default)]
    pub prompt: String,
    /// The prompt that the program got, if it was not the whole prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the adapter saw the program succeed: then its output is complete.
    #[serde(default)]
    pub ended: bool,
    /// The number that its attempt gets if it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// What its attempt had used up before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_before: Option<Usage>,
    /// The mark of its attempt, if an engine started the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<ProcessIdentity>,
    /// The program, once it is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProcessIdentity>,
}

/// How far a failed attempt got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The agent could not be started.
    Spawn,
    /// The agent failed, hung, or was ended.
    Agent,
    /// The answer did not fit the role's schema.
    Extract,
    /// The checks of the role failed.
    Checks,
    /// What the agent printed was refused.
    Answer,
}

impl Phase {
    /// Returns the word for it, as in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Agent => "agent",
            Self::Extract => "extract",
            Self::Checks => "checks",
            Self::Answer => "answer",
        }
    }
}

/// A failed attempt at a step. The chain knows only steps that succeeded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Its number within the thread, from 1; 0 in a record without one.
    #[serde(default)]
    pub number: u64,
    /// The head that the step would have followed.
    pub head: CasRef,
    /// The step that it would have replaced, if it was poked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// Who was to do it.
    pub role: RoleName,
    /// The label of the agent.
    pub agent: String,
    /// The agent's alias in the config, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Where it worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// How far it got.
    pub phase: Phase,
    /// The class of the failure; records of older versions have none.
    #[serde(
        default,
        deserialize_with = "failure::if_known",
        skip_serializing_if = "Option::is_none"
    )]
    pub class: Option<FailureClass>,
    /// What went wrong.
    pub error: String,
    /// What the user could do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The exit code of the agent's process, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The feedback for the agent when its session continues; the error if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The end of what the agent wrote to stderr.
    pub stderr_tail: String,
    /// The agent's own session, which the next attempt continues.
    pub session_id: Option<String>,
    /// How long the provider asks to wait after the end of the attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What the attempt used up, if known.
    pub usage: Option<Usage>,
    /// Whether a person accepted that its usage is not fully known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown_accepted: bool,
    /// The step that counts its usage, because a later attempt made that step of its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_in: Option<CasRef>,
    /// The step that it finished, if that is kept beside the chain: the head of the thread had moved meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<CasRef>,
    /// Whether no engine saw its end: it may have taken longer than the times say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_unseen: bool,
    /// The message of a person for this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// How the agent was chosen; records of older versions do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ChosenAgent>,
    /// The text node with the last answer, if there was one.
    pub raw: Option<CasRef>,
    /// The observed turns of the agent, oldest first: nodes of turns.
    #[serde(default)]
    pub turns: Vec<CasRef>,
    /// When the attempt started, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When the attempt ended, in milliseconds since 1970.
    pub ended_at_ms: i64,
}

impl Attempt {
    /// How many failed attempts of a thread are kept, the newest ones.
    pub const KEPT: usize = 50;

    /// Returns an attempt of a role after a head, with all other fields empty.
    #[must_use]
    pub fn of(head: CasRef, role: RoleName) -> Self {
        Self {
            number: 0,
            head,
            replaces: None,
            role,
            agent: String::new(),
            alias: None,
            directory: None,
            phase: Phase::Agent,
            class: None,
            error: String::new(),
            hint: None,
            exit_code: None,
            feedback: None,
            stderr_tail: String::new(),
            session_id: None,
            retry_after_ms: None,
            usage: None,
            unknown_accepted: false,
            counted_in: None,
            kept: None,
            end_unseen: false,
            words: None,
            chosen: None,
            raw: None,
            turns: Vec::new(),
            started_at_ms: 0,
            ended_at_ms: 0,
        }
    }

    /// Returns the head that the thread had.
    #[must_use]
    pub fn at(&self) -> CasRef {
        self.replaces.unwrap_or(self.head)
    }

    /// Tells whether the attempt was ended from outside: then the agent and its session are not to blame.
    #[must_use]
    pub fn was_cut_off(&self) -> bool {
        self.end_unseen || self.class == Some(FailureClass::Cancelled)
    }
}

/// The report of the agent kit about its own failure, in a file of the run. The engine makes an [`Attempt`] of it when the
/// agent has exited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KitFailure {
    /// How far it got.
    pub phase: Phase,
    /// The class of the failure.
    #[serde(
        default,
        deserialize_with = "failure::if_known",
        skip_serializing_if = "Option::is_none"
    )]
    pub class: Option<FailureClass>,
    /// What went wrong.
    pub error: String,
    /// What the user could do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The feedback for the agent when its session continues; the error if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The agent's own session.
    pub session_id: Option<String>,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What the attempt used up, if known.
    pub usage: Option<Usage>,
    /// The text node with the last answer, if there was one.
    pub raw: Option<CasRef>,
    /// The observed turns of the agent, oldest first: nodes of turns.
    #[serde(default)]
    pub turns: Vec<CasRef>,
}
