//! A run in a list.

use serde::Serialize;
use uwf_pipeline::{Route, timestamp_iso};
use uwf_process::Process;
use uwf_protocol::ids::ThreadId;
use uwf_util::time::format_iso;

use super::{Found, RunPhase, found};
use crate::attempt::abandoned;
use crate::children::parent_of;
use crate::pipelines::chain::{self, RunChain};
use crate::{EngineError, Site};

/// A run in a list.
#[derive(Debug, Clone, Serialize)]
pub struct RunSummary {
    /// The id of the run.
    pub run_id: String,
    /// Its thread.
    pub thread: ThreadId,
    /// The name of the pipeline.
    pub workflow: String,
    /// The file of the pipeline.
    pub workflow_file: String,
    /// The only step, if it is a run of one step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_step: Option<String>,
    /// The run that it is a fork of, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
    /// The thread whose step it does, if it does one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ThreadId>,
    /// How the run is.
    pub status: RunPhase,
    /// When it was made.
    pub started_at: String,
    /// When something happened last; the time of its end if it has ended.
    pub updated_at: Option<String>,
    /// The step that stopped it.
    pub failed_step: Option<String>,
    /// Whether programs of it still work although nobody works on the run: its engine was killed.
    #[serde(skip_serializing_if = "is_false")]
    pub programs_live: bool,
    /// Those programs.
    #[serde(skip)]
    pub(super) programs: Vec<Process>,
    /// The same as `updated_at`, for decisions.
    #[serde(skip)]
    pub changed_ms: Option<i64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// Returns a run for a list. Its steps are read only if nothing else tells how it is.
///
/// # Errors
/// When the thread is unknown or no run, or a node cannot be read.
pub fn run_summary(site: &Site, thread: ThreadId) -> Result<RunSummary, EngineError> {
    let found = found(site, thread)?;
    let chain = match found.phase_at_once() {
        Some(_) => chain::begun_at(&site.store, (thread, found.newest))?,
        None => chain::read(&site.store, (thread, found.newest), &mut |_| Ok(()))?,
    };
    summary_of(site, &found, &chain)
}

/// Returns the summary of a run whose chain was read.
pub(super) fn summary_of(
    site: &Site,
    found: &Found,
    chain: &RunChain,
) -> Result<RunSummary, EngineError> {
    let next = chain.course.next();
    let status = found.phase(&next);
    let failed_step = match (status, &next) {
        (RunPhase::Failed, Route::Suspend(stop)) => Some(stop.key.to_string()),
        _ => None,
    };
    let is_fork = chain.run.thread != found.thread.as_str();
    // What a fork took over began with the other run.
    let forked_ms = found.thread.time_ms(site.env.now_ms());
    let started_at = match forked_ms.filter(|_| is_fork) {
        Some(forked_ms) => format_iso(forked_ms),
        None => timestamp_iso(&chain.run.timestamp_utc),
    };
    let programs = match status {
        RunPhase::Interrupted => {
            let run = site.root.run(found.thread);
            abandoned(&run, run.lease.read_record().as_ref())
        }
        _ => Vec::new(),
    };
    let changed_ms = found.changed_ms(&site.store)?;
    Ok(RunSummary {
        run_id: chain::id_of(&chain.run, found.thread),
        thread: found.thread,
        workflow: chain.pipeline.name.clone(),
        workflow_file: chain.run.workflow_file.clone(),
        only_step: chain.run.only.as_ref().map(|only| only.step.clone()),
        fork_of: is_fork.then(|| chain.run.run_id.clone()),
        parent: parent_of(found.thread, &chain.start).map(|parent| parent.thread),
        status,
        started_at,
        updated_at: changed_ms.map(format_iso),
        failed_step,
        programs_live: !programs.is_empty(),
        programs,
        changed_ms,
    })
}
