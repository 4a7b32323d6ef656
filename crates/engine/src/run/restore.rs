//! Restoring files: what a step left in a repository, or found there, is put back.

use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::step_files::{REFERENCES, reference_of};
use uwf_protocol::workspace::WorkspaceMode;
use uwf_snapshot::{Place, Repository, SnapshotError};
use uwf_storage::{Claimant, Claimed, RunDir, Tree, WorktreeRecord};
use uwf_thread::read_step;

use crate::files_error::FilesError;
use crate::read::changed_files::{ChangedFile, recorded};
use crate::run::owned::with_thread;
use crate::run::supervised_git::SupervisedGit;
use crate::thread::Thread;
use crate::workspace::{family_of, mode_of};
use crate::{EngineError, Runner, Site, tags};

/// Which files of a step are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// As the step found them.
    Before,
    /// As the step left them.
    After,
}

/// How files are restored.
#[derive(Debug, Clone, Copy)]
pub struct RestoreOptions {
    /// Which files.
    pub files: Files,
    /// Whether changes are replaced that no snapshot of the thread and no commit has.
    pub force: bool,
}

/// Files that were put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// The folder of the working tree.
    pub repository: PathBuf,
    /// The commit whose files are there now.
    pub commit: String,
    /// The commit with the files as they were until now.
    pub replaced: String,
    /// What happened to the files.
    pub files: Vec<ChangedFile>,
}

/// Puts the files of a step back into the repository that it worked in. Ignored files, the user's index and branch stay as they
/// are. The files as they were are kept as a snapshot of the thread.
///
/// # Errors
/// When somebody works on the thread, when the step has recorded no files, when there are changes that would be lost and
/// they were not given up, or when `git` refuses.
pub fn restore(
    runner: &Runner,
    id: ThreadId,
    step: CasRef,
    options: RestoreOptions,
) -> Result<Restored, EngineError> {
    with_thread(runner, id, |run| {
        restore_owned(runner, run, (id, step), options)
    })
}

/// Puts the files of the step at which a fork began back into the repository, for the fork. `None` if the fork has a worktree of its
/// own: that begins with these files.
///
/// # Errors
/// See [`restore`], and when the files are those of the worktree of another thread.
pub fn restore_for_fork(
    runner: &Runner,
    fork: ThreadId,
    step: CasRef,
) -> Result<Option<Restored>, EngineError> {
    let site = &runner.site;
    let thread = Thread::load(&site.store, fork, step)?;
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    if mode_of(site, &thread, &config)? == Some(WorkspaceMode::Worktree) {
        return Ok(None);
    }
    let node = read_step(&site.store, step)?.node;
    let files = recorded(site, node.detail)?.ok_or(FilesError::OfStep(step))?;
    if let Some(record) = worktree_above(site, fork, Path::new(&files.repository))? {
        return Err(FilesError::OfWorktree {
            step,
            place: record.place,
        }
        .into());
    }
    let options = RestoreOptions {
        files: Files::After,
        force: false,
    };
    restore(runner, fork, step, options).map(Some)
}

/// Returns the worktree of a thread above a fork, if it is this one.
fn worktree_above(
    site: &Site,
    fork: ThreadId,
    repository: &Path,
) -> Result<Option<WorktreeRecord>, EngineError> {
    let mut below = fork;
    while let Some(above) = site.root.run(below).origin.read().and_then(|it| it.thread) {
        let record = site.root.worktree(above).read()?;
        if let Some(record) = record.filter(|record| record.place == repository) {
            return Ok(Some(record));
        }
        below = above;
    }
    Ok(None)
}

