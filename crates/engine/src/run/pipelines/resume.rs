//! The commands that work on a run: it is made and done, or it goes on.

use uwf_pipeline::nodes::ResumeNode;
use uwf_protocol::ids::ThreadId;

use super::make::{MadeRun, NewRun, make_run};
use super::session::{Entry, Far, work};
use super::{RunReport, RunSettings};
use crate::run::owned::with_thread;
use crate::{EngineError, Runner};

/// Makes a run and does its steps. `made` is told of the run before its first step.
///
/// # Errors
/// When the run cannot be made, or this process cannot go on with it. Then it can be resumed.
pub fn run_pipeline(
    runner: &Runner,
    new: &NewRun,
    settings: &RunSettings,
    made: &mut dyn FnMut(&MadeRun),
) -> Result<RunReport, EngineError> {
    let run = make_run(&runner.site, new)?;
    made(&run);
    let entry = Entry {
        name: "run",
        resume: None,
        far: Far::ToTheEnd,
        settings,
    };
    with_thread(runner, run.thread, |owned| {
        work(runner, owned, run.thread, entry)
    })
}

/// Goes on with a run that was interrupted or has failed.
///
/// # Errors
/// When another process works on it, it has ended, or this process cannot go on with it.
pub fn resume_pipeline(
    runner: &Runner,
    thread: ThreadId,
    resume: ResumeNode,
    settings: &RunSettings,
) -> Result<RunReport, EngineError> {
    let entry = Entry {
        name: "resume",
        resume: Some(resume),
        far: Far::ToTheEnd,
        settings,
    };
    with_thread(runner, thread, |owned| work(runner, owned, thread, entry))
}
