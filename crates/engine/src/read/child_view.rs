//! The child threads that work for the next step of a thread, as views show them.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_pipeline::Pipeline;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::program::Program;
use uwf_storage::{HistoryRecord, Located, Reason};

use crate::children::of_step::active_for;
use crate::children::used::{Sums, used_by_active, used_by_thread, used_in_progress};
use crate::children::{Child, children_of};
use crate::limits;
use crate::read::branch::Branch;
use crate::read::causing_child::CausingChild;
use crate::read::outline::used_by;
use crate::read::show::ended_status;
use crate::read::standing::{assigned_to_children, state_of_active, state_of_child};
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::read::usage_total::UsageTotal;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// A child thread that works for the next step of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildView {
    /// Its branch.
    #[serde(flatten)]
    pub branch: Branch,
    /// The thread; `None` if it was not made yet.
    pub thread: Option<ThreadId>,
    /// Its status; `None` if it was not made yet.
    pub status: Option<ThreadStatus>,
    /// The role that is next in it, or asks.
    pub current_role: Option<RoleName>,
    /// Its question, why its last attempt failed, why it is blocked, or why it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The child of the child that keeps it from going on, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<Box<CausingChild>>,
    /// The finished step that waits to be committed, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_step: Option<CasRef>,
    /// Where it stands; `None` if it was not made yet.
    #[serde(skip)]
    pub state: Option<ThreadState>,
}

/// The sums of a thread with those of the children that work for its next step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SumsWithChildren {
    /// How many steps the thread and all its children did, at every depth.
    pub steps: u64,
    /// What they and their failed attempts used up.
    pub usage: UsageTotal,
}

/// Returns the sums of a thread that has done so many steps, with those of its [children](child_views). `None` if no child works
/// for its next step.
pub(crate) fn sums_with_children(
    site: &Site,
    thread: &Thread,
    route: &Result<Route, RouteError>,
    children: &[ChildView],
    own_steps: u64,
) -> Result<Option<SumsWithChildren>, EngineError> {
    let ledger = site.root.run(thread.id).ledger;
    let in_progress = match assigned_to_children(route) {
        Some(assignment) => {
            let mut sums = Sums::read(&ledger);
            used_in_progress(site, thread, assignment, &mut sums)?
        }
        // The next step of a run has one child at most.
        None => match children.first().and_then(|child| child.thread) {
            Some(child) => used_by_active(site, child)?,
            None => Used::default(),
        },
    };
    if in_progress == Used::default() {
        return Ok(None);
    }
    let mut used = used_by(site, &ledger, thread.head)?;
    used.add_all(&in_progress);
    Ok(Some(SumsWithChildren {
        steps: own_steps + used.child_steps,
        usage: UsageTotal::from(&used),
    }))
}

/// Returns the sums of an ended thread with those of its children that are part of no step. A thread that reached its end has no such
/// children.
pub(crate) fn sums_of_ended(
    site: &Site,
    record: &HistoryRecord,
) -> Result<Option<SumsWithChildren>, EngineError> {
    let sums = |has_more| used_by_thread(site, record.thread, record.head, has_more);
    if record.reason == Reason::Completed {
        return Ok(None);
    }
    let (own, all) = (sums(false)?, sums(true)?);
    Ok((own != all).then(|| SumsWithChildren {
        steps: all.child_steps,
        usage: UsageTotal::from(&all),
    }))
}

/// Returns the children of a thread with this route. If it is unknown which ones it needs, there are none.
pub(crate) fn child_views(
    site: &Site,
    thread: &Thread,
    route: &Result<Route, RouteError>,
) -> Result<Vec<ChildView>, EngineError> {
    if let (Program::Pipeline(pipeline), Ok(Route::To(next))) = (&thread.program, route) {
        let child = child_of_run(site, (thread.id, thread.head), pipeline, &next.role)?;
        let view = child.map(|(child, state)| of_state(Branch::default(), child, state));
        return Ok(view.into_iter().collect());
    }
    let Some(assignment) = assigned_to_children(route) else {
        return Ok(Vec::new());
    };
    match children_of(site, thread, assignment, None) {
        Ok(children) => children.iter().map(|child| view_of(site, child)).collect(),
        Err(EngineError::Child(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the active child that does this step of a run, and where it stands.
pub(crate) fn child_of_run(
    site: &Site,
    (run, head): (ThreadId, CasRef),
    pipeline: &Pipeline,
    step: &RoleName,
) -> Result<Option<(ThreadId, ThreadState)>, EngineError> {
    if !pipeline.starts_workflows() {
        return Ok(None);
    }
    let Some((child, head)) = active_for(site, (run, head), step)? else {
        return Ok(None);
    };
    let state = state_of_active(site, (child, head), &limits::config_for_views(site))?;
    Ok(Some((child, state)))
}

fn of_state(branch: Branch, child: ThreadId, state: ThreadState) -> ChildView {
    ChildView {
        branch,
        thread: Some(child),
        status: Some(state.status),
        reason: state.why(),
        current_role: state
            .current_role
            .clone()
            .or_else(|| state.suspended_role.clone()),
        caused_by: state.caused_by.clone(),
        finished_step: state.finished_step,
        state: Some(state),
    }
}

fn view_of(site: &Site, child: &Child) -> Result<ChildView, EngineError> {
    let state = match &child.place {
        None => None,
        Some(Located::Archived(record)) => Some(ThreadState::plain(ended_status(record.reason))),
        Some(Located::Active(_)) => state_of_child(site, child, &limits::config_for_views(site))?,
    };
    let branch = Branch::from(&child.planned);
    Ok(match state {
        None => ChildView {
            branch,
            thread: None,
            status: None,
            current_role: None,
            reason: None,
            caused_by: None,
            finished_step: None,
            state: None,
        },
        Some(state) => of_state(branch, child.thread, state),
    })
}