/// Puts the files of a step back, for a caller that owns the thread. No thread of another family may work in the tree meanwhile.
pub(crate) fn restore_owned(
    runner: &Runner,
    run: &RunDir,
    (id, step): (ThreadId, CasRef),
    options: RestoreOptions,
) -> Result<Restored, EngineError> {
    let site = &runner.site;
    let node = read_step(&site.store, step)?.node;
    let files = recorded(site, node.detail)?.ok_or(FilesError::OfStep(step))?;
    let wanted = Wanted {
        thread: id,
        step,
        root: PathBuf::from(files.repository),
        commit: match options.files {
            Files::Before => files.before,
            Files::After => files.after,
        },
        options,
    };
    let who = Claimant {
        thread: id,
        family: family_of(site, &Thread::load(&site.store, id, step)?)?,
    };
    let claim = match Tree::at(&site.root, &wanted.root)?.claim_alone(who)? {
        Claimed::Alone(claim) => claim,
        Claimed::Taken(by) => {
            let repository = wanted.root;
            return Err(FilesError::AtWork { repository, by }.into());
        }
    };
    let restored = put_back(runner, run, wanted)?;
    claim.release()?;
    let message = format!("step={step} replaced={}", restored.replaced);
    site.log_line(tags::RESTORED, &message, Some(id), None);
    Ok(restored)
}

/// The files that are wanted in a working tree.
struct Wanted {
    thread: ThreadId,
    step: CasRef,
    /// The folder of the working tree.
    root: PathBuf,
    commit: String,
    options: RestoreOptions,
}

fn put_back(runner: &Runner, run: &RunDir, wanted: Wanted) -> Result<Restored, EngineError> {
    let config = uwf_config::load(&runner.site.root)?.unwrap_or_default();
    let reference = reference_of(wanted.thread);
    let index = run.snapshots.index_of(&wanted.root)?;
    let place = Place {
        index: &index,
        reference: &reference,
        most_bytes: config.snapshots.most_bytes(),
        start: &SupervisedGit {
            signals: &runner.signals,
            attempt: None,
        },
    };
    let not_restored = FilesError::NotRestored;
    let repository = Repository::open(&wanted.root).map_err(not_restored)?;
    let (tree, _) = repository.tree(place).map_err(not_restored)?;
    if !wanted.options.force {
        refuse_unsaved(&repository, place, &wanted, &tree)?;
    }
    let thread = wanted.thread;
    let now = repository
        .snapshot(place, &format!("before a restore in thread {thread}"))
        .map_err(not_restored)?
        .commit;
    let commit = wanted.commit;
    let files = repository.changed(&now, &commit).map_err(not_restored)?;
    let in_the_way = repository.in_the_way(place, &files).map_err(not_restored)?;
    if !in_the_way.is_empty() {
        let names = in_the_way.iter().map(|path| path.display().to_string());
        let files = names.collect();
        return Err(FilesError::InTheWay {
            repository: wanted.root,
            files,
        }
        .into());
    }
    repository
        .restore(place, &now, &commit)
        .map_err(not_restored)?;
    repository
        .snapshot(place, &format!("after a restore in thread {thread}"))
        .map_err(not_restored)?;
    Ok(Restored {
        repository: wanted.root,
        commit,
        replaced: now,
        files: files.into_iter().map(ChangedFile::from).collect(),
    })
}

/// Fails if files of a tree would be lost.
fn refuse_unsaved(
    repository: &Repository,
    place: Place<'_>,
    wanted: &Wanted,
    tree: &str,
) -> Result<(), EngineError> {
    let files = unsaved(repository, place, (tree, &wanted.commit));
    let files = files.map_err(FilesError::NotRestored)?;
    if files.is_empty() {
        return Ok(());
    }
    Err(FilesError::Unsaved {
        repository: wanted.root.clone(),
        step: wanted.step,
        before: wanted.options.files == Files::Before,
        files,
    }
    .into())
}

/// Returns the files of a tree that neither the commit of the user's branch nor the newest snapshot of the thread has like this,
/// unless the newest snapshot of another thread has the whole tree.
fn unsaved(
    repository: &Repository,
    place: Place<'_>,
    (tree, commit): (&str, &str),
) -> Result<Vec<String>, SnapshotError> {
    if repository.is_kept(tree, REFERENCES)? {
        return Ok(Vec::new());
    }
    let newest = repository.tree_of(place.reference);
    let mut unsaved = repository.changed(newest.as_deref().unwrap_or(commit), tree)?;
    if let Some(head) = repository.tree_of("HEAD") {
        let uncommitted = repository.changed(&head, tree)?;
        unsaved.retain(|file| uncommitted.iter().any(|other| other.path == file.path));
    }
    let files = unsaved.into_iter().map(ChangedFile::from);
    Ok(files.map(|file| file.path).collect())
}
