//! Which runs somebody works on.

use std::path::Path;

use uwf_protocol::ids::ThreadId;
use uwf_storage::{Lease, Root, RunRoot, State};

use super::chain::is_run;
use super::origin::run_origin;
use crate::{EngineError, Site};

/// A run that a process works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRun {
    /// The thread.
    pub thread: ThreadId,
    /// The id of the run.
    pub run_id: String,
    /// The process, if it is known.
    pub pid: Option<u32>,
}

/// Returns the runs of a workspace that processes work on now. `folder` is that of the runs: some may be of other roots.
///
/// # Errors
/// When the state or a node cannot be read.
pub fn active_runs(
    site: &Site,
    workspace: &Path,
    folder: &Path,
) -> Result<Vec<ActiveRun>, EngineError> {
    let mut active = Vec::new();
    for (thread, head) in State::new(&site.root).heads()? {
        let lease = site.root.run(thread).lease;
        if !lease.is_held()? || !is_run(&site.store, head)? {
            continue;
        }
        let origin = run_origin(site, thread)?;
        if origin.workspace == workspace {
            active.push(of(thread, origin.run_id, &lease));
        }
    }
    for run_id in RunRoot::names(folder)? {
        let Some(place) = RunRoot::at(folder.join(&run_id)).thread() else {
            continue;
        };
        let lease = Root::at(place.root).run(place.thread).lease;
        if lease.is_held()? && active.iter().all(|run| run.thread != place.thread) {
            active.push(of(place.thread, run_id, &lease));
        }
    }
    Ok(active)
}

fn of(thread: ThreadId, run_id: String, lease: &Lease) -> ActiveRun {
    ActiveRun {
        thread,
        run_id,
        pid: lease.read_record().map(|record| record.engine.pid),
    }
}
