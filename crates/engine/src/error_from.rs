//! Errors of other crates as errors of operations.

use uwf_config::project::ReadError;
use uwf_thread::ThreadError;

use crate::EngineError;
use crate::artifact_error::ArtifactError;
use crate::files_error::FilesError;
use crate::sharing::error::SharingError;

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

impl From<SharingError> for EngineError {
    fn from(error: SharingError) -> Self {
        Self::Sharing(Box::new(error))
    }
}

impl From<FilesError> for EngineError {
    fn from(error: FilesError) -> Self {
        Self::Files(Box::new(error))
    }
}

impl From<ArtifactError> for EngineError {
    fn from(error: ArtifactError) -> Self {
        Self::Files(Box::new(FilesError::Artifact(error)))
    }
}
