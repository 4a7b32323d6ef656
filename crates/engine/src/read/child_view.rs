//! The child threads that work for the next step of a thread, as views show them.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_pipeline::Pipeline;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::program::Program;
use uwf_storage::{Located, State};

use crate::children::of_step::{active, head_for_child};
use crate::children::used::{Sums, used_in_progress};
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

/// Returns the sums of a thread that has done so many steps, with those of its children. `None` if no child works for its next
/// step.
pub(crate) fn sums_with_children(
    site: &Site,
    thread: &Thread,
    route: &Result<Route, RouteError>,
    own_steps: u64,
) -> Result<Option<SumsWithChildren>, EngineError> {
    let Some(assignment) = assigned_to_children(route) else {
        return Ok(None);
    };
    let ledger = site.root.run(thread.id).ledger;
    let mut sums = Sums::read(&ledger);
    let in_progress = used_in_progress(site, thread, assignment, &mut sums)?;
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
    // Finding the children of a thread takes a look at all threads.
    if !pipeline.starts_workflows() {
        return Ok(None);
    }
    let at = head_for_child(&site.store, head)?;
    let mut children = active(site, run)?.into_iter();
    let child = children.find(|(_, parent)| parent.head == at && parent.role == *step);
    let Some((child, _)) = child else {
        return Ok(None);
    };
    let Some(Located::Active(head)) = State::new(&site.root).find(child)? else {
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
            state: None,
        },
        Some(state) => of_state(branch, child.thread, state),
    })
}
