//! The errors of operations, by what the caller can do about them. The command line says what to type next.

pub(crate) mod about;
mod exit;

use std::path::PathBuf;

use uwf_cas_fs::StoreError;
use uwf_config::ConfigError;
use uwf_foreign::ForeignError;
use uwf_moderator::RouteError;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::{RaiseError, Reached};
use uwf_protocol::run::LeaseRecord;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::{Paused, Reason, RemovedThread, StorageError};
use uwf_util::shell_words::SplitError;
use uwf_util::text::counted;

use crate::agent_failure::AgentFailure;
use crate::bundle::BundleError;
use crate::check_error::CheckError;
use crate::child_error::ChildError;
use crate::describe::{
    describe_loss, describe_owner, describe_pause, describe_reached, describe_reason, signal_name,
    utc,
};
use crate::files_error::FilesError;
use crate::pipelines::error::PipelineError;
use crate::planned_try::Waiting;
use crate::read::report::StepReport;
use crate::rebase::Misfit;
use crate::review_error::ReviewError;
use crate::sharing::error::SharingError;
use crate::unfound::Unfound;
use crate::waiting_answer::{Drops, WaitingAnswer};
use crate::workflow_use_error::WorkflowUseError;
use crate::workspace_error::WorkspaceError;

/// Why an operation did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No thread has this id.
    #[error("thread `{}` does not exist", .0.what)]
    UnknownThread(Unfound<ThreadId>),
    /// The thread was removed.
    #[error("thread `{}` was removed at {} UTC", .0.what.removed, uwf_util::time::format_utc(.0.what.removed_at))]
    Removed(Box<Unfound<RemovedThread>>),
    /// A thread is to be removed that has not ended.
    #[error(
        "thread `{thread}` has not ended: {}",
        describe_loss(*steps, *has_finished_step, *is_shared)
    )]
    NotEnded {
        /// The thread.
        thread: ThreadId,
        /// How many steps it has, if its nodes can be read.
        steps: Option<u64>,
        /// Whether a finished step waits to be committed.
        has_finished_step: bool,
        /// Whether it is shared: then it is only forgotten here.
        is_shared: bool,
    },
    /// A person paused the thread.
    #[error("thread `{thread}` is paused {}", describe_pause(paused, &utc(paused.at)))]
    Paused {
        /// The thread.
        thread: ThreadId,
        /// Who paused it, when and why.
        paused: Paused,
    },
    /// The thread has ended.
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
    /// A model's review of the thread is the cause.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// Something about runs of pipelines.
    #[error(transparent)]
    Pipeline(Box<PipelineError>),
    /// Something about the files that steps changed.
    #[error(transparent)]
    Files(Box<FilesError>),
    /// The checks of a role stand in the way.
    #[error(transparent)]
    Checks(#[from] CheckError),
    /// Something about the place where an agent works.
    #[error(transparent)]
    Workspace(Box<WorkspaceError>),
    /// Something about threads that several machines work on.
    #[error(transparent)]
    Sharing(Box<SharingError>),
    /// `poke` was called for a thread without a step.
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
    /// No slot is free, and the caller does not want to wait.
    #[error("no slot is free for thread `{thread}`: {full}")]
    NoSlot {
        /// The thread.
        thread: ThreadId,
        /// What is full, and who works.
        full: String,
    },
    /// `resume` was called for a thread that is not suspended.
    #[error("thread `{0}` is not suspended")]
    NotSuspended(ThreadId),
    /// Another process works on the thread.
    #[error("thread `{thread}` is busy{}", describe_owner(.lease.as_deref(), *.orphaned))]
    Busy {
        /// The thread.
        thread: ThreadId,
        /// Who works on it, if the record could be read.
        lease: Option<Box<LeaseRecord>>,
        /// Whether the engine of that record has died and its agent still works.
        orphaned: bool,
    },
    /// The thread waits for the time of its next attempt.
    #[error(transparent)]
    Waiting(#[from] Box<Waiting>),
    /// Processes of an attempt still run: its engine died, or could not end them.
    #[error("thread `{thread}` is busy: processes of an attempt still run: {}", .processes.join(", "))]
    Survivors {
        /// The thread.
        thread: ThreadId,
        /// The processes, for people.
        processes: Vec<String>,
        /// Why the attempt had failed before that, if this call ran it.
        #[source]
        failed: Option<Box<EngineError>>,
    },
    /// The system gives no information about processes.
    #[error("`/proc` is not mounted: without it, agents and what they start cannot be supervised")]
    NoProc,
    /// The thread has another head than the caller saw.
    #[error(
        "thread `{thread}` has changed: its head is `{head}` and not `{seen}` any more; nothing was done"
    )]
    OtherHead {
        /// The thread.
        thread: ThreadId,
        /// The head that the caller saw.
        seen: CasRef,
        /// The head that it has.
        head: CasRef,
    },
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
        /// Whether the thread has ended, here or at the remote.
        has_ended: bool,
    },
    /// No edge leads on from the thread's head.
    #[error("thread `{thread}` is blocked: the graph gives no next step")]
    Blocked {
        /// The thread.
        thread: ThreadId,
        /// Why.
        source: RouteError,
    },
    /// Another workflow gives no next step where the thread stands.
    #[error("thread `{thread}` cannot go on under workflow `{workflow}`")]
    NoWayOn {
        /// The thread.
        thread: ThreadId,
        /// The other workflow.
        workflow: CasRef,
        /// Why.
        source: Box<RouteError>,
    },
    /// Another workflow decides by an output that does not fit its schemas.
    #[error(
        "thread `{thread}` cannot go on under workflow `{workflow}`: the output of step `{}` does not fit the schema of role `{}` there: {}",
        misfit.step, misfit.role, misfit.problems.join("; ")
    )]
    Misfit {
        /// The thread.
        thread: ThreadId,
        /// The other workflow.
        workflow: CasRef,
        /// The step.
        misfit: Box<Misfit>,
    },
    /// A program finished after its engine and its adapter had died. No step has its answer yet.
    #[error(
        "an answer of `{}` waits in thread `{thread}`: no step has it yet, and this command would drop it{drops}",
        answer.role
    )]
    AnswerWaits {
        /// The thread.
        thread: ThreadId,
        /// The answer.
        answer: Box<WaitingAnswer>,
        /// Why the command would drop it.
        drops: Drops,
    },
    /// The agent failed; the attempt is on record.
    #[error(transparent)]
    Agent(#[from] Box<AgentFailure>),
    /// A signal ended the call and its agent; the attempt is on record.
    #[error("interrupted by {}; the agent was ended", signal_name(*signal))]
    Interrupted {
        /// The signal.
        signal: i32,
        /// The failed attempt.
        attempt: Box<AgentFailure>,
    },
    /// Another machine has taken the shared thread over, and the agent was ended; the attempt is on record.
    #[error("{}", .0.problem)]
    TakenOver(Box<AgentFailure>),
    /// A signal ended the call before the agent was started.
    #[error("interrupted by {}; no agent was started", signal_name(*.0))]
    NotStarted(i32),
    /// A signal ended the call while it waited for a slot or a working tree.
    #[error("interrupted by {} while waiting; no agent was started", signal_name(*.0))]
    WaitInterrupted(i32),
    /// A signal ended the call while a condition was evaluated.
    #[error("interrupted by {} while the conditions of the workflow were evaluated", signal_name(*.0))]
    RouteInterrupted(i32),
    /// The conditions of a workflow could not be evaluated, for a temporary reason outside of them.
    #[error("the conditions of the workflow cannot be evaluated now: {0}")]
    NotEvaluated(String),
    /// A step is committed, but the route after it could not be found.
    #[error("step `{}` is recorded: what follows it is not known yet", .report.head)]
    Unrouted {
        /// The step.
        report: Box<StepReport>,
        /// Why the route could not be found.
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
        /// The nearest alias.
        near: Option<String>,
    },
    /// `--agent` names neither an alias nor a program.
    #[error("`{word}` is neither an agent of the config nor a program")]
    NoProgram {
        /// The first word of the option.
        word: String,
        /// The nearest alias or built-in agent.
        near: Option<String>,
    },
    /// `--agent` cannot be split into words as a shell does it.
    #[error("`--agent` is not a command line: {0}")]
    AgentWords(#[from] SplitError),
    /// `--agent` is empty.
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
    /// The directory to which the graph sends a role does not exist.
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
    #[error("workflow has {}", counted(.0.len(), "error"))]
    Workflow(Vec<Diagnostic>),
    /// There is no workflow file at a path.
    #[error("cannot read `{}`", file.display())]
    NoFile {
        /// The path, as it was typed.
        file: PathBuf,
        /// The nearest file.
        near: Option<String>,
        /// What the system says.
        source: std::io::Error,
    },
    /// The child threads of a step did not get on.
    #[error(transparent)]
    Child(#[from] Box<ChildError>),
    /// A workflow reference leads nowhere.
    #[error("workflow `{name}` was not found")]
    UnknownWorkflow {
        /// What was asked for.
        name: String,
        /// The nearest workflow or file.
        near: Option<String>,
    },
    /// A workflow, or its name, cannot be used as it was asked for.
    #[error(transparent)]
    WorkflowUse(#[from] WorkflowUseError),
    /// A node has another type than expected.
    #[error("node `{hash}` is not a {expected} (its type is `{found}`)")]
    WrongType {
        /// The node.
        hash: CasRef,
        /// What was expected.
        expected: &'static str,
        /// The hash of its schema.
        found: CasRef,
    },
    /// The start of a thread in the place of a step.
    #[error("node `{start}` is the start of a thread and no step")]
    StartIsNoStep {
        /// The start.
        start: CasRef,
    },
    /// A step hash that is not in the thread.
    #[error("step `{step}` is not a step of thread `{thread}`")]
    StepNotInThread {
        /// The step.
        step: CasRef,
        /// The thread.
        thread: ThreadId,
    },
    /// The root refers to no node, so collecting garbage would remove everything.
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
    /// A directory that was named as a root is not a storage root.
    #[error("`{}` is not a storage root", root.display())]
    NoRoot {
        /// The directory.
        root: PathBuf,
        /// The file of the store that lists its roots.
        list: PathBuf,
    },
    /// Another program keeps references to nodes in a file that we cannot read.
    #[error("another program keeps references to nodes in `{}`", .0.display())]
    ForeignState(PathBuf),
    /// A folder that was named as a source of nodes has none.
    #[error("`{}` is neither a root nor a store: it has no nodes", .0.display())]
    NoNodes(PathBuf),
    /// The state of another program cannot be read.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// Threads cannot travel.
    #[error(transparent)]
    Bundle(#[from] BundleError),
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
