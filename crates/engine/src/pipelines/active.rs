//! Which runs somebody works on, and which have no folder.

use std::path::{Path, PathBuf};

use uwf_protocol::ids::ThreadId;
use uwf_storage::{LocalLease, Located, Root, RunRoot, State, ThreadPlace};

use super::chain::is_run;
use super::origin::{origin_of, run_origin};
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

/// Returns the runs that can go on, and whose folders are missing in this folder, with their ids: forks and imported runs
/// before their first step, and those whose folders somebody removed. What cannot be read is left out.
///
/// # Errors
/// When the state cannot be read.
pub fn runs_without_folder(
    site: &Site,
    folder: &Path,
) -> Result<Vec<(String, ThreadPlace)>, EngineError> {
    let folder = real(folder);
    let mut runs = Vec::new();
    for (thread, head) in State::new(&site.root).heads()? {
        if !matches!(is_run(&site.store, head), Ok(true)) {
            continue;
        }
        let Ok(origin) = origin_of(site, thread, Located::Active(head)) else {
            continue;
        };
        if origin.root.thread().is_none() && real(&origin.state_dir()) == folder {
            let root = site.root.path().to_owned();
            runs.push((origin.run_id, ThreadPlace { thread, root }));
        }
    }
    Ok(runs)
}

/// Returns a path without links, also if its end is not there.
fn real(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        (Err(_), _, _) => path.to_owned(),
    }
}

fn of(thread: ThreadId, run_id: String, lease: &LocalLease) -> ActiveRun {
    ActiveRun {
        thread,
        run_id,
        pid: lease.read_record().map(|record| record.engine.pid),
    }
}
