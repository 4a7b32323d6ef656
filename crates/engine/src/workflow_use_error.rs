//! Why a workflow, or its name, cannot be used as it was asked for.

/// Why a workflow cannot be used, or why its name does not mean what a command needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowUseError {
    /// No file of the project is the workflow of the name.
    #[error("no file of this project is the workflow `{0}`")]
    NotLocal(String),
    /// The name has no earlier version.
    #[error("the name `{0}` has no earlier version")]
    NothingEarlier(String),
    /// The name did not stand for the version that it is to stand for again.
    #[error("the name `{name}` never stood for a version `{wanted}`")]
    NoVersion {
        /// The name.
        name: String,
        /// The version, as it was typed.
        wanted: String,
    },
    /// The name is only in the registry of other programs.
    #[error("the name `{0}` is in `workflows.yaml`, which other programs write")]
    Foreign(String),
    /// The workflows that play its roles are too many below each other.
    #[error(
        "workflow `{workflow}` needs a child thread with {depth} threads above it, and {most} are allowed"
    )]
    TooDeep {
        /// The name of the workflow.
        workflow: String,
        /// How many threads would be above a child thread.
        depth: u64,
        /// How many may be.
        most: u64,
    },
}
