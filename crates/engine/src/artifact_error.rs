//! Errors about artefacts.

use std::path::PathBuf;

use uwf_cas_fs::BytesError;
use uwf_protocol::ids::CasRef;

/// Why an artefact cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The step has no artefact with this path.
    #[error("step `{step}` has no artefact `{path}`")]
    Unknown {
        /// The step.
        step: CasRef,
        /// The path.
        path: String,
        /// The nearest path that it has, if one is near.
        near: Option<String>,
    },
    /// The agent left the file, and it was not kept.
    #[error("`{path}` was not kept: {problem}")]
    LeftOut {
        /// The path.
        path: String,
        /// Why.
        problem: String,
    },
    /// Files are where artefacts would be written.
    #[error("`{}` exists already in `{}`", paths.join("`, `"), folder.display())]
    Exists {
        /// The folder.
        folder: PathBuf,
        /// The paths in it.
        paths: Vec<String>,
    },
    /// A file cannot be written.
    #[error("cannot write `{path}` in `{}`: {problem}", folder.display())]
    NotWritten {
        /// The folder.
        folder: PathBuf,
        /// The path in it.
        path: String,
        /// What went wrong.
        problem: String,
    },
    /// The bytes cannot be read or written.
    #[error("artefact `{path}`: {source}")]
    Bytes {
        /// The path.
        path: String,
        /// What went wrong.
        source: BytesError,
    },
}
