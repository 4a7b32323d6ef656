//! Restoring files: what a step left in a repository, or found there, is put back.

use std::path::PathBuf;

use serde::Serialize;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::step_files::reference_of;
use uwf_snapshot::{Place, Repository};
use uwf_storage::RunDir;
use uwf_thread::read_step;

use crate::files_error::FilesError;
use crate::read::changed_files::{ChangedFile, recorded};
use crate::run::owned::with_thread;
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
    let site = &runner.site;
    with_thread(runner, id, |run| {
        let node = read_step(&site.store, step)?.node;
        let files = recorded(site, node.detail)?.ok_or(FilesError::OfStep(step))?;
        let commit = match options.files {
            Files::Before => files.before,
            Files::After => files.after,
        };
        let root = PathBuf::from(files.repository);
        let restored = put_back(site, run, (id, step), (root, commit), options)?;
        let message = format!("step={step} replaced={}", restored.replaced);
        site.log_line(tags::RESTORED, &message, Some(id), None);
        Ok(restored)
    })
}

fn put_back(
    site: &Site,
    run: &RunDir,
    (thread, step): (ThreadId, CasRef),
    (root, commit): (PathBuf, String),
    options: RestoreOptions,
) -> Result<Restored, EngineError> {
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    let reference = reference_of(thread);
    let index = run.snapshots.index_of(&root)?;
    let place = Place {
        index: &index,
        reference: &reference,
        most_bytes: config.snapshots.most_bytes(),
    };
    let not_restored = FilesError::NotRestored;
    let repository = Repository::open(&root).map_err(not_restored)?;
    let (tree, _) = repository.tree(place).map_err(not_restored)?;
    let newest = repository.tree_of(place.reference);
    let is_known =
        newest.as_ref() == Some(&tree) || repository.tree_of("HEAD") == Some(tree.clone());
    if !options.force && !is_known {
        let since = newest.as_ref().unwrap_or(&commit);
        let changed = repository.changed(since, &tree).map_err(not_restored)?;
        let files = changed.into_iter().map(ChangedFile::from);
        let files = files.map(|file| file.path).collect();
        return Err(FilesError::Unsaved {
            repository: root,
            step,
            before: options.files == Files::Before,
            files,
        }
        .into());
    }
    let now = repository
        .snapshot(place, &format!("before a restore in thread {thread}"))
        .map_err(not_restored)?
        .commit;
    let files = repository.changed(&now, &commit).map_err(not_restored)?;
    let in_the_way = repository.in_the_way(place, &files).map_err(not_restored)?;
    if !in_the_way.is_empty() {
        let names = in_the_way.iter().map(|path| path.display().to_string());
        let files = names.collect();
        return Err(FilesError::InTheWay {
            repository: root,
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
        repository: root,
        commit,
        replaced: now,
        files: files.into_iter().map(ChangedFile::from).collect(),
    })
}
