//! The exit codes of errors of operations.

use uwf_protocol::exit::Exit;

use crate::EngineError;
use crate::bundle::BundleError;
use crate::store_error::store_exit;

impl EngineError {
    /// Returns the exit code that this error means.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "it is a list of all errors")]
    pub fn exit(&self) -> Exit {
        match self {
            Self::UnknownThread(_)
            | Self::Removed(_)
            | Self::NotEnded { .. }
            | Self::NotSuspended(_)
            | Self::NoStep(_)
            | Self::Checks(_)
            | Self::Blocked { .. }
            | Self::NoWayOn { .. }
            | Self::Misfit { .. }
            | Self::AnswerWaits { .. }
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
            | Self::WorkflowUse(_)
            | Self::WrongType { .. }
            | Self::StartIsNoStep { .. }
            | Self::Raise(_)
            | Self::NoAttempt { .. }
            | Self::NoProgram { .. }
            | Self::StepNotInThread { .. }
            | Self::NothingInUse(_)
            | Self::SharedStore(_)
            | Self::NoRoot { .. }
            | Self::ForeignState(_)
            | Self::NoNodes(_) => Exit::Request,
            Self::Bundle(BundleError::Unreadable(_)) | Self::NoThreads(_) => Exit::Store,
            Self::Bundle(_) | Self::Foreign(_) | Self::Io { .. } => Exit::Request,
            Self::Ended { .. }
            | Self::HeadMoved {
                has_ended: true, ..
            } => Exit::Ended,
            Self::Suspended { .. } | Self::Paused { .. } | Self::Limit { .. } => Exit::Suspended,
            // A signal ended the call: the exit code says so, even if processes are left.
            Self::Survivors {
                failed: Some(failed),
                ..
            } if matches!(**failed, Self::Interrupted { .. }) => failed.exit(),
            Self::Busy { .. }
            | Self::Waiting(_)
            | Self::Survivors { .. }
            | Self::TakenOver(_)
            | Self::OtherHead { .. }
            | Self::HeadMoved { .. }
            | Self::NotEvaluated(_)
            | Self::NoSlot { .. } => Exit::Busy,
            Self::Unrouted { source, .. } => source.exit(),
            Self::Child(error) => error.exit(),
            Self::Files(error) => error.exit(),
            Self::Review(error) => error.exit(),
            Self::Workspace(error) => error.exit(),
            Self::Pipeline(error) => error.exit(),
            Self::Sharing(error) => error.exit(),
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
