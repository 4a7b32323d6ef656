//! Making the worktree of a thread, before its first agent is started.
//!
//! The record comes first, as one of a worktree that is not made yet. Then the branch and the folder are made, then the record
//! says so. A call that finds a record of the first kind removes what there is and makes it anew. The caller owns the thread.

use std::path::{Path, PathBuf};

use uwf_process::process_identity;
use uwf_protocol::agent::engine_mark;
use uwf_protocol::config::Config;
use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_protocol::run::LeaseRecord;
use uwf_protocol::workspace::WorkspaceMode;
use uwf_snapshot::{Place, Presence, Repository, SnapshotError, Worktree, tree_around};
use uwf_storage::{RunDir, RunRoot, State, WorktreeFile, WorktreeRecord, real};
use uwf_thread::{Head, read_step, steps};
use uwf_util::text::counted;

use crate::check_error::CheckError;
use crate::check_files::is_unchanged;
use crate::read::changed_files::recorded;
use crate::run::supervised_git::SupervisedGit;
use crate::thread::{self, Thread};
use crate::workspace::{directory_of, mode_of, place_of, worktree_of};
use crate::workspace_error::WorkspaceError;
use crate::{EngineError, Runner, Site, tags};

/// How many digits of a commit people see.
const SHORT: usize = 10;

/// Where the agents of a thread work.
pub(crate) struct Workspace {
    pub(crate) mode: Option<WorkspaceMode>,
    /// The worktree, if the thread has one of its own.
    pub(crate) worktree: Option<WorktreeRecord>,
}

/// Returns where the agents of a thread work. Its worktree is made if it needs one and has none. A thread that has one keeps
/// it, whatever its workflow or the config says now.
pub(crate) fn prepare(
    runner: &Runner,
    run: &RunDir,
    (thread, role): (&Thread, &RoleName),
    config: &Config,
) -> Result<Workspace, EngineError> {
    let site = &runner.site;
    let file = site.root.worktree(thread.id);
    let known = file.read()?;
    let mode = mode_of(site, thread, config)?;
    let worktree = match known {
        Some(record) if record.made => match worktree_of(&record).presence() {
            Presence::Whole => Some(record),
            Presence::Damaged => return Err(damaged(thread.id, record).into()),
            Presence::Absent => return Err(gone(thread.id, record).into()),
        },
        None if mode != Some(WorkspaceMode::Worktree) => None,
        begun => Some(while_on_record(runner, run, (thread, role), |git| {
            let making = Making {
                runner,
                thread,
                config,
                file,
                start: git,
            };
            making.make(begun)
        })?),
    };
    Ok(Workspace { mode, worktree })
}

/// Makes a worktree while the lease record names the processes of git by their mark. If this call is killed, the next one ends
/// them (`leftovers.rs`).
fn while_on_record<T>(
    runner: &Runner,
    run: &RunDir,
    (thread, role): (&Thread, &RoleName),
    make: impl FnOnce(&SupervisedGit<'_>) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let env = &runner.site.env;
    let engine = process_identity(env.process_id()).ok_or(EngineError::NoProc)?;
    let started_at_ms = env.now_ms();
    let attempt = format!("{}/{started_at_ms}", engine_mark(&engine));
    run.lease.write_record(&LeaseRecord {
        attempt: Some(attempt.clone()),
        ..LeaseRecord::before_agent(engine, role.clone(), started_at_ms)
    })?;
    let made = make(&SupervisedGit {
        signals: &runner.signals,
        attempt: Some(&attempt),
        until: None,
    });
    run.lease.clear_record()?;
    if made.is_err() && runner.signals.stop().is_some() {
        // The signal may come from `thread kill`: then the error is that the thread has ended.
        thread::active_head(&runner.site, thread.id)?;
    }
    made
}

/// Returns the worktree of a thread, or what is known of the one that its next step makes. Nothing is made.
pub(crate) fn planned(
    site: &Site,
    thread: &Thread,
    config: &Config,
) -> Result<Option<WorktreeRecord>, EngineError> {
    let known = site.root.worktree(thread.id).read()?;
    if known.is_some() || mode_of(site, thread, config)? != Some(WorkspaceMode::Worktree) {
        return Ok(known);
    }
    let source = real(tree_around(&start_directory(site, thread)));
    Ok(Some(WorktreeRecord {
        git_dir: source.join(".git"),
        source,
        place: place_of(site, thread.id, config),
        branch: String::new(),
        base: String::new(),
        made: false,
    }))
}

fn gone(thread: ThreadId, record: WorktreeRecord) -> WorkspaceError {
    WorkspaceError::Gone {
        thread,
        place: record.place,
        branch: record.branch,
        git_dir: record.git_dir,
    }
}

fn damaged(thread: ThreadId, record: WorktreeRecord) -> WorkspaceError {
    WorkspaceError::Damaged {
        thread,
        place: record.place,
        git_dir: record.git_dir,
    }
}

/// The making of the worktree of a thread.
struct Making<'a> {
    runner: &'a Runner,
    thread: &'a Thread,
    config: &'a Config,
    file: WorktreeFile,
    start: &'a SupervisedGit<'a>,
}

