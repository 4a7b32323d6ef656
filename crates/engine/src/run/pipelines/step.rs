//! One step of a run for a caller that steps threads of every kind.

use uwf_protocol::ids::ThreadId;
use uwf_runner::OutputText;

use super::make::renew_schemas;
use super::session::{Entry, Far, work};
use super::{Backups, Prompts, RunEnd, RunSettings};
use crate::read::report::{StepOrigin, StepReport};
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
    let settings = RunSettings::default();
    let entry = Entry {
        name: "step",
        resume: None,
        far: Far::OneStep,
        settings: &settings,
    };
    renew_schemas(&runner.site)?;
    let report = work(runner, run, id, entry)?;
    if let RunEnd::Interrupted(signal) = report.end {
        return Err(EngineError::NotStarted(signal));
    }
    let head = find(&runner.site, id)?.head();
    let thread = Thread::load(&runner.site.store, id, head)?;
    let route = thread.route(None)?;
    Ok(StepReport::new(&thread, Some(&route), StepOrigin::Ran, &[]))
}
