//! Restoring files: what a step left in a repository, or found there, is put back.

use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::step_files::{REFERENCES, names_left_out, reference_of};
use uwf_snapshot::{Changed, Place, Repository, SnapshotError, tree_around};
use uwf_storage::{Claimant, Claimed, RunDir, RunRoot, Tree};
use uwf_util::causes::with_causes;

use crate::files_error::FilesError;
use crate::read::changed_files::ChangedFile;
use crate::read::files_at::{Files, FilesAt, files_at};
use crate::run::agent_run::AgentRun;
use crate::run::owned::with_thread;
use crate::run::supervised_git::SupervisedGit;
use crate::thread::Thread;
use crate::workspace::earlier::is_earlier;
use crate::workspace::family_of;
use crate::{EngineError, Runner, Site, tags};

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
    /// Whether the files are those from before the first step.
    #[serde(skip)]
    pub at_start: bool,
    /// What happened to the files.
    pub files: Vec<ChangedFile>,
    /// Untracked files that stay as they are, because they are too large for a snapshot: the first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Repositories inside that have another commit than then: `git` leaves them as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_alone: Vec<String>,
}

/// Puts the files of a step back into the repository that it worked in; for the start of a thread, those from before its first
/// step. Ignored files, the user's index and branch stay as they are. The files as they were are kept as a snapshot of the thread.
///
/// # Errors
/// When somebody works on the thread or in the working tree, when no such files are on record, when there are changes that would
/// be lost and they were not given up, or when `git` refuses.
pub fn restore(
    runner: &Runner,
    id: ThreadId,
    step: CasRef,
    options: RestoreOptions,
) -> Result<Restored, EngineError> {
    with_thread(runner, id, |run| {
        let config = uwf_config::load(&runner.site.root)?.unwrap_or_default();
        let at = files_at(&runner.site, Some(id), step, options.files)?;
        if is_earlier(&runner.site, id, &at.root) {
            let place = at.root;
            return Err(FilesError::OfWorktree { step, place }.into());
        }
        let wanted = Wanted::new(&config, (id, step), at, options);
        restore_alone(runner, run, &wanted)
    })
}

/// Puts the files back that a step found, before it is done again. The caller has the tree in which the agent works for itself.
pub(crate) fn restore_first(
    runner: &Runner,
    run: &RunDir,
    agent_run: &AgentRun<'_>,
    replaced: CasRef,
) -> Result<(), EngineError> {
    let restored = restore_before(runner, run, agent_run, replaced);
    restored.map(drop).inspect_err(|_| {
        // A wait for the tree or for a slot is over, and no attempt follows it. If that cannot be recorded, the next call finds that
        // nobody waits.
        let _ = run.lease.clear_record();
    })
}

fn restore_before(
    runner: &Runner,
    run: &RunDir,
    agent_run: &AgentRun<'_>,
    replaced: CasRef,
) -> Result<Restored, EngineError> {
    let (site, id) = (&runner.site, agent_run.thread.id);
    let options = RestoreOptions {
        files: Files::Before,
        force: false,
    };
    let at = files_at(site, Some(id), replaced, options.files)?;
    let ours = Tree::at(&site.root, tree_around(agent_run.cwd))?;
    let is_ours = Tree::at(&site.root, &at.root)? == ours;
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    let wanted = Wanted::new(&config, (id, replaced), at, options);
    match is_ours {
        true => put_back(runner, run, &wanted),
        false => restore_alone(runner, run, &wanted),
    }
}

/// Puts files back. No thread of another family may work in the tree meanwhile.
pub(crate) fn restore_alone(
    runner: &Runner,
    run: &RunDir,
    wanted: &Wanted,
) -> Result<Restored, EngineError> {
    let thread = Thread::load(&runner.site.store, wanted.thread, wanted.step)?;
    alone_in(runner, &thread, &wanted.at.root, || {
        put_back(runner, run, wanted)
    })
}

/// Does something in a working tree in which no thread of another family works.
pub(crate) fn alone_in<T>(
    runner: &Runner,
    thread: &Thread,
    root: &Path,
    operate: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let site = &runner.site;
    let who = Claimant {
        thread: thread.id,
        family: family_of(site, thread)?,
    };
    let claim = match Tree::at(&site.root, root)?.claim_alone(who)? {
        Claimed::Alone(claim) => claim,
        Claimed::Taken(by) => {
            let repository = root.to_owned();
            return Err(FilesError::AtWork { repository, by }.into());
        }
    };
    let done = operate();
    // What was done says more than that the claim did not end: it ends with the process.
    let released = claim.release();
    if done.is_ok()
        && let Err(error) = released
    {
        site.log_line(
            tags::LOCK_NOT_RELEASED,
            &with_causes(&error),
            Some(thread.id),
            None,
        );
    }
    done
}

