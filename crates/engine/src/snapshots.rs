//! The snapshots of the files that a thread works on: what is logged about them, and the git references that keep them. These go
//! when the thread is removed, and a fork gets its own.

use std::path::PathBuf;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::step_files::reference_of;
use uwf_snapshot::Repository;
use uwf_storage::{RunDir, SnapshotRecord};
use uwf_thread::steps;

use crate::read::changed_files::recorded;
use crate::thread::Thread;
use crate::{Site, tags};

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

/// Lets the snapshots of a thread go, whose folder is removed. What cannot be done is logged: a repository may be gone.
pub(crate) fn forget_snapshots(site: &Site, thread: ThreadId, run: &RunDir) {
    for root in run.snapshots.read().repositories {
        let forgotten =
            Repository::open(&root).and_then(|repository| repository.forget(&reference_of(thread)));
        log_if_failed(site, thread, forgotten);
    }
}

/// Keeps the snapshots of the steps that a fork shares with its original, also when the original is removed. What cannot be
/// done is logged.
pub(crate) fn keep_snapshots(site: &Site, original: ThreadId, fork: ThreadId, head: CasRef) {
    let known = site.root.run(original).snapshots.read().repositories;
    let newest = newest_snapshots(site, head, known.len());
    let (repositories, commits): (Vec<PathBuf>, Vec<String>) = newest.into_iter().unzip();
    if repositories.is_empty() {
        return;
    }
    let record = SnapshotRecord {
        repositories,
        ..SnapshotRecord::default()
    };
    // The record comes first: a call that removes the fork finds the references by it.
    log_if_failed(site, fork, site.root.run(fork).snapshots.write(&record));
    for (root, commit) in record.repositories.iter().zip(commits) {
        let kept = Repository::open(root)
            .and_then(|repository| repository.keep(&reference_of(fork), &commit));
        log_if_failed(site, fork, kept);
    }
}

/// Returns the newest snapshot in each of so many repositories. It has all earlier ones as its ancestors. Steps that cannot
/// be read have none.
fn newest_snapshots(site: &Site, head: CasRef, repositories: usize) -> Vec<(PathBuf, String)> {
    let mut newest: Vec<(PathBuf, String)> = Vec::new();
    let mut steps = steps(&site.store, head);
    // No step is read if all are found.
    while newest.len() < repositories
        && let Some(Ok(step)) = steps.next()
    {
        let Ok(Some(files)) = recorded(site, step.node.detail) else {
            continue;
        };
        let root = PathBuf::from(files.repository);
        if !newest.iter().any(|(known, _)| *known == root) {
            newest.push((root, files.after));
        }
    }
    newest
}

fn log_if_failed<E: std::error::Error>(site: &Site, thread: ThreadId, done: Result<(), E>) {
    if let Err(error) = done {
        let error = site.loggable(&error);
        site.log_line(tags::SNAPSHOT_REFERENCE, &error, Some(thread), None);
    }
}
