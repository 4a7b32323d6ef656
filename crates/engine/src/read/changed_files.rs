//! The files that steps changed, by the snapshots that their details name.

use std::path::Path;

use serde::Serialize;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::step_files::{StepFiles, names_left_out};
use uwf_snapshot::{Change, Changed, Limited, Place, Repository, SnapshotError};
use uwf_storage::{BeforeStep, PassingIndex, RunRoot};
use uwf_thread::read_step;
use uwf_util::causes::with_causes;

use crate::files_error::FilesError;
use crate::read::copies::Past;
use crate::read::detail_summary::files_of;
use crate::read::found_files::{Found, FoundFiles};
use crate::read::history::History;
use crate::read::steps::replaced_by;
use crate::workspace::directory_of;
use crate::{EngineError, Site};

/// What happened to the files of a repository, in one step or in all steps of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFiles {
    /// The steps that worked in the repository, oldest first.
    pub steps: Vec<StepOfFiles>,
    /// The folder of the working tree, and the commits before the first of these steps and after the last.
    #[serde(flatten)]
    pub snapshots: StepFiles,
    /// Whether `after` is a tree with the files as they are now, because a step is not done yet that has begun in the repository.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// The child thread for which the folder was made as a worktree, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<ThreadId>,
    /// The branch on which the steps worked, if they are of a child thread that has a worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether the child was removed with its worktree, so that nobody can tell its files any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// The files that differ.
    pub files: Vec<ChangedFile>,
    /// The differences in the form of a patch.
    #[serde(skip)]
    pub patch: Vec<u8>,
}

/// A step that worked in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepOfFiles {
    /// The step.
    pub hash: CasRef,
    /// Who did it.
    pub role: RoleName,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Its path in the repository. A name that is not UTF-8 has replacement characters.
    pub path: String,
    /// `added`, `modified` or `deleted`.
    pub change: &'static str,
    /// How many lines are new; `None` if the file is not text.
    pub added: Option<u64>,
    /// How many lines are gone.
    pub removed: Option<u64>,
}

impl From<Changed> for ChangedFile {
    fn from(changed: Changed) -> Self {
        Self {
            path: changed.path.to_string_lossy().into_owned(),
            change: match changed.change {
                Change::Added => "added",
                Change::Modified => "modified",
                Change::Deleted => "deleted",
            },
            added: changed.lines.map(|(added, _)| added),
            removed: changed.lines.map(|(_, removed)| removed),
        }
    }
}

/// Returns what a step changed, for each repository: more than one if child threads did it that have worktrees.
///
/// # Errors
/// When the node is no step or cannot be read, when its files were not recorded, or when `git` cannot compare them.
pub fn files_of_step(site: &Site, step: CasRef) -> Result<Vec<ChangedFiles>, EngineError> {
    let mut found = FoundFiles::default();
    found.add(site, &read_step(&site.store, step)?)?;
    if found.all.is_empty() {
        return Err(FilesError::OfStep(step).into());
    }
    found.all.into_iter().map(compare).collect()
}

/// What the steps of a thread changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesOfThread {
    /// For each repository that they worked in.
    pub repositories: Vec<ChangedFiles>,
    /// Why it lacks what a step has changed that has begun and is not done yet.
    pub problem: Option<String>,
}

