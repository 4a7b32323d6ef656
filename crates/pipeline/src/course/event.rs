//! What happens in a run: settled visits, and the control steps between them.

use std::sync::Arc;

use super::OnError;
use super::key::StepKey;
use crate::{Pipeline, StepResult};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A step settled.
    Visit(Box<Visit>),
    /// A person resumed the run (`_resume`).
    Resume(Resume),
    /// The finished tasks were archived (`_archive`).
    Archived(Archived),
}

/// A settled visit.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// Which step.
    pub key: StepKey,
    /// What came of it.
    pub result: StepResult,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// How a run was resumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resume {
    /// The key of the step where it goes on, if that is not where it stopped: a step of the pipeline, or one of an open item.
    pub from: Option<String>,
    /// What a failure does from now on, if that changes.
    pub on_error: Option<OnError>,
    /// The pipeline from now on, if that changes.
    pub accepted: Option<Arc<Pipeline>>,
}

/// What came of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Archived {
    /// It was made.
    Made,
    /// It could not be made, because of this.
    Failed(String),
}
