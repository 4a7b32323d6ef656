//! Runs of pipelines: they are made, their steps are done, and they go on after an interruption.
//!
//! A run is a thread. `session.rs` is the list of what one process does for it, and `visit.rs` that of one step.

pub(crate) mod adopt;
mod archive;
pub(crate) mod clean;
pub(crate) mod commit;
mod control;
pub(crate) mod ended;
mod files;
mod finish;
mod glimpse;
mod journal;
pub(crate) mod make;
mod only;
pub(crate) mod open;
mod picture;
mod played;
mod played_run;
mod program;
mod progress;
mod records;
pub(crate) mod resume;
mod session;
mod step;
mod visit;
pub(crate) mod wish;
mod worker;

use std::path::PathBuf;
use std::time::Duration;

use uwf_pipeline::StepError;
use uwf_pipeline::course::{Outcome, Stop};
use uwf_pipeline::state::RunStatus;
use uwf_protocol::ids::ThreadId;
use uwf_runner::{OutputText, Stream};
use uwf_storage::RunRoot;

use crate::read::report::StepReport;
use crate::run::observer::Progress;

pub use played::HeldStep;
pub(crate) use played_run::put_start;
pub use step::USUAL_LOG_BYTES;
pub(crate) use step::{resume as resume_run, step};

/// How a process does the steps of a run. Nothing of this is stored.
#[derive(Clone, Copy)]
pub struct RunSettings {
    /// How long this process may take.
    pub timeout: Option<Duration>,
    /// How large the log of one output may be, in bytes.
    pub max_log_bytes: u64,
    /// What goes into output files.
    pub output_text: OutputText,
    /// Whether the pictures before the newest one are kept.
    pub backups: Backups,
    /// Whether prompts are kept as files.
    pub prompts: Prompts,
    /// Sees the output of programs at once, without secrets. It is called from two threads.
    pub show: fn(Stream, &[u8]),
    /// Is told once a second how far the running step is. Gets `None` when it ends.
    pub progress: Option<fn(Option<&Progress>)>,
    /// Is told what happens.
    pub tell: fn(&RunEvent<'_>),
}

/// Whether the pictures before the newest one are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Backups {
    None,
    LastThree,
}

/// Whether prompts are kept as files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Prompts {
    Dropped,
    Kept,
}

/// Something that happens in a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A process begins to work on the run.
    Begins {
        /// The id of the run.
        run_id: &'a str,
        /// The command: `run`, `resume` or `step`.
        entry: &'a str,
    },
    /// A step is started.
    Started {
        /// Its key.
        key: &'a str,
        /// The number of the attempt, from 1.
        attempt: u64,
    },
    /// A step settled.
    Settled {
        /// Its key.
        key: &'a str,
        /// What came of it.
        result: &'a uwf_pipeline::StepResult,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// A child thread works on a step.
    Played {
        /// The key of the step.
        key: &'a str,
        /// The child.
        thread: ThreadId,
    },
    /// Something that people should know.
    Warning(&'a str),
    /// What this process found or decided before it went on.
    Note(&'a str),
    /// What helps those who look for a mistake.
    Detail(&'a str),
    /// The process does not go on with the run.
    Ends {
        /// The id of the run.
        run_id: &'a str,
        /// How the run is.
        status: RunStatus,
    },
}

/// What a process did for a run.
#[derive(Debug)]
pub struct RunReport {
    /// The thread.
    pub thread: ThreadId,
    /// The id of the run.
    pub run_id: String,
    /// How it ended.
    pub end: RunEnd,
    /// How long this process took.
    pub duration: Duration,
    /// The picture of the run.
    pub state_file: PathBuf,
    /// The limit of transitions that an option gave in place of that of the file.
    pub max_transitions: Option<u64>,
    /// The report of the newest step that this process did.
    pub(crate) step: StepReport,
}

/// How the work of a process on a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// The run is completed.
    Completed(Outcome),
    /// The run was completed before, so nothing was done.
    NothingToDo,
    /// A step stopped it.
    Failed(Box<Stop>),
    /// A signal told this process to stop.
    Interrupted(i32),
    /// A person ended the run.
    Cancelled,
    /// A person paused the run.
    Paused,
    /// The step that was asked for is done.
    StepDone,
    /// The child thread of a step cannot go on for now.
    Held(Box<HeldStep>),
}

impl RunEnd {
    /// Returns why the run does not go on, if a step is the cause.
    #[must_use]
    pub fn error(&self) -> Option<&StepError> {
        match self {
            Self::Failed(stop) => stop.result.error.as_ref(),
            _ => None,
        }
    }
}

impl RunReport {
    fn new(
        thread: ThreadId,
        run_id: &str,
        root: &RunRoot,
        end: RunEnd,
        (duration, step): (Duration, StepReport),
    ) -> Self {
        Self {
            thread,
            run_id: run_id.to_owned(),
            end,
            duration,
            state_file: root.state_file(),
            max_transitions: None,
            step,
        }
    }
}
