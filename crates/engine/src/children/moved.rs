//! Children of a thread that was migrated: they go on working for it if the other workflow gives them the same task.
//!
//! A migration gives a thread another head, and the id of a child is a hash with the head in it. So a child that was made
//! before is found by the head that the thread had then. The history has that head.

use uwf_cas_fs::hash_of;
use uwf_moderator::{Assignment, Performer, PlannedChild, Route};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::work::{Player, alone};
use uwf_protocol::workflow_stored;
use uwf_storage::{Located, State};
use uwf_thread::{Head, read_start};

use super::{Child, children_of, has_children, planned, planned_under, taken_up};
use crate::child_error::failed;
use crate::read::steps::replaced_by;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// Returns the heads that a thread had before this one by migrations, oldest first.
pub(crate) fn heads_before(
    site: &Site,
    thread: ThreadId,
    head: CasRef,
) -> Result<Vec<CasRef>, EngineError> {
    let migrations = State::new(&site.root).migrations(thread)?;
    Ok(replaced_by(head, &migrations))
}

/// Tells whether a child that was made for an earlier head has the task that its parent gives now.
pub(super) fn has_same_task(
    site: &Site,
    thread: &Thread,
    child: &Child,
) -> Result<bool, EngineError> {
    match start_of(site, child)? {
        None => Ok(false),
        Some(start) => Ok(is_task(thread, &child.planned, &start)),
    }
}

fn start_of(site: &Site, child: &Child) -> Result<Option<StartNode>, EngineError> {
    let Some(head) = child.place.as_ref().map(Located::head) else {
        return Ok(None);
    };
    let start = Head::read(&site.store, head)?.start();
    Ok(Some(read_start(&site.store, start)?.node))
}

/// Tells whether a child with this start would do what is planned.
fn is_task(thread: &Thread, planned: &PlannedChild, start: &StartNode) -> bool {
    let workflow = match &planned.player {
        Player::Workflow(workflow) => Some(*workflow),
        Player::Role(role) => {
            let workflow = thread.program.as_graph();
            workflow.and_then(|workflow| {
                let (type_hash, payload) = workflow_stored::to_payload(&alone(workflow, role));
                hash_of(Some(type_hash), &payload).ok()
            })
        }
    };
    // What a person said to the thread follows the task.
    let said = start.prompt.strip_prefix(planned.prompt.as_str());
    workflow == Some(start.workflow)
        && said.is_some_and(|said| said.is_empty() || said.starts_with("\n\n"))
}

/// Fails if children work for the next step of a thread, and the thread under another workflow would not go on with them.
pub(crate) fn refuse_to_leave_behind(
    site: &Site,
    thread: &Thread,
    under: &Thread,
    route: &Route,
) -> Result<(), EngineError> {
    let Some((assignment, children)) = at_work(site, thread)? else {
        return Ok(());
    };
    let wanted = match route {
        Route::To(next)
            if next.performer == Performer::Children && next.role == assignment.role =>
        {
            planned(site, under, next, None).unwrap_or_default()
        }
        // A person has answered it: the record of that goes with the thread.
        Route::Suspend { role, .. } if *role == assignment.role => {
            planned_under(site, thread, &under.program, &assignment, None).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    for child in children {
        let start = start_of(site, &child)?;
        let is_wanted = |one: &PlannedChild| {
            one.key == child.planned.key
                && start
                    .as_ref()
                    .is_some_and(|start| is_task(under, one, start))
        };
        if !wanted.iter().any(is_wanted) {
            return Err(failed(thread.id, &assignment.role, child.at_work()));
        }
    }
    Ok(())
}

/// Returns the children that work for the next step of a thread, if some do, and what they do.
pub(crate) fn at_work(
    site: &Site,
    thread: &Thread,
) -> Result<Option<(Assignment, Vec<Child>)>, EngineError> {
    if !has_children(&thread.program) {
        return Ok(None);
    }
    let Ok(Route::To(assignment)) = taken_up::route(site, thread, None)? else {
        return Ok(None);
    };
    if assignment.performer != Performer::Children {
        return Ok(None);
    }
    let mut children = match children_of(site, thread, &assignment, None) {
        Ok(children) => children,
        // Where it is unknown which ones are needed, none was made.
        Err(EngineError::Child(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    children.retain(|child| child.place.is_some() && child.kept_steps.is_none());
    Ok((!children.is_empty()).then_some((assignment, children)))
}