/// Returns what all steps of a thread changed, and the steps that they replaced, for each repository that they worked in.
///
/// If an attempt at the next step has begun, also what has changed since then: a step counts everything since its first attempt,
/// and so does what may become one.
///
/// # Errors
/// When the thread is unknown or cannot be read, when no step or attempt of it has recorded files, or when `git` cannot compare them.
pub fn files_of_thread(site: &Site, thread: ThreadId) -> Result<FilesOfThread, EngineError> {
    let history = History::read(site, thread)?;
    let mut found = FoundFiles::default();
    let past = Past::read(site, thread, history.head)?;
    let replaced = [past.replaced, past.replaced_elsewhere].concat();
    for step in &history.steps {
        found.add_with_replaced(site, step, &replaced_by(step.hash, &replaced))?;
    }
    let mut problem = None;
    if history.ended.is_none() {
        match begun(site, thread, history.head) {
            Ok(begun) => begun.into_iter().for_each(|begun| found.put(begun)),
            // What is recorded can be shown all the same.
            Err(error) if !found.all.is_empty() && !matches!(error.exit(), Exit::Signal(_)) => {
                problem = Some(with_causes(&error));
            }
            Err(error) => return Err(error),
        }
    }
    if found.all.is_empty() {
        let directory = directory_of(site, &history.start);
        let is_outside = directory.is_dir() && matches!(Repository::of(&directory), Ok(None));
        return Err(match is_outside {
            true => FilesError::NoRepository { thread, directory },
            false => FilesError::OfThread(thread),
        }
        .into());
    }
    let repositories = found.all.into_iter().map(compare);
    Ok(FilesOfThread {
        repositories: repositories.collect::<Result<_, _>>()?,
        problem,
    })
}

/// Returns the files of a step that is not done yet: as its first attempt found them, and as they are now. `None` if no attempt at
/// it has begun in a repository.
fn begun(site: &Site, thread: ThreadId, head: CasRef) -> Result<Option<Found>, EngineError> {
    let before = site.root.run(thread).snapshots.read().before;
    let is_next = |before: &BeforeStep| match before.replaces {
        Some(replaced) => replaced == head,
        None => before.head == head,
    };
    let Some(before) = before.filter(is_next) else {
        return Ok(None);
    };
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    let index = PassingIndex::new(&site.root, &site.env)?;
    let place = Place {
        index: index.path(),
        reference: "",
        most_bytes: config.snapshots.most_bytes(),
        hides: RunRoot::is_at,
        start: &Limited::VIEW,
    };
    let now = Repository::open(&before.repository).and_then(|repository| repository.tree(place));
    let (now, left_out) = now.map_err(FilesError::NotCompared)?;
    Ok(Some(Found {
        files: StepFiles {
            repository: before.repository.to_string_lossy().into_owned(),
            before: before.commit,
            after: now,
            left_out: names_left_out(&left_out),
        },
        steps: Vec::new(),
        unfinished: true,
        child: None,
        branch: None,
    }))
}

fn compare(found: Found) -> Result<ChangedFiles, EngineError> {
    let Found {
        files: snapshots,
        steps,
        unfinished,
        child,
        branch,
    } = found;
    let repository = match Repository::open(Path::new(&snapshots.repository)) {
        // The child was removed with its worktree.
        Err(SnapshotError::Gone(_)) if child.is_some() => None,
        opened => Some(opened.map_err(FilesError::NotCompared)?),
    };
    let difference = repository.as_ref().map(|one| difference(one, &snapshots));
    let difference = difference.transpose().map_err(FilesError::NotCompared)?;
    let (files, patch) = difference.unwrap_or_default();
    Ok(ChangedFiles {
        steps,
        unfinished,
        child,
        branch,
        gone: repository.is_none(),
        files,
        patch,
        snapshots,
    })
}

/// Returns the files that differ, and the patch.
fn difference(
    repository: &Repository,
    snapshots: &StepFiles,
) -> Result<(Vec<ChangedFile>, Vec<u8>), SnapshotError> {
    let (before, after) = (&snapshots.before, &snapshots.after);
    let changed = repository.changed(before, after)?;
    let files = changed.into_iter().map(ChangedFile::from).collect();
    Ok((files, repository.patch(before, after)?))
}

/// Returns the snapshots that the detail of a step names.
pub(crate) fn recorded(site: &Site, detail: CasRef) -> Result<Option<StepFiles>, EngineError> {
    Ok(files_of(&site.store.need(detail)?.payload))
}
