//! Where the agents of a thread work: the mode of a thread, its family, and its worktree as far as it is on record. The half
//! that does steps makes worktrees (`run/workspace.rs`).

pub(crate) mod earlier;
pub(crate) mod removal;

use std::path::PathBuf;

use serde::Serialize;
use uwf_protocol::child::Parent;
use uwf_protocol::config::Config;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::work::Work;
use uwf_protocol::workspace::WorkspaceMode;
use uwf_snapshot::{Limited, Presence, SnapshotError, Worktree};
use uwf_storage::{State, WorktreeRecord};
use uwf_thread::{Head, read_program, read_start};
use uwf_util::causes::with_causes;

use crate::children::parent_of;
use crate::thread::Thread;
use crate::workspace_error::WorkspaceError;
use crate::{EngineError, Site};

/// Returns where the agents of a thread work.
///
/// A child works as its parent does, unless its own workflow says something. In a family with worktrees, each branch has
/// one of its own. A workflow that plays a role alone works in the worktree of its parent, which waits for it.
pub(crate) fn mode_of(
    site: &Site,
    thread: &Thread,
    config: &Config,
) -> Result<Option<WorkspaceMode>, EngineError> {
    if let Some(own) = thread.program.workspace() {
        return Ok(Some(own));
    }
    let Some(parent) = &thread.start.parent else {
        return Ok(config.workspace.mode);
    };
    let Some((start, program)) = thread_above(site, parent)? else {
        return Ok(None);
    };
    let wanted = wanted_by(site, (parent.thread, &start, &program), config)?;
    let work = program.task(&parent.role).map(|role| &role.work);
    let is_branch = matches!(work, Some(Work::Branches(_)));
    Ok(wanted.filter(|mode| is_branch || *mode != WorkspaceMode::Worktree))
}

/// Returns the mode that the workflow of a thread says, or those above it, or the config.
fn wanted_by(
    site: &Site,
    (thread, start, program): (ThreadId, &StartNode, &Program),
    config: &Config,
) -> Result<Option<WorkspaceMode>, EngineError> {
    if let Some(own) = program.workspace() {
        return Ok(Some(own));
    }
    let Some(parent) = parent_of(thread, start) else {
        return Ok(config.workspace.mode);
    };
    match thread_above(site, parent)? {
        Some((start, program)) => wanted_by(site, (parent.thread, &start, &program), config),
        None => Ok(None),
    }
}

/// Returns the thread above this one that has no parent; the thread itself if it has none.
pub(crate) fn family_of(site: &Site, thread: &Thread) -> Result<ThreadId, EngineError> {
    let mut top = thread.id;
    let mut next = thread.start.parent.clone();
    while let Some(parent) = next {
        top = parent.thread;
        let above = thread_above(site, &parent)?;
        next = above.and_then(|(start, _)| parent_of(top, &start).cloned());
    }
    Ok(top)
}

/// Returns the start and the program of a parent; `None` if it was removed.
fn thread_above(site: &Site, parent: &Parent) -> Result<Option<(StartNode, Program)>, EngineError> {
    let Some(place) = State::new(&site.root).find(parent.thread)? else {
        return Ok(None);
    };
    let start = Head::read(&site.store, place.head())?.start();
    let start = read_start(&site.store, start)?.node;
    let program = read_program(&site.store, start.workflow)?;
    Ok(Some((start, program)))
}

/// Returns the worktree that a record is about.
pub(crate) fn worktree_of(record: &WorktreeRecord) -> Worktree<'_> {
    Worktree {
        git_dir: &record.git_dir,
        place: &record.place,
        branch: &record.branch,
        base: &record.base,
    }
}

/// Returns the branch of a worktree by the name that it has now: a person may have renamed it.
pub(crate) fn branch_of(record: &WorktreeRecord) -> String {
    let renamed = worktree_of(record).renamed().ok().flatten();
    renamed.unwrap_or_else(|| record.branch.clone())
}

/// Returns the directory in which the threads of a start node start.
pub(crate) fn directory_of(site: &Site, start: &StartNode) -> PathBuf {
    let own = start.cwd.as_ref().filter(|own| !own.is_empty());
    let own = own.map(|own| site.env.cwd().join(own));
    own.unwrap_or_else(|| site.env.cwd().to_owned())
}

/// Returns the folder in which the worktree of a thread will be.
pub(crate) fn place_of(site: &Site, thread: ThreadId, config: &Config) -> PathBuf {
    let folder = match config.workspace.folder.as_deref() {
        None | Some("") => site.root.worktrees_dir(),
        Some(folder) => match (folder.strip_prefix("~/"), site.env.home()) {
            (Some(below), Some(home)) => home.join(below),
            // A relative path starts at the root.
            _ => site.root.path().join(folder),
        },
    };
    folder.join(thread.as_str())
}

/// The worktree of a thread, as views show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceView {
    /// The mode; only worktrees are shown.
    pub mode: WorkspaceMode,
    /// The folder of the worktree.
    pub folder: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit at which the branch began.
    pub base: String,
    /// The working tree that it was made for.
    pub repository: PathBuf,
    /// Whether the folder is there.
    pub exists: bool,
    /// How many files have changes that are not committed, if that can be told.
    pub uncommitted: Option<u64>,
    /// How many commits only the branch has, if that can be told.
    pub unmerged: Option<u64>,
    /// Why it cannot be told, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl WorkspaceView {
    /// Looks at the worktree of a thread, if it has one.
    pub(crate) fn of(site: &Site, thread: ThreadId) -> Result<Option<Self>, EngineError> {
        let record = site.root.worktree(thread).read()?;
        let Some(record) = record.filter(|record| record.made) else {
            return Ok(None);
        };
        let worktree = worktree_of(&record);
        let (unkept, problem) = match worktree.unkept(&[], &Limited::VIEW) {
            Ok(unkept) if unkept.damaged => {
                let problem = "the folder is no worktree of git any more";
                (None, Some(problem.to_owned()))
            }
            Ok(unkept) => (Some(unkept), None),
            Err(source @ SnapshotError::Stopped { .. }) => {
                let place = record.place;
                return Err(WorkspaceError::NotSeen {
                    thread,
                    place,
                    source,
                }
                .into());
            }
            Err(error) => (None, Some(with_causes(&error))),
        };
        Ok(Some(Self {
            mode: WorkspaceMode::Worktree,
            exists: match worktree.presence() {
                Presence::Whole | Presence::Damaged => true,
                Presence::Absent => false,
            },
            uncommitted: unkept.as_ref().map(|unkept| unkept.files),
            unmerged: unkept.as_ref().map(|unkept| unkept.commits),
            problem,
            branch: branch_of(&record),
            folder: record.place,
            base: record.base,
            repository: record.source,
        }))
    }
}

impl From<WorkspaceError> for EngineError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(Box::new(error))
    }
}
