//! What can go wrong in an operation, by what the caller can do about it. What to type next is for the command line to say.

mod describe;

use std::path::PathBuf;

use uwf_cas_fs::StoreError;
use uwf_config::ConfigError;
use uwf_config::project::ReadError;
use uwf_moderator::RouteError;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::{RaiseError, Reached};
use uwf_protocol::run::LeaseRecord;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::{Reason, StorageError};
use uwf_thread::ThreadError;
use uwf_util::words::SplitError;

pub use self::describe::agent_option;
use self::describe::{describe_owner, describe_reason};
pub(crate) use self::describe::{describe_reached, signal_name};
use crate::read::report::StepReport;
use crate::run::failure::AgentFailure;
use crate::store_error::store_exit;

/// Why an operation did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No thread has this id.
    #[error("thread `{0}` does not exist")]
    UnknownThread(ThreadId),
    /// The thread is in the history.
    #[error("thread `{thread}` has ended: it is {}", describe_reason(*reason))]
    Ended {
        /// The thread.
        thread: ThreadId,
        /// How it ended.
        reason: Reason,
    },
    /// The thread waits for a person.
    #[error("thread `{thread}` is suspended: `{role}` asks: {message}")]
    Suspended {
        /// The thread.
        thread: ThreadId,
        /// Who asks.
        role: RoleName,
        /// What is asked.
        message: String,
    },
    /// The thread has reached a limit.
    #[error("thread `{thread}` is suspended: {}", describe_reached(reached))]
    Limit {
        /// The thread.
        thread: ThreadId,
        /// The limits.
        reached: Vec<Reached>,
        /// The command of `uwf thread` that was refused, and may raise them.
        command: &'static str,
    },
    /// A step was to be done again in a thread that has none.
    #[error("thread `{0}` has no step yet")]
    NoStep(ThreadId),
    /// No failed attempt of the thread has this number.
    #[error("thread `{thread}` has no failed attempt {number}")]
    NoAttempt {
        /// The thread.
        thread: ThreadId,
        /// The number.
        number: u64,
    },
    /// A limit cannot be raised like this.
    #[error(transparent)]
    Raise(#[from] RaiseError),
    /// As many agents are at work as may be, and the caller does not want to wait.
    #[error("no slot is free for thread `{thread}`: {full}")]
    NoSlot {
        /// The thread.
        thread: ThreadId,
        /// What is full, and who works.
        full: String,
    },
    /// `resume` was asked for a thread that does not wait.
    #[error("thread `{0}` is not suspended")]
    NotSuspended(ThreadId),
    /// Another process holds the thread.
    #[error("thread `{thread}` is busy{}", describe_owner(.lease.as_deref(), *.orphaned))]
    Busy {
        /// The thread.
        thread: ThreadId,
        /// Who holds it, if the record could be read.
        lease: Option<Box<LeaseRecord>>,
        /// Whether the engine that is named there is gone, and its agent still works.
        orphaned: bool,
    },
    /// Processes of an attempt live on, though its engine died or could not end them.
    #[error("thread `{thread}` is busy: something of an attempt still runs: {}", .processes.join(", "))]
    Survivors {
        /// The thread.
        thread: ThreadId,
        /// The processes, for people.
        processes: Vec<String>,
        /// Why the attempt had failed before that, if this call ran it.
        #[source]
        failed: Option<Box<EngineError>>,
    },
    /// The system does not tell processes apart.
    #[error("`/proc` is not mounted: without it, agents and what they start cannot be supervised")]
    NoProc,
    /// The thread's head moved, or the thread ended, while a step ran.
    #[error(
        "thread `{thread}` changed while `{role}` worked: step `{step}` is stored but the thread is {found}"
    )]
    HeadMoved {
        /// The thread.
        thread: ThreadId,
        /// Who worked.
        role: RoleName,
        /// The step that was not committed.
        step: CasRef,
        /// What the thread is now.
        found: String,
    },
    /// No edge leads on from the thread's head.
    #[error("thread `{thread}` is blocked: the graph gives no next step")]
    Blocked {
        /// The thread.
        thread: ThreadId,
        /// Why.
        source: RouteError,
    },
    /// The agent failed; the attempt is on record.
    #[error(transparent)]
    Agent(#[from] Box<AgentFailure>),
    /// A signal ended the call, and the agent with it; the attempt is on record.
    #[error("interrupted by {}; the agent was ended", signal_name(*signal))]
    Interrupted {
        /// The signal.
        signal: i32,
        /// What was tried.
        attempt: Box<AgentFailure>,
    },
    /// A signal ended the call before the agent was started.
    #[error("interrupted by {}; no agent was started", signal_name(*.0))]
    NotStarted(i32),
    /// A signal ended the call while it waited for a slot.
    #[error("interrupted by {} while waiting for a slot; no agent was started", signal_name(*.0))]
    WaitInterrupted(i32),
    /// A signal ended the call while a condition was evaluated.
    #[error("interrupted by {} while the conditions of the workflow were evaluated", signal_name(*.0))]
    RouteInterrupted(i32),
    /// The conditions of a workflow could not be evaluated for a reason that is not theirs and may pass.
    #[error("the conditions of the workflow cannot be evaluated now: {0}")]
    NotEvaluated(String),
    /// A step is recorded, and something kept us from finding out what follows it.
    #[error("step `{}` is recorded: what follows it is not known yet", .report.head)]
    Unrouted {
        /// The step.
        report: Box<StepReport>,
        /// What kept us from it.
        source: Box<EngineError>,
    },
    /// No agent is configured for the role.
    #[error("no agent is configured for role `{role}` of workflow `{workflow}`")]
    NoAgent {
        /// The workflow's name.
        workflow: String,
        /// The role.
        role: RoleName,
    },
    /// An alias that the config does not define.
    #[error("agent `{alias}` is not defined under `agents` in the config")]
    UnknownAgent {
        /// The alias.
        alias: String,
        /// The alias that it may have been meant to be.
        near: Option<String>,
    },
    /// `--agent` with what is neither an alias nor a program.
    #[error("`{word}` is neither an agent of the config nor a program")]
    NoProgram {
        /// What was asked for.
        word: String,
        /// The alias or the built-in agent that it may have been meant to be.
        near: Option<String>,
    },
    /// `--agent` with what no shell would take for a command line.
    #[error("`--agent` is not a command line: {0}")]
    AgentWords(#[from] SplitError),
    /// `--agent` without an agent.
    #[error("`--agent` is empty")]
    EmptyAgent,
    /// The system cannot pass the instruction as an argument.
    #[error("the instruction for `{role}` cannot be passed as `--prompt`: {problem}")]
    NoArgument {
        /// The role.
        role: RoleName,
        /// Why not.
        problem: String,
    },
    /// A value of the config that cannot be used.
    #[error("config value `{key}` cannot be used: {problem}")]
    Config {
        /// The dotted key.
        key: String,
        /// What is wrong.
        problem: String,
    },
    /// The working directory of a thread or step is not there.
    #[error("working directory `{0}` does not exist or is not a directory")]
    NoDirectory(String),
    /// The directory is not there to which the graph sends a role.
    #[error("the `location` of `{role}`, `{path}`, does not exist or is not a directory")]
    NoLocation {
        /// The role.
        role: RoleName,
        /// The directory.
        path: String,
    },
    /// The prompt has no text.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// A workflow file has errors.
    #[error("workflow has {} {}", .0.len(), if .0.len() == 1 { "error" } else { "errors" })]
    Workflow(Vec<Diagnostic>),
    /// There is no workflow file at a path.
    #[error("cannot read `{}`", file.display())]
    NoFile {
        /// The path, as it was typed.
        file: PathBuf,
        /// The file that it may have been meant to be.
        near: Option<String>,
        /// What the system says.
        source: std::io::Error,
    },
    /// A workflow reference leads nowhere.
    #[error("workflow `{name}` was not found")]
    UnknownWorkflow {
        /// What was asked for.
        name: String,
        /// The workflow or file that it may have been meant to be.
        near: Option<String>,
    },
    /// A node is there but is not what it should be.
    #[error("node `{hash}` is not a {expected} (its type is `{found}`)")]
    WrongType {
        /// The node.
        hash: CasRef,
        /// What was expected.
        expected: &'static str,
        /// The hash of its schema.
        found: CasRef,
    },
    /// A step hash that is not in the thread.
    #[error("step `{step}` is not a step of thread `{thread}`")]
    StepNotInThread {
        /// The step.
        step: CasRef,
        /// The thread.
        thread: ThreadId,
    },
    /// Nothing refers to any node: who uses the store is not known.
    #[error("nothing under `{}` says which nodes are in use", .0.display())]
    NothingInUse(PathBuf),
    /// No thread is on record, though the store has the start of one.
    #[error(
        "no thread is on record, and the store has the start of one, `{0}`: the files of the state are lost"
    )]
    NoThreads(CasRef),
    /// The store is not the root's own.
    #[error("the store `{}` is not this root's own: other roots may use it", .0.display())]
    SharedStore(PathBuf),
    /// A directory that was named as a root is none.
    #[error("`{}` is not a storage root", root.display())]
    NoRoot {
        /// The directory.
        root: PathBuf,
        /// The file of the store that lists its roots.
        list: PathBuf,
    },
    /// Another program keeps its references to nodes where they cannot be read.
    #[error("another program keeps references to nodes in `{}`", .0.display())]
    ForeignState(PathBuf),
    /// The content-addressed store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration cannot be read.
    #[error(transparent)]
    ConfigFile(#[from] ConfigError),
    /// The mutable state failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file operation failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried, with the path.
        action: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl From<ThreadError> for EngineError {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::WrongType {
                hash,
                expected,
                found,
            } => Self::WrongType {
                hash,
                expected: expected.as_str(),
                found,
            },
            ThreadError::Workflow { hash, found, .. } => Self::WrongType {
                hash,
                expected: "workflow",
                found,
            },
            ThreadError::Store(error) => Self::Store(error),
        }
    }
}

