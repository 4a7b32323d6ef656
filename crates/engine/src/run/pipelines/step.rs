//! One step of a run for a caller that steps threads of every kind.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_runner::OutputText;

use super::make::{refused, renew_schemas};
use super::session::{Entry, Far, work};
use super::wish::ResumeWish;
use super::{Backups, Prompts, RunEnd, RunSettings};
use crate::child_error::failed_in;
use crate::pipelines::route::role;
use crate::read::report::{StepOrigin, StepReport};
use crate::run::children::problem_of;
use crate::run::owned::OwnedRun;
use crate::thread::{Thread, find};
use crate::{EngineError, Runner};

/// How large the log of one output may be by default, in bytes.
pub const USUAL_LOG_BYTES: u64 = 1 << 30;

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            timeout: None,
            max_log_bytes: USUAL_LOG_BYTES,
            output_text: OutputText::Exact,
            backups: Backups::None,
            prompts: Prompts::Dropped,
            show: |_, _| {},
            progress: None,
            tell: |_| {},
        }
    }
}

/// Does one step of a run whose lock this process has.
pub(crate) fn step(
    runner: &Runner,
    run: &OwnedRun,
    id: ThreadId,
) -> Result<StepReport, EngineError> {
    let head = find(&runner.site, id)?.head();
    let settings = RunSettings::default();
    let entry = Entry {
        name: "step",
        resume: None,
        far: Far::OneStep,
        settings: &settings,
    };
    renew_schemas(&runner.site)?;
    let report = work(runner, run, id, entry)?;
    report_of(runner, (id, head), report.end)
}

/// Lets a run go on that was interrupted or has failed. The caller has its lock.
pub(crate) fn resume_run(
    runner: &Runner,
    run: &OwnedRun,
    id: ThreadId,
    message: Option<&str>,
) -> Result<StepReport, EngineError> {
    if message.is_some() {
        let problem = format!("thread `{id}` is a run of a pipeline, and reads no message");
        return Err(refused(problem));
    }
    let head = find(&runner.site, id)?.head();
    let settings = RunSettings::default();
    let wish = ResumeWish::default();
    let entry = Entry {
        name: "resume",
        resume: Some(&wish),
        far: Far::ToTheEnd,
        settings: &settings,
    };
    let report = work(runner, run, id, entry)?;
    report_of(runner, (id, head), report.end)
}

/// Returns the report of a run that had this head before.
fn report_of(
    runner: &Runner,
    (id, before): (ThreadId, CasRef),
    end: RunEnd,
) -> Result<StepReport, EngineError> {
    let head = find(&runner.site, id)?.head();
    match end {
        RunEnd::Interrupted(signal) => return Err(EngineError::NotStarted(signal)),
        RunEnd::Held(held) => {
            let role =
                role(&held.key).map_err(|source| EngineError::Blocked { thread: id, source })?;
            let mut branches = Vec::new();
            let problem = problem_of(held.child, held.error, &mut branches);
            return Err(failed_in(id, &role, branches.join(" / "), problem));
        }
        RunEnd::Failed(stop) if head == before => {
            let role = role(&stop.key.to_string());
            return Err(EngineError::Suspended {
                thread: id,
                role: role.map_err(|source| EngineError::Blocked { thread: id, source })?,
                message: stop.message(),
            });
        }
        _ => {}
    }
    let thread = Thread::load(&runner.site.store, id, head)?;
    let route = thread.route(None)?;
    Ok(StepReport::new(&thread, Some(&route), StepOrigin::Ran, &[]))
}
