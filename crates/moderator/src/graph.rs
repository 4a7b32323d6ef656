//! The role graph: which edge is taken after the last step.
//!
//! What the edge says is put together in `position`.

mod position;

use indexmap::IndexMap;
use serde_json::Value;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::workflow::{Edges, NodeName, Target, Workflow};

use crate::condition::Ask;
use crate::graph::position::{Edge, Position};
use crate::route::{HistoryNeed, Route};
use crate::route_error::RouteError;

/// Returns how much of the thread decides what follows a step of this role; `None` is the beginning.
#[must_use]
pub fn history_need<S>(workflow: &Workflow<S>, last_role: Option<&RoleName>) -> HistoryNeed {
    let node = last_role.map_or(NodeName::Start, |role| NodeName::Role(role.clone()));
    match workflow.graph.get(&node) {
        // An edge without a condition is always taken, so only the first one needs a look.
        Some(Edges::InOrder(edges)) if edges.first().is_some_and(|e| e.condition.is_some()) => {
            HistoryNeed::All
        }
        Some(Edges::InOrder(_) | Edges::ByStatus(_)) | None => HistoryNeed::LastStep,
    }
}

/// Decides what follows the last of the steps, which are oldest first; without steps the thread begins.
///
/// The steps may be the last one only when [`history_need`] says so. In a status map the key that equals
/// the answer's status is taken, and nothing else, with two exceptions that rest on what
/// [`validate`](crate::validate()) accepts: a lone edge `_` belongs to a role whose schema allows one status
/// at most, so it is taken whatever that status is called; and a lone edge with another name is taken when
/// the answer leaves its one possible status out. A role that answers `$SUSPEND` suspends its thread, with
/// or without an edge of that name. In a list the first edge is taken whose condition holds; `ask` says which,
/// and is called at most once.
///
/// # Errors
/// When the graph has no edge for the answer, a condition fails, or a template cannot be filled in.
pub fn route<S>(
    workflow: &Workflow<S>,
    start: &StartNode,
    steps: &[StepContext],
    ask: Ask<'_>,
) -> Result<Route, RouteError> {
    let Some(last) = steps.last() else {
        return enter(workflow, start, ask);
    };
    let at = Position {
        node: NodeName::Role(last.node.role.clone()),
        status: status_of(&last.output),
        answer: Some(&last.output),
    };
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            if let Some((key, target)) = target_for(targets, &at.status) {
                return at.follow(&Edge::of_target(key, target));
            }
            at.suspended_by_answer()
                .ok_or_else(|| at.unknown_status(targets))
        }
        Some(Edges::InOrder(edges)) => match at.suspended_by_answer() {
            Some(route) => Ok(route),
            None => at.follow_first(&workflow.conditions, edges, start, steps, ask),
        },
        None => at
            .suspended_by_answer()
            .ok_or(RouteError::NoEdges { node: at.node }),
    }
}

/// Takes the edge out of `$START` where a new thread begins: `_` or `new`.
fn enter<S>(workflow: &Workflow<S>, start: &StartNode, ask: Ask<'_>) -> Result<Route, RouteError> {
    let at = Position::at_start();
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            let new = targets
                .get_key_value(&Status::unit())
                .or_else(|| targets.get_key_value(&Status::new("new")))
                .ok_or_else(|| at.unknown_status(targets))?;
            at.follow(&Edge::of_target(new.0, new.1))
        }
        Some(Edges::InOrder(edges)) => {
            at.follow_first(&workflow.conditions, edges, start, &[], ask)
        }
        None => Err(RouteError::NoEdges { node: at.node }),
    }
}

/// Takes the edge out of `$START` where a thread that had ended goes on: `resume`.
///
/// # Errors
/// When `$START` has no such edge, or a template cannot be filled in.
pub fn reenter<S>(workflow: &Workflow<S>) -> Result<Route, RouteError> {
    let at = Position::at_start();
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            let resume = targets.get_key_value(&Status::new("resume"));
            let (key, target) = resume.ok_or(RouteError::NoResume)?;
            at.follow(&Edge::of_target(key, target))
        }
        Some(Edges::InOrder(_)) => Err(RouteError::NoResume),
        None => Err(RouteError::NoEdges { node: at.node }),
    }
}

/// Returns the value that an answer routes by: `$status`, else `status`, if they are text; else `_`.
#[must_use]
pub fn status_of(output: &Value) -> Status {
    let text = |key: &str| output.get(key).and_then(Value::as_str);
    text(STATUS_FIELD)
        .or_else(|| text("status"))
        .map_or_else(Status::unit, Status::new)
}

/// Returns the target of a status in a map, with the aliases that [`route`] explains.
fn target_for<'w>(
    targets: &'w IndexMap<Status, Target>,
    status: &Status,
) -> Option<(&'w Status, &'w Target)> {
    if let Some(found) = targets.get_key_value(status) {
        return Some(found);
    }
    let mut ordinary = targets
        .iter()
        .filter(|(key, _)| key.as_str() != Status::SUSPEND);
    let (Some((key, target)), None) = (ordinary.next(), ordinary.next()) else {
        return None;
    };
    let one_way_out = key.as_str() == Status::UNIT && status.as_str() != Status::SUSPEND;
    let left_out = status.as_str() == Status::UNIT;
    (one_way_out || left_out).then_some((key, target))
}
