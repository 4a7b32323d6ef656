//! Which snapshots belong to steps: their own, and those of the steps of child threads that did them.

use std::collections::HashSet;
use std::path::Path;

use indexmap::IndexMap;
use uwf_protocol::child::ChildrenDetail;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::step_files::StepFiles;
use uwf_thread::{Stored, read_step, steps};

use crate::read::changed_files::StepOfFiles;
use crate::read::detail_summary::files_of;
use crate::workspace::branch_of;
use crate::{EngineError, Site};

/// What was found in one repository.
pub(crate) struct Found {
    pub(crate) files: StepFiles,
    pub(crate) steps: Vec<StepOfFiles>,
    /// Whether the later files are those of a step that is not done yet.
    pub(crate) unfinished: bool,
    /// Whose worktree it is, if it is that of a child.
    pub(crate) child: Option<ThreadId>,
    /// The branch of this worktree, if that is on record.
    pub(crate) branch: Option<String>,
}

/// The repositories that were found, in the order of the first steps there.
#[derive(Default)]
pub(crate) struct FoundFiles {
    pub(crate) all: Vec<Found>,
    /// The steps of children that were found: a later step may name the same child again.
    seen: HashSet<CasRef>,
}

impl FoundFiles {
    /// Adds the files of a step that comes after all others.
    pub(crate) fn add(&mut self, site: &Site, step: &Stored<StepNode>) -> Result<(), EngineError> {
        self.add_with_replaced(site, step, &[])
    }

    /// Adds the files of a step that comes after all others, and took the place of these steps, oldest first. What they changed
    /// counts too, since the files stay when a step is done again.
    pub(crate) fn add_with_replaced(
        &mut self,
        site: &Site,
        step: &Stored<StepNode>,
        replaced: &[CasRef],
    ) -> Result<(), EngineError> {
        let detail = site.store.need(step.node.detail)?;
        if let Some(mut files) = files_of(&detail.payload) {
            if let Some(before) = before_all(site, replaced, &files.repository) {
                files.before = before;
            }
            self.put(Found {
                files,
                steps: vec![StepOfFiles {
                    hash: step.hash,
                    role: step.node.role.clone(),
                }],
                unfinished: false,
                child: None,
                branch: None,
            });
        }
        let Some(children) = ChildrenDetail::of(detail.type_hash, &detail.payload) else {
            return Ok(());
        };
        let mut of_children = Vec::new();
        for child in children.children {
            let line = &mut Vec::new();
            self.of_child(site, (child.thread, child.head), line, &mut of_children)?;
        }
        for mut found in side_by_side(of_children) {
            found.branch = found.child.and_then(|child| branch(site, child, &found));
            self.put(found);
        }
        Ok(())
    }

    /// Adds what was found after all others.
    pub(crate) fn put(&mut self, found: Found) {
        let mut known = self.all.iter_mut();
        let known = known.find(|known| known.files.repository == found.files.repository);
        match known {
            Some(known) => {
                known.files.after = found.files.after;
                known.files.left_out = found.files.left_out;
                known.steps.extend(found.steps);
                known.unfinished = found.unfinished;
            }
            None => self.all.push(found),
        }
    }

    /// Adds the steps of a child, and of its own children. `line` has the children above it.
    fn of_child(
        &mut self,
        site: &Site,
        (thread, head): (ThreadId, CasRef),
        line: &mut Vec<ThreadId>,
        found: &mut Vec<OfChild>,
    ) -> Result<(), EngineError> {
        line.push(thread);
        for step in steps(&site.store, head) {
            let step = step?;
            if !self.seen.insert(step.hash) {
                break;
            }
            let detail = site.store.need(step.node.detail)?;
            if let Some(files) = files_of(&detail.payload) {
                found.push(OfChild {
                    child: owner(&files, line),
                    files,
                    step: StepOfFiles {
                        hash: step.hash,
                        role: step.node.role.clone(),
                    },
                    started_ms: step.node.started_at_ms.unwrap_or(step.timestamp_ms),
                    completed_ms: step.node.completed_at_ms.unwrap_or(step.timestamp_ms),
                });
            }
            let children = ChildrenDetail::of(detail.type_hash, &detail.payload);
            for child in children.into_iter().flat_map(|detail| detail.children) {
                self.of_child(site, (child.thread, child.head), line, found)?;
            }
        }
        line.pop();
        Ok(())
    }
}

/// Returns the commit before the oldest of these steps that worked in the repository. A step that is not on record any more is
/// passed over.
fn before_all(site: &Site, steps: &[CasRef], repository: &str) -> Option<String> {
    let mut files = steps.iter().filter_map(|step| {
        let step = read_step(&site.store, *step).ok()?;
        files_of(&site.store.need(step.node.detail).ok()?.payload)
    });
    let oldest = files.find(|files| files.repository == repository)?;
    Some(oldest.before)
}

/// Returns which of these threads the working tree was made for. A worktree has the name of its thread, and keeps it when both are
/// gone.
fn owner(files: &StepFiles, threads: &[ThreadId]) -> Option<ThreadId> {
    let name = Path::new(&files.repository).file_name()?.to_str()?;
    let mut threads = threads.iter().copied();
    threads.find(|thread| thread.as_str() == name)
}

/// Returns the branch of the worktree of a child, if it is on record: the record goes with the worktree.
fn branch(site: &Site, child: ThreadId, found: &Found) -> Option<String> {
    let record = site.root.worktree(child).read().ok().flatten()?;
    let is_it = record.place == Path::new(&found.files.repository);
    is_it.then(|| branch_of(&record))
}

/// A step of a child.
struct OfChild {
    files: StepFiles,
    step: StepOfFiles,
    /// Whose worktree it worked in, if it is not that of the parent.
    child: Option<ThreadId>,
    started_ms: i64,
    completed_ms: i64,
}

/// Returns what the steps of children did in each repository, which may have worked there at the same time: from before the one that
/// began first to after the one that ended last. The repositories are in the order of the children.
fn side_by_side(steps: Vec<OfChild>) -> Vec<Found> {
    let mut by_repository: IndexMap<String, Vec<OfChild>> = IndexMap::new();
    for step in steps {
        let repository = step.files.repository.clone();
        by_repository.entry(repository).or_default().push(step);
    }
    let joined = by_repository.into_values().filter_map(|mut steps| {
        // Those of one child came newest first. Of steps that ended at the same time, this keeps the order.
        steps.reverse();
        steps.sort_by_key(|step| step.completed_ms);
        let first = steps.iter().min_by_key(|step| step.started_ms)?;
        let last = steps.last()?;
        Some(Found {
            files: StepFiles {
                before: first.files.before.clone(),
                ..last.files.clone()
            },
            child: last.child,
            branch: None,
            steps: steps.into_iter().map(|step| step.step).collect(),
            unfinished: false,
        })
    });
    joined.collect()
}
