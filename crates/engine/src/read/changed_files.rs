//! The files that steps changed, by the snapshots that their details name.

use std::path::Path;

use serde::Serialize;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::step_files::StepFiles;
use uwf_snapshot::{Change, Changed, Repository};
use uwf_thread::read_step;

use crate::files_error::FilesError;
use crate::read::detail_summary::files_of;
use crate::read::history::History;
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

/// Returns what a step changed.
///
/// # Errors
/// When the node is no step or cannot be read, when its files were not recorded, or when `git` cannot compare them.
pub fn files_of_step(site: &Site, step: CasRef) -> Result<Vec<ChangedFiles>, EngineError> {
    let node = read_step(&site.store, step)?.node;
    let recorded = recorded(site, node.detail)?.ok_or(FilesError::OfStep(step))?;
    let of_step = StepOfFiles {
        hash: step,
        role: node.role,
    };
    Ok(vec![compare(recorded, vec![of_step])?])
}

/// Returns what all steps of a thread changed, for each repository that they worked in.
///
/// # Errors
/// When the thread is unknown or cannot be read, when no step of it has recorded files, or when `git` cannot compare them.
pub fn files_of_thread(site: &Site, thread: ThreadId) -> Result<Vec<ChangedFiles>, EngineError> {
    let mut found: Vec<(StepFiles, Vec<StepOfFiles>)> = Vec::new();
    for step in History::read(site, thread)?.steps {
        let Some(files) = recorded(site, step.node.detail)? else {
            continue;
        };
        let of_step = StepOfFiles {
            hash: step.hash,
            role: step.node.role,
        };
        let known = found
            .iter_mut()
            .find(|(known, _)| known.repository == files.repository);
        match known {
            Some((known, steps)) => {
                known.after = files.after;
                steps.push(of_step);
            }
            None => found.push((files, vec![of_step])),
        }
    }
    if found.is_empty() {
        return Err(FilesError::OfThread(thread).into());
    }
    let compared = found
        .into_iter()
        .map(|(files, steps)| compare(files, steps));
    compared.collect()
}

fn compare(snapshots: StepFiles, steps: Vec<StepOfFiles>) -> Result<ChangedFiles, EngineError> {
    let repository = Repository::open(Path::new(&snapshots.repository));
    let repository = repository.map_err(FilesError::NotCompared)?;
    let (before, after) = (&snapshots.before, &snapshots.after);
    let changed = repository.changed(before, after);
    let changed = changed.map_err(FilesError::NotCompared)?;
    let patch = repository.patch(before, after);
    Ok(ChangedFiles {
        steps,
        files: changed.into_iter().map(ChangedFile::from).collect(),
        patch: patch.map_err(FilesError::NotCompared)?,
        snapshots,
    })
}

/// Returns the snapshots that the detail of a step names.
pub(crate) fn recorded(site: &Site, detail: CasRef) -> Result<Option<StepFiles>, EngineError> {
    Ok(files_of(&site.store.need(detail)?.payload))
}
