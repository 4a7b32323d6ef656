//! The errors of runs of pipelines.

use std::path::PathBuf;

use uwf_pipeline::Failure;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_runner::RunError;

use super::resume_error::ResumeError;
use crate::EngineError;
use crate::describe::signal_name;

/// Why something could not be done with a run.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The thread is no run of a pipeline.
    #[error("thread `{0}` is no run of a pipeline")]
    NoRun(ThreadId),
    /// The program is a pipeline, and a workflow of roles is needed.
    #[error("`{0}` is a pipeline, and not a workflow of roles")]
    NoGraph(CasRef),
    /// The file is a pipeline, and a workflow of roles is needed.
    #[error("`{}` is a pipeline, and not a workflow of roles", file.display())]
    NoRoles {
        /// The file, as the user typed it.
        file: PathBuf,
    },
    /// The thread is a run of a pipeline, and the command is for threads of workflows.
    #[error("thread `{0}` is a run of a pipeline")]
    IsRun(ThreadId),
    /// The pipeline of the run has no such step.
    #[error("the run has no step `{step}`")]
    NoSuchStep {
        /// The run.
        thread: ThreadId,
        /// What was asked for.
        step: String,
        /// The keys of its steps.
        keys: Vec<String>,
    },
    /// A failed step has stopped the run: no step is done before a person lets it go on.
    #[error("the run of thread `{thread}` has failed: {message}")]
    Stopped {
        /// The thread.
        thread: ThreadId,
        /// Which step failed, and why.
        message: String,
    },
    /// A signal told this process to stop.
    #[error("the run of thread `{thread}` was interrupted by {}", signal_name(*.signal))]
    Interrupted {
        /// The thread.
        thread: ThreadId,
        /// The signal.
        signal: i32,
    },
    /// A person said something to a run. None of its steps could be told.
    #[error("thread `{0}` is a run of a pipeline, and none of its steps takes a message")]
    NoMessage(ThreadId),
    /// The newest step of a run was to be done again.
    #[error("thread `{0}` is a run of a pipeline, and none of its steps is replaced")]
    NotReplaced(ThreadId),
    /// A run was to go on under another workflow.
    #[error("thread `{0}` is a run of a pipeline, and does not go on under another workflow")]
    NotMigrated(ThreadId),
    /// A node of a run does not have its shape.
    #[error("node `{hash}` is malformed: {problem}")]
    Malformed {
        /// The node.
        hash: CasRef,
        /// What is wrong with it.
        problem: String,
    },
    /// A task could not be done, and the step is not the cause.
    #[error(transparent)]
    Task(RunError),
    /// There is a run of this id already.
    #[error("there is a run `{run_id}` already, in `{}`", folder.display())]
    IdTaken {
        /// The id.
        run_id: String,
        /// Its folder.
        folder: PathBuf,
    },
    /// The run cannot be made, or cannot go on, as it was asked.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The run cannot go on as a person asked.
    #[error(transparent)]
    Resume(ResumeError),
}

impl PipelineError {
    /// Returns the exit code that this error means.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Stopped { .. } => Exit::Suspended,
            Self::Interrupted { signal, .. } => Exit::Signal(*signal),
            Self::Malformed { .. } => Exit::Store,
            Self::NoRun(_)
            | Self::NoGraph(_)
            | Self::NoRoles { .. }
            | Self::IsRun(_)
            | Self::NoMessage(_)
            | Self::NotReplaced(_)
            | Self::NotMigrated(_)
            | Self::NoSuchStep { .. }
            | Self::Resume(_)
            | Self::Task(_)
            | Self::IdTaken { .. }
            | Self::Refused(_) => Exit::Request,
        }
    }
}

impl From<PipelineError> for EngineError {
    fn from(error: PipelineError) -> Self {
        Self::Pipeline(Box::new(error))
    }
}

impl From<ResumeError> for EngineError {
    fn from(error: ResumeError) -> Self {
        PipelineError::Resume(error).into()
    }
}

impl From<RunError> for EngineError {
    fn from(error: RunError) -> Self {
        PipelineError::Task(error).into()
    }
}
