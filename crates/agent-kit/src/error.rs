//! The errors of the kit itself, before and after the agent.

use uwf_cas_fs::StoreError;
use uwf_config::ConfigError;
use uwf_protocol::failure::FULL_DISK_HINT;
use uwf_protocol::ids::{CasRef, IdError, RoleName, ThreadId};
use uwf_protocol::permissions::UnknownPermissions;
use uwf_protocol::workflow_stored::StoredError;
use uwf_schema::SchemaError;
use uwf_storage::StorageError;
use uwf_thread::{Expected, ThreadError};

/// Why the kit could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum KitError {
    /// Another step of the thread is running.
    #[error("thread `{thread}` is busy")]
    Busy {
        /// The thread.
        thread: ThreadId,
    },
    /// No active thread has this id.
    #[error("there is no active thread `{thread}`")]
    NoThread {
        /// The id.
        thread: ThreadId,
    },
    /// The thread's workflow has no such role.
    #[error("the workflow `{workflow}` has no role `{role}`")]
    NoRole {
        /// The role that was asked for.
        role: RoleName,
        /// The name of the workflow.
        workflow: String,
        /// The roles that it has.
        known: Vec<RoleName>,
    },
    /// A node is not what its place in the thread asks for.
    #[error("node `{hash}` is not {expected}")]
    Unexpected {
        /// The node.
        hash: CasRef,
        /// What it should be.
        expected: &'static str,
    },
    /// The thread's workflow cannot be read.
    #[error("the workflow `{hash}` cannot be read")]
    Workflow {
        /// The workflow node.
        hash: CasRef,
        /// Why.
        source: StoredError,
    },
    /// The role's schema is not a usable schema.
    #[error("the schema of the role cannot be used")]
    Schema(#[from] SchemaError),
    /// A variable of the environment that must hold a hash does not.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The engine gives permissions that are not known here.
    #[error(transparent)]
    Permissions(#[from] UnknownPermissions),
    /// The config, which has prices, cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What a check prints cannot be kept.
    #[error("the output of a check cannot be kept")]
    Checks(#[source] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The storage root failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<ThreadError> for KitError {
    fn from(error: ThreadError) -> Self {
        match error {
            ThreadError::WrongType { hash, expected, .. } => Self::Unexpected {
                hash,
                expected: match expected {
                    Expected::Start => "the start of a thread",
                    Expected::Step => "a step",
                    Expected::Head => "the start of a thread or a step",
                },
            },
            ThreadError::Workflow { hash, source, .. } => Self::Workflow { hash, source },
            ThreadError::Store(error) => Self::Store(error),
        }
    }
}

impl KitError {
    /// Tells whether the disk is full.
    #[must_use]
    pub fn is_of_full_disk(&self) -> bool {
        uwf_durable::is_of_full_disk(self)
    }

    /// Returns what the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { thread } => Some(format!(
                "try again later; `uwf thread show {thread}` tells what it does"
            )),
            Self::NoThread { .. } => Some("`uwf thread list` shows the active threads".to_owned()),
            Self::NoRole { known, .. } => {
                let known: Vec<&str> = known.iter().map(RoleName::as_str).collect();
                Some(format!("its roles are {}", known.join(", ")))
            }
            Self::Store(StoreError::Damaged { .. }) => {
                Some("`uwf cas verify` lists every damaged node".to_owned())
            }
            Self::Config(ConfigError::Invalid { .. }) => {
                Some("`uwf config validate` tells all that is wrong with it".to_owned())
            }
            error => error.is_of_full_disk().then(|| FULL_DISK_HINT.to_owned()),
        }
    }
}
