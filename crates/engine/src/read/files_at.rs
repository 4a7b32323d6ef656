//! The files of a repository before or after a step, or before the first one, by the snapshots on record.

use std::path::PathBuf;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::step_files::StepFiles;
use uwf_thread::{Head, Stored, read_step};

use crate::files_error::FilesError;
use crate::read::found_files::FoundFiles;
use crate::read::history::History;
use crate::workspace::earlier::tree_now;
use crate::{EngineError, Site};

/// Which files of a step are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// As the step found them.
    Before,
    /// As the step left them.
    After,
}

/// The files of a repository at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilesAt {
    /// The folder of the working tree.
    pub(crate) root: PathBuf,
    /// The commit that has them.
    pub(crate) commit: String,
    /// Whether they are those from before the first step.
    pub(crate) at_start: bool,
}

/// Returns the files of a step, or those from before the first step of a thread in the place of a step. If a thread is given
/// that has a worktree of its own by now, the files are wanted there, and not in the one of the thread that it was forked from.
///
/// # Errors
/// When the node cannot be read or is something else, or no such files are on record.
pub(crate) fn files_at(
    site: &Site,
    thread: Option<ThreadId>,
    node: CasRef,
    files: Files,
) -> Result<FilesAt, EngineError> {
    let now = |tree| match thread {
        Some(thread) => tree_now(site, thread, tree),
        None => tree,
    };
    if let Head::Start(_) = Head::read(&site.store, node)? {
        let found = thread.map(|thread| before_first(site, thread, node));
        let found = found.transpose()?.flatten();
        let found = found.ok_or(FilesError::OfStart(node))?;
        return Ok(FilesAt {
            root: now(found.root),
            ..found
        });
    }
    let step = read_step(&site.store, node)?;
    let recorded = in_own_tree(site, &step)?.ok_or(FilesError::OfStep(node))?;
    Ok(FilesAt {
        root: now(PathBuf::from(recorded.repository)),
        commit: match files {
            Files::Before => recorded.before,
            Files::After => recorded.after,
        },
        at_start: false,
    })
}

/// Returns the files of a step, or those that its children left in the working tree that they share with it: what is in their own
/// worktrees is nobody else's. Fails if they share several.
fn in_own_tree(site: &Site, step: &Stored<StepNode>) -> Result<Option<StepFiles>, EngineError> {
    let mut found = FoundFiles::default();
    found.add(site, step)?;
    let mut shared = found.all.into_iter().filter(|found| found.child.is_none());
    match (shared.next(), shared.next()) {
        (Some(_), Some(_)) => Err(FilesError::SeveralTrees(step.hash).into()),
        (found, _) => Ok(found.map(|found| found.files)),
    }
}

/// Returns the files that the first step of a thread found. If it has none yet, those that its first attempt found.
fn before_first(
    site: &Site,
    thread: ThreadId,
    start: CasRef,
) -> Result<Option<FilesAt>, EngineError> {
    let history = History::read(site, thread)?;
    let found = match history.steps.first() {
        Some(first) => {
            in_own_tree(site, first)?.map(|files| (PathBuf::from(files.repository), files.before))
        }
        None => {
            let attempted = site.root.run(thread).snapshots.read().before;
            attempted
                .filter(|before| before.head == start)
                .map(|before| (before.repository, before.commit))
        }
    };
    Ok(found.map(|(root, commit)| FilesAt {
        root,
        commit,
        at_start: true,
    }))
}