impl From<ReadError> for EngineError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::File(error) => Self::Storage(error),
            ReadError::Workflow(problems) => Self::Workflow(problems),
        }
    }
}

impl EngineError {
    /// Returns the failed attempt that this error is about, if it is about one.
    #[must_use]
    pub fn attempt(&self) -> Option<&AgentFailure> {
        match self {
            Self::Agent(failure) => Some(failure),
            Self::Interrupted { attempt, .. } => Some(attempt),
            Self::Survivors {
                failed: Some(failed),
                ..
            } => failed.attempt(),
            _ => None,
        }
    }

    /// Returns the exit code that this error means.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::UnknownThread(_)
            | Self::NotSuspended(_)
            | Self::NoStep(_)
            | Self::Blocked { .. }
            | Self::NoAgent { .. }
            | Self::UnknownAgent { .. }
            | Self::Config { .. }
            | Self::NoDirectory(_)
            | Self::NoLocation { .. }
            | Self::EmptyPrompt
            | Self::EmptyAgent
            | Self::AgentWords(_)
            | Self::NoProc
            | Self::NoArgument { .. }
            | Self::Workflow(_)
            | Self::UnknownWorkflow { .. }
            | Self::NoFile { .. }
            | Self::WrongType { .. }
            | Self::Raise(_)
            | Self::NoAttempt { .. }
            | Self::NoProgram { .. }
            | Self::StepNotInThread { .. }
            | Self::NothingInUse(_)
            | Self::SharedStore(_)
            | Self::NoRoot { .. }
            | Self::ForeignState(_)
            | Self::Io { .. } => Exit::Request,
            Self::NoThreads(_) => Exit::Store,
            Self::Ended { .. } => Exit::Ended,
            Self::Suspended { .. } | Self::Limit { .. } => Exit::Suspended,
            // Who told us to stop is told that we did.
            Self::Survivors {
                failed: Some(failed),
                ..
            } if matches!(**failed, Self::Interrupted { .. }) => failed.exit(),
            Self::Busy { .. }
            | Self::Survivors { .. }
            | Self::HeadMoved { .. }
            | Self::NotEvaluated(_)
            | Self::NoSlot { .. } => Exit::Busy,
            Self::Unrouted { source, .. } => source.exit(),
            Self::Agent(_) => Exit::Agent,
            Self::Interrupted { signal, .. }
            | Self::NotStarted(signal)
            | Self::WaitInterrupted(signal)
            | Self::RouteInterrupted(signal) => Exit::Signal(*signal),
            Self::Store(error) => store_exit(error),
            Self::ConfigFile(error) => error.exit(),
            Self::Storage(error) => error.exit(),
        }
    }
}
