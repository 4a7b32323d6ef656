//! Forking a thread with its files: those with which the fork begins are put back. Whether that can be done is looked at first, so
//! that a fork without its files is not made.

use std::path::Path;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Naming;
use uwf_protocol::workspace::WorkspaceMode;
use uwf_snapshot::Repository;
use uwf_storage::{PassingIndex, WorktreeRecord};

use crate::files_error::FilesError;
use crate::fork::{ForkPoint, Forked, fork_if};
use crate::read::files_at::{Files, FilesAt, files_at};
use crate::run::owned::with_thread;
use crate::run::restore::{RestoreOptions, Restored, Wanted, alone_in, restore_alone};
use crate::thread::Thread;
use crate::workspace::earlier::origins;
use crate::workspace::mode_of;
use crate::{EngineError, Runner, Site};

/// What became of the files with which a fork begins.
#[derive(Debug)]
pub enum ForkFiles {
    /// The fork gets a worktree of its own, which begins with them.
    InWorktree,
    /// The fork gets a worktree of its own. It has no step yet, so the worktree begins at the commit that is checked out.
    NewWorktree,
    /// They were put back.
    Restored(Restored),
}

/// Creates a thread as [`fork`](crate::fork()) does, and puts the files back with which it begins: those that its step left, or those
/// from before the first step. The second result is an error if they could be put back when the fork was not made yet, and cannot
/// any more.
///
/// # Errors
/// See [`fork`](crate::fork()), and when the files cannot be put back. Then there is no new thread.
pub fn fork_with_files(
    runner: &Runner,
    from: ForkPoint,
    workflow: Option<&str>,
    naming: Naming,
) -> Result<(Forked, Result<ForkFiles, EngineError>), EngineError> {
    let mut wanted = None;
    let forked = fork_if(&runner.site, from, workflow, naming, |thread, original| {
        wanted = wanted_of(runner, thread, (original, from.step))?;
        match &wanted {
            Some(wanted) => look(runner, thread, wanted),
            None => Ok(()),
        }
    })?;
    let files = match wanted {
        Some(wanted) => with_thread(runner, forked.thread, |run| {
            restore_alone(runner, run, &wanted)
        })
        .map(ForkFiles::Restored),
        None if forked.has_steps => Ok(ForkFiles::InWorktree),
        None => Ok(ForkFiles::NewWorktree),
    };
    Ok((forked, files))
}

/// Returns the files that a fork wants; `None` if it gets a worktree of its own.
fn wanted_of(
    runner: &Runner,
    fork: &Thread,
    (original, step): (Option<ThreadId>, CasRef),
) -> Result<Option<Wanted>, EngineError> {
    let site = &runner.site;
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    if mode_of(site, fork, &config)? == Some(WorkspaceMode::Worktree) {
        if fork.last().is_some() {
            let at = files_at(site, original, step, Files::After)?;
            refuse_without_files(site, fork, at)?;
        }
        return Ok(None);
    }
    let options = RestoreOptions {
        files: Files::After,
        force: false,
    };
    let at = files_at(site, original, step, options.files)?;
    if let Some(record) = worktree_above(site, original, &at.root)? {
        let place = record.place;
        return Err(FilesError::OfWorktree { step, place }.into());
    }
    Ok(Some(Wanted::new(&config, (fork.id, step), at, options)))
}

/// Fails if the repository does not have the commit any more with which the worktree of a fork is to begin.
fn refuse_without_files(site: &Site, fork: &Thread, at: FilesAt) -> Result<(), EngineError> {
    let folder = fork.start.cwd.as_deref().unwrap_or_default();
    let folder = site.env.cwd().join(folder);
    let repository = Repository::open(&folder).map_err(FilesError::NotRestored)?;
    if repository.has(&at.commit) {
        return Ok(());
    }
    Err(FilesError::Collected {
        repository: repository.root().to_owned(),
        commit: at.commit,
    }
    .into())
}

/// Fails if the files could not be put back now. Nothing is recorded, and no file is changed.
fn look(runner: &Runner, fork: &Thread, wanted: &Wanted) -> Result<(), EngineError> {
    let site = &runner.site;
    let index = PassingIndex::new(&site.root, &site.env)?;
    alone_in(runner, fork, &wanted.at.root, || {
        wanted.in_tree(runner, index.path(), |repository, place| {
            wanted.check(repository, place).map(drop)
        })
    })
}

/// Returns the worktree of a thread or of one that it was forked from, if it is this one.
fn worktree_above(
    site: &Site,
    thread: Option<ThreadId>,
    repository: &Path,
) -> Result<Option<WorktreeRecord>, EngineError> {
    for thread in thread.into_iter().flat_map(|thread| origins(site, thread)) {
        let record = site.root.worktree(thread).read()?;
        if let Some(record) = record.filter(|record| record.place == repository) {
            return Ok(Some(record));
        }
    }
    Ok(None)
}