/// A worktree that can be made.
struct Plan {
    record: WorktreeRecord,
    files: Files,
    /// What people should know about the files that it begins with.
    note: String,
}

/// The commit at which a branch begins.
struct Base {
    commit: String,
    files: Files,
    /// What people should know about it.
    note: String,
}

/// Whose files a worktree begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    /// Those of the commit that is checked out.
    Committed,
    /// Those of the parent of the thread as they are.
    Parents,
    /// Those that the steps of the thread left, or that the step found that is done again.
    OfSteps,
}

impl Making<'_> {
    /// Makes the worktree. `begun` is the record of one that was not wholly made.
    fn make(&self, begun: Option<WorktreeRecord>) -> Result<WorktreeRecord, EngineError> {
        if let Some(begun) = begun {
            self.give_up(&begun)?;
        }
        let Plan {
            mut record,
            files,
            note,
        } = self.plan()?;
        self.file.write(&record)?;
        self.git(worktree_of(&record).make(self.start))?;
        if let Some(error) = self.lost_check_file(&record, files) {
            self.give_up(&record)?;
            return Err(error.into());
        }
        record.made = true;
        self.file.write(&record)?;
        self.tell(&record, &note);
        Ok(record)
    }

    /// Removes a worktree that nobody has worked in, and its record.
    fn give_up(&self, record: &WorktreeRecord) -> Result<(), EngineError> {
        self.git(worktree_of(record).remove_unmade())?;
        Ok(self.file.remove()?)
    }

    /// Looks for a file of a check that is not in the new worktree as it was when the thread started, and that no agent has
    /// changed: that check could never pass.
    fn lost_check_file(&self, record: &WorktreeRecord, files: Files) -> Option<CheckError> {
        let directory = start_directory(&self.runner.site, self.thread);
        let mut pinned = self.thread.start.check_files.iter();
        pinned.find_map(|file| {
            let here = directory.join(&file.path);
            let is_committed = is_unchanged(file, &in_worktree(record, &here));
            let is_here = is_unchanged(file, &here);
            let (thread, path) = (self.thread.id, file.path.clone());
            let directory = directory.clone();
            match files {
                _ if is_committed => None,
                Files::Committed | Files::Parents if is_here => Some(CheckError::NotCommitted {
                    thread,
                    path,
                    directory,
                }),
                Files::Committed => Some(CheckError::OtherCommitted {
                    thread,
                    path,
                    directory,
                }),
                Files::Parents | Files::OfSteps => None,
            }
        })
    }

    /// Tells people, and the log, where the thread works from now on.
    fn tell(&self, record: &WorktreeRecord, note: &str) {
        let WorktreeRecord {
            place,
            branch,
            base,
            ..
        } = record;
        let place = place.display();
        self.runner.site.log(
            self.thread,
            tags::WORKTREE_MADE,
            &format!("branch={branch} base={base} folder={place}"),
        );
        let base = base.get(..SHORT).unwrap_or(base);
        let id = self.thread.id;
        (self.runner.notice)(&format!(
            "thread {id} works in `{place}`, on branch `{branch}`, which begins at {base}{note}"
        ));
    }

    /// Returns the record of a new worktree.
    fn plan(&self) -> Result<Plan, EngineError> {
        let (site, id) = (&self.runner.site, self.thread.id);
        let directory = start_directory(site, self.thread);
        if !directory.is_dir() {
            let directory = directory.display().to_string();
            return Err(EngineError::NoDirectory(directory));
        }
        let repository = self.git(Repository::of(&directory))?;
        let repository = repository.ok_or_else(|| WorkspaceError::NoRepository {
            thread: id,
            directory: directory.clone(),
        })?;
        let source = repository.root().to_owned();
        let head = repository.head().ok_or_else(|| WorkspaceError::NoCommit {
            thread: id,
            repository: source.clone(),
        })?;
        let place = free_place(&place_of(site, id, self.config), &source)?;
        let Base {
            commit,
            files,
            note,
        } = self.base(&repository, head)?;
        let mut record = WorktreeRecord {
            git_dir: self.git(repository.git_dir())?,
            source,
            place,
            branch: String::new(),
            base: commit,
            made: false,
        };
        record.branch = self.free_branch(&record)?;
        Ok(Plan {
            record,
            files,
            note,
        })
    }

    /// Returns the commit at which the branch begins.
    ///
    /// A thread with steps goes on with the files that its newest step with a snapshot left: it may be a fork, or was imported. A
    /// step that is done again begins with the files that it found.
    /// A child begins with the files of its parent as they are. Every other thread begins at the commit that is checked out.
    fn base(&self, repository: &Repository, head: String) -> Result<Base, EngineError> {
        let store = &self.runner.site.store;
        if let Some(commit) = self.of_steps(repository)? {
            return Ok(Base {
                commit,
                files: Files::OfSteps,
                note: String::new(),
            });
        }
        if let Head::Step(_) = Head::read(store, self.thread.head)? {
            return Ok(Base {
                commit: head,
                files: Files::Committed,
                note: "; the files of its earlier steps are not on record in this repository"
                    .to_owned(),
            });
        }
        if let Some(parent) = &self.thread.start.parent {
            return Ok(Base {
                commit: self.of_parent(repository, parent.thread)?,
                files: Files::Parents,
                note: String::new(),
            });
        }
        let note = match self.git(repository.uncommitted(self.start))? {
            0 => String::new(),
            files => format!(
                "; it does not have {} of `{}`",
                counted(files, "uncommitted file"),
                repository.root().display()
            ),
        };
        Ok(Base {
            commit: head,
            files: Files::Committed,
            note,
        })
    }

    /// Returns a commit of the files that the step that is done again found, or that the newest step with a snapshot left, if the
    /// repository has one.
    fn of_steps(&self, repository: &Repository) -> Result<Option<String>, EngineError> {
        let site = &self.runner.site;
        let id = self.thread.id;
        let message = format!("the files with which thread {id} begins");
        if let Some(replaced) = self.thread.replaces {
            let replaced = read_step(&site.store, replaced)?;
            if let Some(files) = recorded(site, replaced.node.detail)? {
                let commit = self.git(repository.commit_of_snapshot(&files.before, &message))?;
                if commit.is_some() {
                    return Ok(commit);
                }
            }
        }
        for step in steps(&site.store, self.thread.head) {
            let Some(files) = recorded(site, step?.node.detail)? else {
                continue;
            };
            let commit = self.git(repository.commit_of_snapshot(&files.after, &message))?;
            if commit.is_some() {
                return Ok(commit);
            }
        }
        Ok(None)
    }

    /// Returns a commit of the files of the parent as they are.
    fn of_parent(&self, repository: &Repository, parent: ThreadId) -> Result<String, EngineError> {
        let id = self.thread.id;
        let message = format!("the files of thread {parent} when thread {id} began");
        let index = self.file.index();
        let place = Place {
            index: &index,
            reference: "",
            most_bytes: self.config.snapshots.most_bytes(),
            hides: RunRoot::is_at,
            start: self.start,
        };
        let commit = repository.commit_of_state(place, &message);
        self.file.remove_index()?;
        Ok(self.git(commit)?)
    }

    /// Returns a name for the branch that no branch has: after the name of the thread, else after its id.
    fn free_branch(&self, record: &WorktreeRecord) -> Result<String, WorkspaceError> {
        let id = self.thread.id;
        let taken = |branch: &str| WorkspaceError::BranchTaken {
            thread: id,
            repository: record.source.clone(),
            branch: branch.to_owned(),
        };
        let branch = |branch| Worktree {
            branch,
            ..worktree_of(record)
        };
        // A branch of this name leaves no room for others below it.
        if self.git(branch("uwf").tip())?.is_some() {
            return Err(taken("uwf"));
        }
        let name = State::new(&self.runner.site.root).namings().ok();
        let name = name.and_then(|namings| namings.of(id).name);
        let by_name = name.map(|name| format!("uwf/{name}"));
        let by_id = format!("uwf/{id}");
        for candidate in by_name.iter().chain([&by_id]) {
            if self.git(branch(candidate).is_free())? {
                return Ok(candidate.clone());
            }
        }
        Err(taken(&by_id))
    }

    /// Says for which thread something could not be done with the repository.
    fn git<T>(&self, done: Result<T, SnapshotError>) -> Result<T, WorkspaceError> {
        let thread = self.thread.id;
        done.map_err(|error| match error {
            SnapshotError::Stopped { signal, .. } => WorkspaceError::Interrupted { thread, signal },
            error => WorkspaceError::NotMade(thread, error),
        })
    }
}