/// The files that are wanted in a working tree.
pub(crate) struct Wanted {
    thread: ThreadId,
    /// The step, or the start of the thread.
    step: CasRef,
    pub(crate) at: FilesAt,
    options: RestoreOptions,
    /// The size from which on an untracked file is left alone.
    most_bytes: u64,
}

impl Wanted {
    pub(crate) fn new(
        config: &Config,
        (thread, step): (ThreadId, CasRef),
        at: FilesAt,
        options: RestoreOptions,
    ) -> Self {
        Self {
            thread,
            step,
            at,
            options,
            most_bytes: config.snapshots.most_bytes(),
        }
    }

    /// Does something with the repository, with this file as the index.
    pub(crate) fn in_tree<T>(
        &self,
        runner: &Runner,
        index: &Path,
        operate: impl FnOnce(&Repository, Place<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let place = Place {
            index,
            reference: &reference_of(self.thread),
            most_bytes: self.most_bytes,
            hides: RunRoot::is_at,
            start: &SupervisedGit {
                signals: &runner.signals,
                attempt: None,
                until: None,
            },
        };
        let repository = Repository::open(&self.at.root).map_err(FilesError::NotRestored)?;
        operate(&repository, place)
    }

    /// Fails if the files cannot be put back now. Returns what happens to the files when they are, and those that are left alone
    /// because they are too large.
    pub(crate) fn check(
        &self,
        repository: &Repository,
        place: Place<'_>,
    ) -> Result<(Vec<Changed>, Vec<PathBuf>), EngineError> {
        let not_restored = FilesError::NotRestored;
        let (tree, left_out) = repository.tree(place).map_err(not_restored)?;
        if !self.options.force {
            refuse_unsaved(repository, place, self, &tree)?;
        }
        let changes = repository.changed(&tree, &self.at.commit);
        let changes = changes.map_err(not_restored)?;
        let in_the_way = repository.in_the_way(place, &changes);
        let in_the_way = in_the_way.map_err(not_restored)?;
        if in_the_way.is_empty() {
            return Ok((changes, left_out));
        }
        let files = in_the_way.iter().map(|path| path.display().to_string());
        Err(FilesError::InTheWay {
            repository: self.at.root.clone(),
            files: files.collect(),
        }
        .into())
    }
}

fn put_back(runner: &Runner, run: &RunDir, wanted: &Wanted) -> Result<Restored, EngineError> {
    let index = run.snapshots.index_of(&wanted.at.root)?;
    wanted.in_tree(runner, &index, |repository, place| {
        replace(&runner.site, wanted, repository, place)
    })
}

fn replace(
    site: &Site,
    wanted: &Wanted,
    repository: &Repository,
    place: Place<'_>,
) -> Result<Restored, EngineError> {
    let thread = wanted.thread;
    let (mut changes, left_out) = wanted.check(repository, place)?;
    let now = repository
        .snapshot(place, &format!("before a restore in thread {thread}"))
        .map_err(FilesError::NotRestored)?
        .commit;
    let commit = wanted.at.commit.clone();
    let put = repository
        .restore(place, &now, &commit)
        .and_then(|()| repository.snapshot(place, &format!("after a restore in thread {thread}")))
        .and_then(|after| repository.changed(&after.commit, &commit));
    let differing = match put {
        Ok(differing) => differing,
        Err(source) => {
            let message = format!("step={} replaced={now} in part", wanted.step);
            site.log_line(tags::RESTORED, &message, Some(thread), None);
            let repository = wanted.at.root.clone();
            return Err(FilesError::PartlyRestored {
                repository,
                replaced: now,
                source,
            }
            .into());
        }
    };
    let inside = |one: &&Changed| repository.root().join(&one.path).join(".git").exists();
    let left_alone: Vec<PathBuf> = differing
        .iter()
        .filter(inside)
        .map(|one| one.path.clone())
        .collect();
    changes.retain(|one| !left_alone.contains(&one.path));
    let message = format!("step={} replaced={now}", wanted.step);
    site.log_line(tags::RESTORED, &message, Some(thread), None);
    Ok(Restored {
        repository: wanted.at.root.clone(),
        commit,
        replaced: now,
        at_start: wanted.at.at_start,
        files: changes.into_iter().map(ChangedFile::from).collect(),
        left_out: names_left_out(&left_out),
        left_alone: left_alone
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    })
}

/// Fails if files of a tree would be lost.
fn refuse_unsaved(
    repository: &Repository,
    place: Place<'_>,
    wanted: &Wanted,
    tree: &str,
) -> Result<(), EngineError> {
    let files = unsaved(repository, place, (tree, &wanted.at.commit));
    let files = files.map_err(FilesError::NotRestored)?;
    if files.is_empty() {
        return Ok(());
    }
    Err(FilesError::Unsaved {
        repository: wanted.at.root.clone(),
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
