//! Making the worktree of a thread, before its first agent is started.
//!
//! The record comes first, as one of a worktree that is not made yet. Then the branch and the folder are made, then the record
//! says so. A call that finds a record of the first kind makes what is missing. The caller owns the thread.

use std::path::{Path, PathBuf};

use uwf_protocol::config::Config;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::workspace::WorkspaceMode;
use uwf_snapshot::{Place, Repository, SnapshotError, Worktree, tree_around};
use uwf_storage::{State, WorktreeFile, WorktreeRecord};
use uwf_thread::{Head, steps};
use uwf_util::text::counted;

use crate::read::changed_files::recorded;
use crate::thread::Thread;
use crate::workspace::{mode_of, place_of, real, worktree_of};
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
    thread: &Thread,
    config: &Config,
) -> Result<Workspace, EngineError> {
    let site = &runner.site;
    let file = site.root.worktree(thread.id);
    let known = file.read()?;
    let mode = mode_of(site, thread, config)?;
    let worktree = match known {
        Some(record) if record.made => {
            if !worktree_of(&record).exists() {
                return Err(gone(thread.id, record).into());
            }
            Some(record)
        }
        None if mode != Some(WorkspaceMode::Worktree) => None,
        begun => Some(make(runner, thread, config, (&file, begun))?),
    };
    Ok(Workspace { mode, worktree })
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

/// Makes a worktree that is on record as not made yet, or a new one.
fn make(
    runner: &Runner,
    thread: &Thread,
    config: &Config,
    (file, begun): (&WorktreeFile, Option<WorktreeRecord>),
) -> Result<WorktreeRecord, EngineError> {
    let site = &runner.site;
    let not_made = |error| WorkspaceError::NotMade(thread.id, error);
    let begun = match begun {
        Some(record) if can_be_finished(&record).map_err(not_made)? => Some(record),
        _ => None,
    };
    let (mut record, note) = match begun {
        Some(record) => (record, String::new()),
        None => {
            let planned = plan(site, thread, config, file)?;
            file.write(&planned.0)?;
            planned
        }
    };
    worktree_of(&record).make().map_err(not_made)?;
    record.made = true;
    file.write(&record)?;
    let WorktreeRecord {
        place,
        branch,
        base,
        ..
    } = &record;
    let place = place.display();
    site.log(
        thread,
        tags::WORKTREE_MADE,
        &format!("branch={branch} base={base} folder={place}"),
    );
    let base = base.get(..SHORT).unwrap_or(base);
    let id = thread.id;
    (runner.notice)(&format!(
        "thread {id} works in `{place}`, on branch `{branch}`, which begins at {base}{note}"
    ));
    Ok(record)
}

/// Tells whether the worktree of a record can still be made: its branch is missing, or is where it begins. Another branch of
/// that name is not ours: nobody has worked on ours.
fn can_be_finished(record: &WorktreeRecord) -> Result<bool, SnapshotError> {
    let worktree = worktree_of(record);
    let tip = worktree.tip()?;
    Ok(worktree.has(&record.base) && tip.is_none_or(|tip| tip == record.base))
}

/// Returns the record of a new worktree, and what people should know about the files that it begins with.
fn plan(
    site: &Site,
    thread: &Thread,
    config: &Config,
    file: &WorktreeFile,
) -> Result<(WorktreeRecord, String), EngineError> {
    let id = thread.id;
    let not_made = |error| WorkspaceError::NotMade(id, error);
    let directory = start_directory(site, thread);
    if !directory.is_dir() {
        let directory = directory.display().to_string();
        return Err(EngineError::NoDirectory(directory));
    }
    let repository = Repository::of(&directory).map_err(not_made)?;
    let repository = repository.ok_or_else(|| WorkspaceError::NoRepository {
        thread: id,
        directory: directory.clone(),
    })?;
    let source = repository.root().to_owned();
    let head = repository.head().ok_or_else(|| WorkspaceError::NoCommit {
        thread: id,
        repository: source.clone(),
    })?;
    let place = free_place(&place_of(site, id, config), &source)?;
    let (base, note) = base(site, thread, &repository, head, (file, config))?;
    let mut record = WorktreeRecord {
        git_dir: repository.git_dir().map_err(not_made)?,
        source,
        place,
        branch: String::new(),
        base,
        made: false,
    };
    record.branch = free_branch(site, id, &record)?;
    Ok((record, note))
}

/// Returns the folder of the thread.
pub(crate) fn start_directory(site: &Site, thread: &Thread) -> PathBuf {
    let own = thread.start.cwd.as_ref().filter(|own| !own.is_empty());
    let own = own.map(|own| site.env.cwd().join(own));
    own.unwrap_or_else(|| site.env.cwd().to_owned())
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

/// Returns the commit at which the branch begins, and what people should know about it.
///
/// A thread with steps goes on with the files that its newest step with a snapshot left: it may be a fork, or was imported.
/// A child begins with the files of its parent as they are. Every other thread begins at the commit that is checked out.
fn base(
    site: &Site,
    thread: &Thread,
    repository: &Repository,
    head: String,
    (file, config): (&WorktreeFile, &Config),
) -> Result<(String, String), EngineError> {
    let id = thread.id;
    let not_made = |error| WorkspaceError::NotMade(id, error);
    if let Head::Step(_) = Head::read(&site.store, thread.expected_head())? {
        let message = format!("the files with which thread {id} begins");
        for step in steps(&site.store, thread.head) {
            let Some(files) = recorded(site, step?.node.detail)? else {
                continue;
            };
            let commit = repository.commit_of_snapshot(&files.after, &message);
            if let Some(commit) = commit.map_err(not_made)? {
                return Ok((commit, String::new()));
            }
        }
        let note = "; the files of its earlier steps are not on record in this repository";
        return Ok((head, note.to_owned()));
    }
    if let Some(parent) = &thread.start.parent {
        let message = format!(
            "the files of thread {} when thread {id} began",
            parent.thread
        );
        let index = file.index();
        let place = Place {
            index: &index,
            reference: "",
            most_bytes: config.snapshots.most_bytes(),
        };
        let commit = repository.commit_of_state(place, &message);
        file.remove_index()?;
        return Ok((commit.map_err(not_made)?, String::new()));
    }
    let note = match repository.uncommitted().map_err(not_made)? {
        0 => String::new(),
        files => format!(
            "; it does not have {} of `{}`",
            counted(files, "uncommitted file"),
            repository.root().display()
        ),
    };
    Ok((head, note))
}

/// Returns a name for the branch that no branch has: after the name of the thread, else after its id.
fn free_branch(
    site: &Site,
    thread: ThreadId,
    record: &WorktreeRecord,
) -> Result<String, WorkspaceError> {
    let not_made = |error| WorkspaceError::NotMade(thread, error);
    let taken = |branch: &str| WorkspaceError::BranchTaken {
        thread,
        repository: record.source.clone(),
        branch: branch.to_owned(),
    };
    let branch = |branch| Worktree {
        branch,
        ..worktree_of(record)
    };
    // A branch of this name leaves no room for others below it.
    if branch("uwf").tip().map_err(not_made)?.is_some() {
        return Err(taken("uwf"));
    }
    let name = State::new(&site.root).namings().ok();
    let name = name.and_then(|namings| namings.of(thread).name);
    let by_name = name.map(|name| format!("uwf/{name}"));
    let by_id = format!("uwf/{thread}");
    for candidate in by_name.iter().chain([&by_id]) {
        if branch(candidate).is_free().map_err(not_made)? {
            return Ok(candidate.clone());
        }
    }
    Err(taken(&by_id))
}