/// Returns the folder of the thread, or the one in its worktree that stands for it.
pub(crate) fn own_directory(
    site: &Site,
    thread: &Thread,
    worktree: Option<&WorktreeRecord>,
) -> PathBuf {
    let directory = start_directory(site, thread);
    match worktree {
        Some(record) => record.inside(&directory),
        None => directory,
    }
}

/// Returns the folder of the thread.
pub(crate) fn start_directory(site: &Site, thread: &Thread) -> PathBuf {
    directory_of(site, &thread.start)
}

/// Returns the file in a worktree that stands for a file of the working tree. The file itself may be a link.
fn in_worktree(record: &WorktreeRecord, file: &Path) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(folder), Some(name)) => record.inside(folder).join(name),
        _ => file.to_owned(),
    }
}

/// Returns the place of a worktree without links, if nothing is there and it does not lie in the working tree.
fn free_place(place: &Path, tree: &Path) -> Result<PathBuf, WorkspaceError> {
    let place = real(place);
    if place.starts_with(tree) {
        return Err(WorkspaceError::Inside {
            folder: place.parent().unwrap_or(&place).to_owned(),
            repository: tree.to_owned(),
        });
    }
    match place.symlink_metadata() {
        Ok(_) => Err(WorkspaceError::PlaceTaken(place)),
        Err(_) => Ok(place),
    }
}
