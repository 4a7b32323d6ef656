//! The child threads that work for the next step of a thread, as views show them.

use serde::Serialize;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_storage::Located;

use crate::children::{Child, children_of};
use crate::limits;
use crate::read::show::ended_status;
use crate::read::standing::{assigned_to_children, state_of_child};
use crate::read::thread_state::ThreadStatus;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// A child thread that works for the next step of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildView {
    /// The branch; empty if the role has no branches.
    pub key: String,
    /// The thread; `None` if it was not made yet.
    pub thread: Option<ThreadId>,
    /// Its status; `None` if it was not made yet.
    pub status: Option<ThreadStatus>,
    /// The role that is next in it.
    pub current_role: Option<RoleName>,
}

/// Returns the children of a thread with this route. If it is unknown which ones it needs, there are none.
pub(crate) fn child_views(
    site: &Site,
    thread: &Thread,
    route: &Result<Route, RouteError>,
) -> Result<Vec<ChildView>, EngineError> {
    let Some(assignment) = assigned_to_children(route) else {
        return Ok(Vec::new());
    };
    match children_of(site, thread, assignment, None) {
        Ok(children) => children.iter().map(|child| view_of(site, child)).collect(),
        Err(EngineError::Child(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn view_of(site: &Site, child: &Child) -> Result<ChildView, EngineError> {
    let (status, current_role) = match &child.place {
        None => (None, None),
        Some(Located::Archived(record)) => (Some(ended_status(record.reason)), None),
        Some(Located::Active(_)) => {
            let state = state_of_child(site, child, &limits::config_for_views(site))?;
            let status = state.as_ref().map(|state| state.status);
            (status, state.and_then(|state| state.current_role))
        }
    };
    Ok(ChildView {
        key: child.planned.key.clone(),
        thread: status.map(|_| child.thread),
        status,
        current_role,
    })
}
