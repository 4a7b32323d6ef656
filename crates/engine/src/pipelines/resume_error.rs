//! Why a run cannot go on as a person asked. Nothing was recorded then.

use std::path::PathBuf;

use uwf_pipeline::course::{AcceptError, Spot};
use uwf_protocol::ids::ThreadId;

use crate::unfound::Unfound;

/// Why a run cannot go on as a person asked.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The workflow file means something else than when the run was made.
    #[error("the workflow file has changed since the run was made")]
    Changed {
        /// What differs.
        differences: Vec<String>,
        /// The loops under way whose items have changed. They keep theirs, unless the run goes back to them.
        kept_items: Vec<Spot>,
    },
    /// The run cannot go on under the file as it is now.
    #[error(transparent)]
    Unacceptable(AcceptError),
    /// The pipeline has no such step.
    #[error("the pipeline has no step `{step}`")]
    UnknownStep {
        /// The name.
        step: String,
        /// The nearest name that there is.
        near: Option<String>,
    },
    /// Every step is done, and only the end of the run is left.
    #[error("every step of the run is done, so it does not go back to step `{step}`")]
    AllDone {
        /// The step that it was to go back to.
        step: String,
    },
    /// The run is completed.
    #[error("the run is completed, so it does not go back to step `{step}`")]
    Completed {
        /// The step that it was to go back to.
        step: String,
    },
    /// The picture of the run is lost.
    #[error("`{path}` {problem}")]
    NoPicture {
        /// The run.
        thread: ThreadId,
        /// Where it should be.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
        /// Whether something else is in its place.
        is_taken: bool,
    },
    /// The picture of the run has a form that this program does not know.
    #[error("`{path}` has the form `{version}`, which this program does not know")]
    OtherForm {
        /// The picture.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// The folder that the run works in is gone.
    #[error("the workspace of the run, `{}`, is gone", .0.what)]
    NoWorkspace(Unfound<String>),
}
