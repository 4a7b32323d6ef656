//! Forking a thread: a new thread starts at a node of an old one, which does not change. Nothing is copied, unless the fork
//! goes on under another workflow.

use serde::Serialize;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::naming::Naming;
use uwf_protocol::workflow_diff::WorkflowDiff;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::{ForkOrigin, LateCheckFile, State};
use uwf_thread::steps;

use crate::limits::{self, LimitedThread};
use crate::read::step_data::thread_of;
use crate::read::thread_state::ThreadState;
use crate::rebase::{self, Misfit};
use crate::short_names::NameError;
use crate::snapshots::keep_snapshots;
use crate::thread::Thread;
use crate::workflow_ref::{self, Found, HiddenWorkflow};
use crate::{EngineError, Site, printed, short_names, tags};

/// Where a fork begins.
#[derive(Debug, Clone, Copy)]
pub struct ForkPoint {
    /// A stored start or step.
    pub step: CasRef,
    /// The thread that has it; looked up if absent.
    pub thread: Option<ThreadId>,
}

/// A thread that was made by a fork.
#[derive(Debug, Clone)]
pub struct Forked {
    /// The new thread.
    pub thread: ThreadId,
    /// Its name and its labels.
    pub naming: Naming,
    /// Where it came from.
    pub from: ForkOrigin,
    /// Its state there.
    pub state: ThreadState,
    /// What is different about it, if it goes on under another workflow.
    pub moved: Option<MovedOn>,
    /// Whether it begins with steps.
    pub has_steps: bool,
    /// The finished step that waits in the old thread to follow the node at which the fork begins. The fork does not have it.
    pub left_out: Option<CasRef>,
}

/// What changes for a chain that goes on under another workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MovedOn {
    /// The other workflow.
    pub workflow: CasRef,
    /// What differs between both.
    pub diff: WorkflowDiff,
    /// The steps whose output does not fit the schemas of the other workflow. It does not decide by them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misfits: Vec<Misfit>,
    /// The warnings about the workflow's file.
    #[serde(skip)]
    pub warnings: Vec<Diagnostic>,
    /// The other workflow that is registered by the name, if a project's file was chosen in its place.
    #[serde(skip)]
    pub hidden: Option<HiddenWorkflow>,
}

/// Creates a thread whose head is a stored start or step, or its copy under another workflow.
///
/// # Errors
/// When the node is missing, or is neither a start nor a step; when the chain cannot go on under the other workflow; when
/// another thread has the name. Then there is no new thread.
pub fn fork(
    site: &Site,
    from: ForkPoint,
    workflow: Option<&str>,
    naming: Naming,
) -> Result<Forked, EngineError> {
    fork_if(site, from, workflow, naming, |_, _| Ok(()))
}

/// Creates a thread as [`fork`] does, unless a last look refuses it. That gets the thread as it is about to be made, and the one
/// that it comes from, if that is known.
pub(crate) fn fork_if(
    site: &Site,
    from: ForkPoint,
    workflow: Option<&str>,
    naming: Naming,
    look: impl FnOnce(&Thread, Option<ThreadId>) -> Result<(), EngineError>,
) -> Result<Forked, EngineError> {
    let _hold = site.store.hold()?;
    site.store.get(from.step)?;
    let id = site.new_thread_id()?;
    let original = Thread::load(&site.store, id, from.step)?;
    site.enlist()?;
    let mut origin = ForkOrigin {
        step: from.step,
        thread: match from.thread {
            Some(thread) => Some(thread),
            None => thread_of(site, from.step)?,
        },
        workflow: None,
    };
    let found = workflow.map(|name| workflow_ref::resolve(site, name));
    let other = found
        .transpose()?
        .filter(|found| found.hash != original.start.workflow);
    let moved = other.map(|found| move_on(site, &original, found));
    let (thread, moved) = match moved.transpose()? {
        Some((head, moved)) => {
            origin.workflow = Some(original.start.workflow);
            (Thread::load(&site.store, id, head)?, Some(moved))
        }
        None => (original, None),
    };
    let run = site.root.run(id);
    let route = thread.route(None)?;
    let limited = LimitedThread::of(&run.ledger, &thread);
    let config = limits::of_config(site);
    let reached = limits::reached_on_route(&site.store, &limited, &route, &config)?;
    let state = ThreadState::of_active(&route).at_limits(&reached);
    look(&thread, origin.thread)?;
    let late = late_check_files(site, origin.thread)?;
    State::new(&site.root).insert_named(id, thread.head, &naming)?;
    site.note_use(id);
    // A run folder proves that its thread exists, so the record comes after the thread. The thread works without it.
    let _ = run.origin.write(&origin);
    if !late.is_empty() {
        run.late_check_files.write(&late)?;
    }
    if let Some(original) = origin.thread {
        keep_snapshots(site, original, id, thread.head);
    }
    site.log(&thread, tags::FORKED, &format!("from={}", from.step));
    let left_out = left_out(site, &origin);
    Ok(Forked {
        thread: id,
        naming,
        from: origin,
        state,
        moved,
        has_steps: thread.last().is_some(),
        left_out,
    })
}

