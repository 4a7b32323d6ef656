//! Steps of a run for a caller that steps threads of every kind.

use uwf_protocol::ids::ThreadId;
use uwf_runner::OutputText;
use uwf_storage::Reason;

use super::make::renew_schemas;
use super::session::{Entry, Far, work};
use super::wish::ResumeWish;
use super::{Backups, Prompts, RunEnd, RunReport, RunSettings};
use crate::child_error::failed_in;
use crate::pipelines::error::PipelineError;
use crate::pipelines::route::role;
use crate::read::report::StepReport;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::run::children::problem_of;
use crate::run::cycle::Pace;
use crate::run::hooks;
use crate::run::owned::OwnedRun;
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

/// Does one step of a run whose lock this process has, or all that are left.
pub(crate) fn step(
    runner: &Runner,
    run: &OwnedRun,
    id: ThreadId,
    pace: &Pace,
) -> Result<StepReport, EngineError> {
    let entry = Entry {
        name: "step",
        resume: None,
        far: match pace {
            Pace::OneRound => Far::OneStep,
            Pace::ToTheEnd(tell) => Far::Telling(&**tell),
        },
        settings: &RunSettings::default(),
    };
    renew_schemas(&runner.site)?;
    report_of(run, work(runner, run, id, &entry)?)
}

/// Lets a run go on that was interrupted or has failed. The caller has its lock.
pub(crate) fn resume(
    runner: &Runner,
    run: &OwnedRun,
    id: ThreadId,
    message: Option<&str>,
) -> Result<StepReport, EngineError> {
    if message.is_some() {
        return Err(PipelineError::NoMessage(id).into());
    }
    let wish = ResumeWish::default();
    let entry = Entry {
        name: "resume",
        resume: Some(&wish),
        far: Far::ToTheEnd,
        settings: &RunSettings::default(),
    };
    renew_schemas(&runner.site)?;
    report_of(run, work(runner, run, id, &entry)?)
}

/// Tells the hooks that a process has stopped working on a run, as far as they want to know.
pub(super) fn tell_hooks(runner: &Runner, report: &RunReport) {
    if let Some(state) = state_of(report) {
        let mut stopped = report.step.clone().in_state(state);
        // A process may do very many steps. Hooks are told of each only by a caller that does one.
        stopped.step = None;
        hooks::after_step(runner, &stopped);
    }
}

/// Returns the report of the newest step that this process did.
fn report_of(run: &OwnedRun, report: RunReport) -> Result<StepReport, EngineError> {
    match report.end {
        RunEnd::Interrupted(signal) => {
            let thread = report.thread;
            Err(PipelineError::Interrupted { thread, signal }.into())
        }
        RunEnd::Cancelled => Err(EngineError::Ended {
            thread: report.thread,
            reason: Reason::Cancelled,
        }),
        RunEnd::Held(held) => {
            let thread = report.thread;
            let role = role(&held.key).map_err(|source| EngineError::Blocked { thread, source })?;
            let mut branches = Vec::new();
            let problem = problem_of(held.child, held.error, &mut branches);
            let problem = problem.taken_by_child(held.child);
            Err(failed_in(thread, &role, branches.join(" / "), problem))
        }
        RunEnd::Completed(_)
        | RunEnd::NothingToDo
        | RunEnd::Failed(_)
        | RunEnd::Paused
        | RunEnd::StepDone => {
            let state = state_of(&report).unwrap_or_else(|| report.step.state.clone());
            let state = state.with_pause(run.pause.read()?);
            Ok(report.step.in_state(state))
        }
    }
}

/// Returns the state of a run that was completed or has failed.
fn state_of(report: &RunReport) -> Option<ThreadState> {
    match &report.end {
        RunEnd::Completed(_) => Some(ThreadState::plain(ThreadStatus::Completed)),
        RunEnd::Failed(_) => Some(report.step.state.clone()),
        RunEnd::NothingToDo
        | RunEnd::Held(_)
        | RunEnd::Interrupted(_)
        | RunEnd::Cancelled
        | RunEnd::Paused
        | RunEnd::StepDone => None,
    }
}
