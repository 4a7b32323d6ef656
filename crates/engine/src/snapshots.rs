//! The snapshots of the files that a thread works on: what is logged about them, and the git references that keep them. These go
//! when the thread is removed, and a fork gets its own.

use std::path::PathBuf;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::step_files::reference_of;
use uwf_snapshot::Repository;
use uwf_storage::{RunDir, SnapshotRecord};
use uwf_thread::steps;

use crate::files_error::FilesError;
use crate::read::changed_files::recorded;
use crate::thread::Thread;
use crate::{EngineError, Site, tags};

/// Logs what people should know about the snapshots of the newest step.
pub(crate) fn log_snapshot_notes(site: &Site, run: &RunDir, thread: &Thread) {
    let before = thread
        .last()
        .map(|step| step.node.prev.unwrap_or(step.node.start));
    let notes = run.snapshots.read().notes;
    for note in notes
        .filter(|notes| Some(notes.head) == before)
        .iter()
        .flat_map(|notes| &notes.texts)
    {
        site.log(thread, tags::SNAPSHOT_NOTE, note);
    }
}

/// Lets the snapshots of a thread go, whose folder is removed. What cannot be done now is logged: a repository may be gone.
pub(crate) fn forget_snapshots(site: &Site, thread: ThreadId, run: &RunDir) {
    for root in run.snapshots.read().repositories {
        if !root.exists() {
            continue;
        }
        let forgotten =
            Repository::open(&root).and_then(|repository| repository.forget(&reference_of(thread)));
        if let Err(error) = forgotten {
            let error = site.loggable(&error);
            site.log_line(tags::SNAPSHOT_REFERENCE, &error, Some(thread), None);
        }
    }
}

/// Keeps the snapshots of the steps that a fork shares with its original, also when the original is removed. What cannot be
/// done is logged.
pub(crate) fn keep_snapshots(site: &Site, original: ThreadId, fork: ThreadId, head: CasRef) {
    let known = site.root.run(original).snapshots.read();
    if known.repositories.is_empty() {
        // No step is read if there is nothing to find.
        return;
    }
    if let Err(error) = try_to_keep(site, fork, head) {
        let error = site.loggable(&error);
        site.log_line(tags::SNAPSHOT_REFERENCE, &error, Some(fork), None);
    }
}

fn try_to_keep(site: &Site, fork: ThreadId, head: CasRef) -> Result<(), EngineError> {
    let (mut kept, mut commits) = (SnapshotRecord::default(), Vec::new());
    for step in steps(&site.store, head) {
        let Some(files) = recorded(site, step?.node.detail)? else {
            continue;
        };
        let root = PathBuf::from(&files.repository);
        if !kept.repositories.contains(&root) && root.exists() {
            // The newest snapshot has all earlier ones as its ancestors.
            kept.repositories.push(root.clone());
            commits.push((root, files.after));
        }
    }
    if kept.repositories.is_empty() {
        return Ok(());
    }
    // The record comes first: a call that removes the fork finds the references by it.
    site.root.run(fork).snapshots.write(&kept)?;
    for (root, commit) in commits {
        Repository::open(&root)
            .and_then(|repository| repository.keep(&reference_of(fork), &commit))
            .map_err(FilesError::NotKept)?;
    }
    Ok(())
}
