//! Errors of the configuration. There is a variant for each thing that a caller can do about an error.

use std::path::{Path, PathBuf};

use uwf_durable::FileError;
use uwf_protocol::exit::Exit;
use uwf_storage::StorageError;

/// Why the configuration cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be parsed, or has a wrong value.
    #[error("`{}:{line}:{column}`: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// The column, from 1; 0 if it is not known.
        column: u64,
        /// What is wrong there.
        problem: String,
    },
    /// The configuration of a project cannot be parsed, or has a wrong key or value.
    #[error("`{}:{line}:{column}`: {problem}", path.display())]
    Project {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// The column, from 1; 0 if it is not known.
        column: u64,
        /// What is wrong there.
        problem: String,
    },
    /// The record of what the user trusts cannot be parsed.
    #[error("`{}:{line}:{column}`: {problem}", path.display())]
    TrustDamaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column, from 1; 0 if it is not known.
        column: u64,
        /// What is wrong there.
        problem: String,
    },
    /// There is no configuration yet.
    #[error("there is no config file `{}`", path.display())]
    NoConfig {
        /// Where it would be.
        path: PathBuf,
    },
    /// A key of the configuration does not exist, cannot exist, or cannot have that value.
    #[error("config key `{key}`: {problem}")]
    Key {
        /// The dotted key.
        key: String,
        /// Why not, and what would be right.
        problem: String,
    },
    /// The configuration has comments that the change would lose.
    #[error("`{key}` cannot be changed in `{}` without losing comments", path.display())]
    Comments {
        /// The file, which is not touched.
        path: PathBuf,
        /// The dotted key.
        key: String,
    },
    /// An agent cannot get the secrets that its entry names.
    #[error("{} of agent `{agent}` {} neither in `{}` nor in the environment", listed(names), if names.len() == 1 { "is" } else { "are" }, file.display())]
    NoSecrets {
        /// The alias of the agent.
        agent: String,
        /// The names of the variables, at least one.
        names: Vec<String>,
        /// The `.env` file.
        file: PathBuf,
    },
    /// Somebody else changed the configuration while it was edited.
    #[error("`{}` was changed meanwhile; your version is in `{}`", path.display(), copy.display())]
    ChangedMeanwhile {
        /// The file, which is not touched.
        path: PathBuf,
        /// The edited copy, which stays.
        copy: PathBuf,
    },
    /// A file under the root cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ConfigError {
    /// Returns the exit of a call that fails with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Invalid { .. }
            | Self::Project { .. }
            | Self::TrustDamaged { .. }
            | Self::NoConfig { .. }
            | Self::Key { .. }
            | Self::Comments { .. }
            | Self::NoSecrets { .. }
            | Self::ChangedMeanwhile { .. } => Exit::Request,
            Self::Storage(error) => error.exit(),
        }
    }

    /// Returns the error for a file that is not UTF-8.
    pub(crate) fn not_utf8(path: &Path) -> Self {
        Self::Invalid {
            path: path.to_owned(),
            line: 0,
            column: 0,
            problem: "bytes that are not UTF-8".to_owned(),
        }
    }
}

/// Returns the names of secrets for a message.
fn listed(names: &[String]) -> String {
    let secrets = if names.len() == 1 {
        "secret"
    } else {
        "secrets"
    };
    format!("{secrets} `{}`", names.join("`, `"))
}

impl From<FileError> for ConfigError {
    fn from(error: FileError) -> Self {
        Self::Storage(error.into())
    }
}
