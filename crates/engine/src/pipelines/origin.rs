//! What a run was made with, and where it is: all that another command needs to know of it before it works on it.

use std::path::PathBuf;

use uwf_pipeline::nodes::RunNode;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Located, Reason, RunRoot};
use uwf_thread::{Head, read_start};

use super::chain;
use super::error::PipelineError;
use super::folder::run_root;
use crate::children::parent_of;
use crate::thread::find;
use crate::{EngineError, Site};

/// What a run was made with, and where it is.
#[derive(Debug, Clone)]
pub struct RunOrigin {
    /// The thread.
    pub thread: ThreadId,
    /// The id of the run.
    pub run_id: String,
    /// Its newest step, or its start.
    pub head: CasRef,
    /// How it ended, if it did.
    pub ended: Option<Reason>,
    /// What it was made with.
    pub run: RunNode,
    /// The thread whose step it does, if it does one.
    pub parent: Option<ThreadId>,
    /// The folder that it works in.
    pub workspace: PathBuf,
    /// The folder with its pictures and logs.
    pub root: RunRoot,
}

/// Returns what a run was made with. Its steps are not read.
///
/// # Errors
/// When the thread is unknown or no run, or a node cannot be read.
pub fn run_origin(site: &Site, thread: ThreadId) -> Result<RunOrigin, EngineError> {
    origin_of(site, thread, find(site, thread)?)
}

/// Returns what a run was made with that was found already.
pub(crate) fn origin_of(
    site: &Site,
    thread: ThreadId,
    located: Located,
) -> Result<RunOrigin, EngineError> {
    let head = located.head();
    let start = read_start(&site.store, Head::read(&site.store, head)?.start())?.node;
    let run = start.run.ok_or(PipelineError::NoRun(thread))?;
    let run: RunNode = chain::payload(&site.store, run)?;
    let run_id = chain::id_of(&run, thread);
    let parent = parent_of(thread, &start).map(|parent| parent.thread);
    let workspace = PathBuf::from(start.cwd.unwrap_or_default());
    let root = run_root(&workspace, &run.state_dir, &run_id);
    let ended = match located {
        Located::Active(_) => None,
        Located::Archived(record) => Some(record.reason),
    };
    Ok(RunOrigin {
        thread,
        run_id,
        head,
        ended,
        run,
        parent,
        workspace,
        root,
    })
}

impl RunOrigin {
    /// Returns where the workflow file is.
    #[must_use]
    pub fn workflow_file(&self) -> PathBuf {
        self.workspace.join(&self.run.workflow_file)
    }

    /// Returns the folder of all runs.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.workspace.join(&self.run.state_dir)
    }
}
