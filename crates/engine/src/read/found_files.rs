//! Which snapshots belong to steps: their own, and those of the steps of child threads that did them.

use std::collections::HashSet;
use std::path::Path;

use uwf_protocol::child::ChildrenDetail;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::step_files::StepFiles;
use uwf_thread::{Stored, steps};

use crate::read::changed_files::StepOfFiles;
use crate::read::detail_summary::files_of;
use crate::{EngineError, Site};

/// What was found in one repository.
pub(crate) struct Found {
    pub(crate) files: StepFiles,
    pub(crate) steps: Vec<StepOfFiles>,
    /// Whether the later files are those of a step that is not done yet.
    pub(crate) unfinished: bool,
    /// The branch, if the folder is the worktree of a child.
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
        let detail = site.store.need(step.node.detail)?;
        if let Some(files) = files_of(&detail.payload) {
            self.put(Found {
                files,
                steps: vec![StepOfFiles {
                    hash: step.hash,
                    role: step.node.role.clone(),
                }],
                unfinished: false,
                branch: None,
            });
        }
        let Some(children) = ChildrenDetail::of(detail.type_hash, &detail.payload) else {
            return Ok(());
        };
        let mut of_children = Vec::new();
        for child in children.children {
            self.of_child(site, (child.thread, child.head), &mut of_children)?;
        }
        for found in side_by_side(of_children) {
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

    /// Adds the steps of a child, and of its own children.
    fn of_child(
        &mut self,
        site: &Site,
        (thread, head): (ThreadId, CasRef),
        found: &mut Vec<OfChild>,
    ) -> Result<(), EngineError> {
        for step in steps(&site.store, head) {
            let step = step?;
            if !self.seen.insert(step.hash) {
                break;
            }
            let detail = site.store.need(step.node.detail)?;
            if let Some(files) = files_of(&detail.payload) {
                let record = site.root.worktree(thread).read().ok().flatten();
                let record = record.filter(|it| it.place == Path::new(&files.repository));
                found.push(OfChild {
                    files,
                    step: StepOfFiles {
                        hash: step.hash,
                        role: step.node.role.clone(),
                    },
                    branch: record.map(|record| record.branch),
                    started_ms: step.node.started_at_ms.unwrap_or(step.timestamp_ms),
                    completed_ms: step.node.completed_at_ms.unwrap_or(step.timestamp_ms),
                });
            }
            let children = ChildrenDetail::of(detail.type_hash, &detail.payload);
            for child in children.into_iter().flat_map(|detail| detail.children) {
                self.of_child(site, (child.thread, child.head), found)?;
            }
        }
        Ok(())
    }
}

/// A step of a child.
struct OfChild {
    files: StepFiles,
    step: StepOfFiles,
    branch: Option<String>,
    started_ms: i64,
    completed_ms: i64,
}

/// Returns what the steps of children did in each repository, which may have worked there at the same time: from before the one that
/// began first to after the one that ended last.
fn side_by_side(mut steps: Vec<OfChild>) -> Vec<Found> {
    // The steps of one child come newest first.
    steps.reverse();
    steps.sort_by_key(|step| step.completed_ms);
    let mut all: Vec<(Found, i64)> = Vec::new();
    for step in steps {
        let mut known = all.iter_mut();
        let known = known.find(|(known, _)| known.files.repository == step.files.repository);
        match known {
            Some((known, first_ms)) => {
                if step.started_ms < *first_ms {
                    *first_ms = step.started_ms;
                    known.files.before = step.files.before;
                }
                known.files.after = step.files.after;
                known.files.left_out = step.files.left_out;
                known.steps.push(step.step);
            }
            None => all.push((
                Found {
                    files: step.files,
                    steps: vec![step.step],
                    unfinished: false,
                    branch: step.branch,
                },
                step.started_ms,
            )),
        }
    }
    all.into_iter().map(|(found, _)| found).collect()
}