/// Returns the finished step that waits to follow the node at which a fork begins, as far as that can be read.
fn left_out(site: &Site, from: &ForkOrigin) -> Option<CasRef> {
    let waiting = printed::of_active(site, from.thread?).ok()??;
    (waiting.expects() == from.step).then_some(waiting.step)
}

/// Returns the files of checks that were recorded after a thread had started. A fork has to know them: one that was changed meanwhile
/// must not count as the first one.
fn late_check_files(
    site: &Site,
    from: Option<ThreadId>,
) -> Result<Vec<LateCheckFile>, EngineError> {
    let files = from.map(|from| site.root.run(from).late_check_files.read());
    Ok(files.transpose()?.unwrap_or_default())
}

/// Copies a chain onto another workflow, and returns its new head.
fn move_on(site: &Site, thread: &Thread, found: Found) -> Result<(CasRef, MovedOn), EngineError> {
    let plan = rebase::decide(&site.store, thread, found.hash, None)?;
    let copied = rebase::copy(site, thread.head, found.hash, None)?;
    Ok((copied.head, MovedOn::of(plan, found)))
}

impl MovedOn {
    /// Returns the result for a chain that has the workflow already.
    pub(crate) fn unchanged(found: Found) -> Self {
        Self {
            workflow: found.hash,
            diff: WorkflowDiff::default(),
            misfits: Vec::new(),
            warnings: found.warnings,
            hidden: found.hidden,
        }
    }

    pub(crate) fn of(plan: rebase::Rebase, found: Found) -> Self {
        Self {
            workflow: found.hash,
            diff: plan.diff,
            misfits: plan.misfits,
            warnings: found.warnings,
            hidden: found.hidden,
        }
    }
}

/// Which visit of a role is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// The newest one.
    Last,
    /// The nth, from 1.
    Nth(usize),
}

/// Returns the step of a role in a thread, active or ended.
///
/// # Errors
/// [`NameError::NoStep`] if the role has not so many steps there.
pub fn find_visit(
    site: &Site,
    thread: ThreadId,
    role: &RoleName,
    visit: Visit,
) -> Result<CasRef, NameError> {
    let mut visits = Vec::new();
    for step in steps(&site.store, short_names::head_of(site, thread)?) {
        let step = step?;
        if step.node.role == *role {
            visits.push(step.hash);
        }
    }
    let found = match visit {
        Visit::Last => visits.first(),
        Visit::Nth(nth) => visits.iter().rev().nth(nth.saturating_sub(1)),
    };
    found.copied().ok_or_else(|| NameError::NoStep {
        thread,
        name: match visit {
            Visit::Last => format!("/{role}"),
            Visit::Nth(nth) => format!("/{role}, visit {nth} of {}", visits.len()),
        },
    })
}
