//! Why a command about the name of a workflow cannot do what it is asked for.

/// Why a name does not mean what a command needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowNameError {
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
}
