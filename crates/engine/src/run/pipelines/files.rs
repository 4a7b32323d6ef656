//! Snapshots of the files that the program of a provider works on, before and after its step. The programs of other steps have none:
//! a run may do thousands of them, and each is as quick as a snapshot.
//!
//! All of it is best effort: no step fails because its files could not be recorded. Then the log of the process says why.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use uwf_pipeline::course::Agent;
use uwf_protocol::run::LeaseRecord;
use uwf_protocol::step_files::{StepFiles, names_left_out, reference_of};
use uwf_snapshot::{LIMIT, Place, Repository, Snapshot};
use uwf_storage::{BeforeStep, RunRoot};
use uwf_util::causes::with_causes;

use super::visit::Visiting;
use crate::run::supervised_git::SupervisedGit;
use crate::tags;

/// How long the snapshot after a step may take: what the provider was paid for is not durable before.
const MOST_AFTER: Duration = Duration::from_secs(30);

/// The files that a step changes.
pub(super) struct VisitFiles {
    repository: Repository,
    index: PathBuf,
    most_bytes: u64,
    before: String,
}

/// Why files are not recorded.
type NotRecorded = Box<dyn std::error::Error>;

impl Visiting<'_, '_, '_> {
    /// Takes the snapshot before a step, unless a call that was killed has done that. `None` if the step gets none, or it could not
    /// be done: a later attempt finds what this one has changed, so nobody tries it again.
    pub(super) fn files_before(&self, record: &LeaseRecord) -> Option<VisitFiles> {
        if !matches!(self.assignment.agent, Agent::Provider(_)) {
            return None;
        }
        self.noted(self.try_before(record)).flatten()
    }

    /// Takes the snapshot after the step, and returns what its detail says of both.
    pub(super) fn files_after(
        &self,
        record: &LeaseRecord,
        files: Option<VisitFiles>,
    ) -> Option<Value> {
        let files = files?;
        let after = self.noted(self.take("after", &files, (record, MOST_AFTER)))?;
        let recorded = StepFiles {
            repository: files.repository.root().to_string_lossy().into_owned(),
            before: files.before,
            after: after.commit,
            left_out: names_left_out(&after.left_out),
        };
        Some(serde_json::to_value(recorded).expect("snapshots are plain data"))
    }

    fn try_before(&self, record: &LeaseRecord) -> Result<Option<VisitFiles>, NotRecorded> {
        let worker = self.worker;
        let config = uwf_config::load(&worker.runner.site.root)?.unwrap_or_default();
        if !config.snapshots.is_on() {
            return Ok(None);
        }
        let Some(repository) = Repository::of(self.around.workspace.path())? else {
            return Ok(None);
        };
        let root = repository.root().to_owned();
        root.to_str()
            .ok_or("the name of its folder is not valid UTF-8")?;
        let snapshots = &worker.run.snapshots;
        let mut files = VisitFiles {
            // This also notes the repository: a call that removes the thread finds the reference by it.
            index: snapshots.index_of(&root)?,
            most_bytes: config.snapshots.most_bytes(),
            before: String::new(),
            repository,
        };
        let head = self.chain.newest();
        files.before = match snapshots.before((head, None), &root) {
            Some(known) => known,
            // An attempt of a call that was killed has changed files already.
            None if record.number.is_some_and(|number| number > 1) => return Ok(None),
            None => {
                let commit = self.take("before", &files, (record, LIMIT))?.commit;
                snapshots.set_before(BeforeStep {
                    head,
                    replaces: None,
                    repository: root,
                    commit: commit.clone(),
                })?;
                commit
            }
        };
        Ok(Some(files))
    }

    fn take(
        &self,
        when: &str,
        files: &VisitFiles,
        (record, most): (&LeaseRecord, Duration),
    ) -> Result<Snapshot, NotRecorded> {
        let thread = self.worker.thread;
        let left = self.worker.time_left();
        let until = Instant::now() + left.map_or(most, |left| left.min(most));
        let place = Place {
            index: &files.index,
            reference: &reference_of(thread),
            most_bytes: files.most_bytes,
            hides: RunRoot::is_at,
            start: &SupervisedGit {
                signals: &self.worker.runner.signals,
                attempt: record.attempt.as_deref(),
                until: Some(until),
            },
        };
        let message = format!("{when} {} of thread {thread}", self.assignment.key);
        Ok(files.repository.snapshot(place, &message)?)
    }

    /// Returns what was found. If it could not be done, logs why.
    fn noted<T>(&self, result: Result<T, NotRecorded>) -> Option<T> {
        result
            .inspect_err(|error| {
                let site = &self.worker.runner.site;
                let note = format!("not recorded: {}", with_causes(error.as_ref()));
                let note = self.around.masks.text(&note);
                site.log_line(tags::SNAPSHOT_NOTE, &note, Some(self.worker.thread), None);
            })
            .ok()
    }
}
