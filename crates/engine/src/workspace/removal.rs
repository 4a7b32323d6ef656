//! Removing the worktree of a thread with the thread, unless something would be lost that is nowhere else.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::step_files::reference_of;
use uwf_snapshot::Limited;
use uwf_storage::{Located, WorktreeRecord};
use uwf_util::causes::with_causes;

use super::{branch_of, worktree_of};
use crate::workspace_error::{UnkeptWork, WorkspaceError};
use crate::{EngineError, Site, thread};

/// Whether the work of a thread may be lost that is only in its worktree or on its branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnkeptChanges {
    /// The thread is not removed then.
    Refuse,
    /// They are given up.
    Drop,
}

/// A thread that is not removed, because changes in its worktree would be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnkeptThread {
    /// The thread.
    pub thread: ThreadId,
    /// What would be lost.
    pub reason: String,
}

impl UnkeptThread {
    /// Returns the thread with the reason; `None` if nothing would be lost. Fails if a signal ended the look.
    pub(crate) fn of(
        site: &Site,
        thread: ThreadId,
        leaving: &LeavingBranches,
    ) -> Result<Option<Self>, EngineError> {
        let changes = UnkeptChanges::Refuse;
        match refuse_to_lose(site, thread, changes, leaving) {
            Ok(()) => Ok(None),
            Err(error) if matches!(error.exit(), Exit::Signal(_)) => Err(error),
            Err(error) => Ok(Some(Self {
                thread,
                reason: with_causes(&error),
            })),
        }
    }
}

/// The branches of threads that are removed together: none keeps the commits of another one.
#[derive(Debug, Default)]
pub(crate) struct LeavingBranches(Vec<(PathBuf, String)>);

impl LeavingBranches {
    /// Adds the branch of a thread, if it has one.
    pub(crate) fn add(&mut self, site: &Site, thread: ThreadId) {
        if let Ok(Some(record)) = site.root.worktree(thread).read() {
            self.0.push((record.git_dir, record.branch));
        }
    }

    /// Returns those of a repository.
    fn of(&self, git_dir: &Path) -> Vec<&str> {
        let branches = self.0.iter().filter(|(other, _)| other == git_dir);
        branches.map(|(_, branch)| branch.as_str()).collect()
    }
}

/// Fails if the worktree of a thread is locked with git. Unless changes may be dropped, also fails if work in it would be lost.
///
/// `leaving` are the branches that are removed with it. The caller keeps other removals out until the worktree is removed.
pub(crate) fn refuse_to_lose(
    site: &Site,
    thread: ThreadId,
    changes: UnkeptChanges,
    leaving: &LeavingBranches,
) -> Result<(), EngineError> {
    // Nobody has worked in a worktree that is not wholly made.
    let record = record_of(site, thread)?;
    let Some(record) = record.filter(|record| record.made) else {
        return Ok(());
    };
    let worktree = worktree_of(&record);
    let not_checked = |source| WorkspaceError::NotChecked {
        thread,
        place: record.place.clone(),
        source,
    };
    if let Some(reason) = worktree.locked().map_err(not_checked)? {
        return Err(WorkspaceError::Locked {
            thread,
            place: record.place,
            git_dir: record.git_dir,
            reason,
        }
        .into());
    }
    if changes == UnkeptChanges::Drop {
        return Ok(());
    }
    let unkept = worktree.unkept(&leaving.of(&record.git_dir), &Limited::VIEW);
    let unkept = unkept.map_err(not_checked)?;
    if unkept.is_nothing() {
        return Ok(());
    }
    let unkept = Box::new(UnkeptWork {
        branch: branch_of(&record),
        place: record.place,
        source: record.source,
        unkept,
        has_ended: !matches!(thread::find(site, thread), Ok(Located::Active(_))),
    });
    Err(WorkspaceError::Unkept { thread, unkept }.into())
}

/// Returns the record of the worktree of a thread. What it names is removed with all that is in it, so it must be a folder that was
/// made for the thread: those are called after their threads.
fn record_of(site: &Site, thread: ThreadId) -> Result<Option<WorktreeRecord>, EngineError> {
    let file = site.root.worktree(thread);
    let record = file.read()?;
    if let Some(WorktreeRecord { place, .. }) = &record
        && place.file_name() != Some(OsStr::new(thread.as_str()))
    {
        let place = place.clone();
        return Err(WorkspaceError::NotItsPlace {
            thread,
            place,
            record: file.path().to_owned(),
        }
        .into());
    }
    Ok(record)
}

/// Removes the worktree of a thread, its branch and its record. The call can be repeated until it succeeds.
pub(crate) fn remove(site: &Site, thread: ThreadId) -> Result<(), EngineError> {
    let file = site.root.worktree(thread);
    // A damaged record is an error here. To give the worktree up, a person removes the record by hand.
    let Some(record) = record_of(site, thread)? else {
        return Ok(());
    };
    let not_removed = |error| WorkspaceError::NotRemoved(thread, error);
    let worktree = worktree_of(&record);
    // The snapshots of a fork may be known by a folder that is gone.
    worktree
        .forget(&reference_of(thread))
        .map_err(not_removed)?;
    match record.made {
        true => worktree.remove().map_err(not_removed)?,
        false => worktree.remove_unmade().map_err(not_removed)?,
    }
    Ok(file.remove()?)
}
