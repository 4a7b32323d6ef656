//! Snapshots of the files that an agent works on, before and after a step.
//!
//! All of it is best effort: no step fails because its files could not be recorded. Then a note says why.

use std::path::{Path, PathBuf};

use uwf_protocol::config::Snapshots;
use uwf_protocol::step_files::{StepFiles, names_left_out, reference_of};
use uwf_snapshot::{Part, Place, Repository, Snapshot, SnapshotError};
use uwf_storage::{BeforeStep, RunDir, RunRoot, StorageError};
use uwf_util::causes::with_causes;
use uwf_util::text::counted;

use crate::adapter::Task;
use crate::limited_git::git_within;
use crate::notes::note;

/// Why the files were not recorded.
#[derive(Debug, thiserror::Error)]
enum NotRecorded {
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("the name of its folder is not valid UTF-8")]
    Name,
}

/// The files that a step changes.
pub(crate) struct Files {
    repository: Repository,
    index: PathBuf,
    most_bytes: u64,
    before: String,
}

impl Files {
    /// Takes the snapshot before a step, unless an earlier attempt at the same step has done that. `None` if the agent works
    /// outside of every repository, if the config says so, or if it could not be done.
    pub(crate) fn before(config: &Snapshots, run: &RunDir, task: &Task) -> Option<Self> {
        let notes = Notes { run, task };
        notes.of(Self::try_before(config, &notes)).flatten()
    }

    fn try_before(config: &Snapshots, notes: &Notes<'_>) -> Result<Option<Self>, NotRecorded> {
        let Notes { run, task } = notes;
        if !config.is_on() {
            return Ok(None);
        }
        let Some(repository) = Repository::of(&task.cwd)? else {
            return Ok(None);
        };
        repository.root().to_str().ok_or(NotRecorded::Name)?;
        let mut files = Self {
            // This also notes the repository: a call that removes the thread finds the reference by it.
            index: run.snapshots.index_of(repository.root())?,
            most_bytes: config.most_bytes(),
            before: String::new(),
            repository,
        };
        let root = files.repository.root();
        let of_step = (task.head, task.replaces);
        if let Some(known) = run.snapshots.before(of_step, root) {
            files.before = known;
            return Ok(Some(files));
        }
        files.before = files.take("before", notes)?.commit;
        run.snapshots.set_before(BeforeStep {
            head: task.head,
            replaces: task.replaces,
            repository: files.repository.root().to_owned(),
            commit: files.before.clone(),
        })?;
        Ok(Some(files))
    }

    /// Takes the snapshot after the step. `None` if it could not be done.
    pub(crate) fn after(&self, run: &RunDir, task: &Task) -> Option<StepFiles> {
        let notes = Notes { run, task };
        let after = notes.of(self.take("after", &notes).map_err(NotRecorded::from))?;
        Some(StepFiles {
            repository: self.repository.root().to_string_lossy().into_owned(),
            before: self.before.clone(),
            after: after.commit,
            left_out: names_left_out(&after.left_out),
        })
    }

    fn take(&self, when: &str, notes: &Notes<'_>) -> Result<Snapshot, SnapshotError> {
        let Task {
            thread, role, step, ..
        } = notes.task;
        let reference = reference_of(*thread);
        let place = Place {
            index: &self.index,
            reference: &reference,
            most_bytes: self.most_bytes,
            hides: RunRoot::is_at,
            start: &git_within(&notes.task.supervision),
        };
        let message = format!("{when} step {step} of thread {thread}, {role}");
        let taken = self.repository.snapshot(place, &message)?;
        if let Some(first) = taken.left_out.first() {
            let others = taken.left_out.len() as u64 - 1;
            let others = match others {
                0 => String::new(),
                others => format!(" and {}", counted(others, "other")),
            };
            let first = first.display();
            notes.add(&format!(
                "the snapshot of the files leaves out `{first}`{others}: larger than `snapshots.maxFileMib`"
            ));
        }
        Ok(taken)
    }
}

/// Returns what has changed in the working directory of a task since its step began, without what lies in a hidden folder: the
/// beginning of the patch and its whole length, both in bytes. `None` if the files before the step are not recorded.
///
/// # Errors
/// Why that cannot be told.
pub fn changes(
    task: &Task,
    config: &Snapshots,
    hidden: &Path,
    most: u64,
) -> Result<Option<(Vec<u8>, u64)>, String> {
    let run = RunDir::at(task.run_dir.clone());
    let is_of_step =
        |before: &BeforeStep| (before.head, before.replaces) == (task.head, task.replaces);
    let Some(before) = run.snapshots.read().before.filter(is_of_step) else {
        return Ok(None);
    };
    let read = || {
        let repository = Repository::open(&before.repository)?;
        let reference = reference_of(task.thread);
        let place = Place {
            index: &run.snapshots.index_of(repository.root())?,
            reference: &reference,
            most_bytes: config.most_bytes(),
            hides: RunRoot::is_at,
            start: &git_within(&task.supervision),
        };
        let (now, _) = repository.tree(place)?;
        let part = Part {
            folder: &task.cwd,
            hidden,
        };
        Ok::<_, NotRecorded>(repository.patch_of(&before.commit, &now, part, most)?)
    };
    read().map(Some).map_err(|error| with_causes(&error))
}

/// What people should know about the snapshots of a step. The engine logs it when the step is committed.
struct Notes<'a> {
    run: &'a RunDir,
    task: &'a Task,
}

impl Notes<'_> {
    /// Returns what was found. If it could not be done, notes why.
    fn of<T>(&self, result: Result<T, NotRecorded>) -> Option<T> {
        let error = match result {
            Ok(found) => return Some(found),
            Err(error) => error,
        };
        self.add(&format!(
            "what the step changes in the repository is not recorded: {}; `uwf config set snapshots.enabled false` turns this off",
            with_causes(&error)
        ));
        None
    }

    fn add(&self, text: &str) {
        // Best effort, as all of this.
        let _ = self.run.snapshots.note(self.task.head, text);
        note(text);
    }
}
