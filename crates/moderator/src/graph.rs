//! The role graph: which edge is taken after the last step. `position` follows that edge; `passage` tells which edges were
//! taken before.

mod passage;
mod position;

use indexmap::IndexMap;
use serde_json::Value;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::chain::StepContext;
use uwf_protocol::checks::CHECKS_FAILED;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::workflow::{Destination, Edges, ListEdge, NodeName, Target, Workflow};

use crate::condition::Ask;
pub use crate::graph::passage::{Passage, passages};
use crate::graph::position::{Edge, Position};
use crate::route::{EndResult, HistoryNeed, Route};
use crate::route_error::RouteError;

/// The edge of `$START` for new threads, beside `_`.
const NEW: &str = "new";
/// The edge of `$START` for ended threads that go on.
const RESUME: &str = "resume";

/// Returns how many steps decide what follows a step of this role; `None` is the start of the thread.
#[must_use]
pub fn history_need<S>(workflow: &Workflow<S>, last_role: Option<&RoleName>) -> HistoryNeed {
    let node = last_role.map_or(NodeName::Start, |role| NodeName::Role(role.clone()));
    match workflow.graph.get(&node) {
        // If the first edge has no condition, it is always taken, so later edges do not matter.
        Some(Edges::InOrder(edges)) if edges.first().is_some_and(|e| e.condition.is_some()) => {
            HistoryNeed::All
        }
        Some(Edges::InOrder(_) | Edges::ByStatus(_)) | None => HistoryNeed::LastStep,
    }
}

/// Decides what follows the last step. The steps are oldest first; without steps the thread starts.
///
/// `steps` must be complete, unless [`history_need`] says that the last step is enough.
///
/// In a status map, the edge whose key equals the status of the answer is taken. There are two exceptions, which are safe
/// because [`validate`](crate::validate()) checked the role's schema:
/// 1. A single edge `_` is taken for every status: the schema allows at most one.
/// 2. A single edge with another key is taken if the answer has no status: the schema allows only that one.
///
/// A role that answers `$SUSPEND` suspends its thread, with or without an edge of that name. A role with checks may have an
/// edge `checks-failed`, which is taken for nothing else.
///
/// In a list, the first edge whose condition holds is taken. `ask` says which one, and is called at most once.
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
    let at = Position::after(last);
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            if let Some((key, target)) = target_for(workflow, &at.node, targets, &at.status) {
                return at.follow(workflow, &Edge::of_target(key, target));
            }
            at.suspended_by_answer()
                .ok_or_else(|| at.unknown_status(targets))
        }
        Some(Edges::InOrder(edges)) => match at.suspended_by_answer() {
            Some(route) => Ok(route),
            None => at.follow_first(workflow, edges, start, steps, ask),
        },
        None => at
            .suspended_by_answer()
            .ok_or(RouteError::NoEdges { node: at.node }),
    }
}

/// Takes the edge of `$START` for a new thread: `_` or `new`.
fn enter<S>(workflow: &Workflow<S>, start: &StartNode, ask: Ask<'_>) -> Result<Route, RouteError> {
    let at = Position::at_start();
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            let new = targets
                .get_key_value(&Status::unit())
                .or_else(|| targets.get_key_value(&Status::new(NEW)))
                .ok_or_else(|| at.unknown_status(targets))?;
            at.follow(workflow, &Edge::of_target(new.0, new.1))
        }
        Some(Edges::InOrder(edges)) => at.follow_first(workflow, edges, start, &[], ask),
        None => Err(RouteError::NoEdges { node: at.node }),
    }
}

/// Takes the edge of `$START` for an ended thread that goes on: `resume`.
///
/// # Errors
/// When `$START` has no such edge, or a template cannot be filled in.
pub fn reenter<S>(workflow: &Workflow<S>) -> Result<Route, RouteError> {
    let at = Position::at_start();
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            let resume = targets.get_key_value(&Status::new(RESUME));
            let (key, target) = resume.ok_or(RouteError::NoResume)?;
            at.follow(workflow, &Edge::of_target(key, target))
        }
        Some(Edges::InOrder(_)) => Err(RouteError::NoResume),
        None => Err(RouteError::NoEdges { node: at.node }),
    }
}

/// Returns what a thread results in that is complete after this step. No condition is evaluated: `None` means that only the
/// conditions tell which of several edges to `$END` was taken.
#[must_use]
pub fn end_result<S>(workflow: &Workflow<S>, last: &StepContext) -> Option<EndResult> {
    let at = Position::after(last);
    match workflow.graph.get(&at.node) {
        Some(Edges::ByStatus(targets)) => {
            let (key, target) = target_for(workflow, &at.node, targets, &at.status)?;
            (target.to == Destination::End).then(|| at.end_result(&Edge::of_target(key, target)))
        }
        Some(Edges::InOrder(edges)) => {
            let is_end = |(_, edge): &(usize, &ListEdge)| edge.to == Destination::End;
            let mut ends = edges.iter().enumerate().filter(is_end);
            let (index, first) = ends.next()?;
            ends.all(|(_, other)| other.prompt == first.prompt)
                .then(|| at.end_result(&Edge::of_list(index, first)))
        }
        None => None,
    }
}

/// Tells whether the status of a step is the key of an edge, so that none of the exceptions of [`route`] applies.
#[must_use]
pub fn is_routed_exactly<S>(workflow: &Workflow<S>, step: &StepContext) -> bool {
    let node = NodeName::Role(step.node.role.clone());
    match workflow.graph.get(&node) {
        Some(Edges::ByStatus(targets)) => targets.contains_key(&status_of(&step.output)),
        Some(Edges::InOrder(_)) | None => false,
    }
}

/// Returns the status that an answer routes by: the text of `$status`, else the text of `status`, else `_`.
#[must_use]
pub fn status_of(output: &Value) -> Status {
    let text = |key: &str| output.get(key).and_then(Value::as_str);
    text(STATUS_FIELD)
        .or_else(|| text("status"))
        .map_or_else(Status::unit, Status::new)
}

/// Returns the target of a status in a map, with the two exceptions that [`route`] explains.
pub(crate) fn target_for<'w, S>(
    workflow: &Workflow<S>,
    node: &NodeName,
    targets: &'w IndexMap<Status, Target>,
    status: &Status,
) -> Option<(&'w Status, &'w Target)> {
    if let Some(found) = targets.get_key_value(status) {
        return Some(found);
    }
    let has_checks = has_checks(workflow, node);
    let is_ordinary = |key: &Status| match key.as_str() {
        Status::SUSPEND => false,
        CHECKS_FAILED => !has_checks,
        _ => true,
    };
    let mut ordinary = targets.iter().filter(|(key, _)| is_ordinary(key));
    let (Some((key, target)), None) = (ordinary.next(), ordinary.next()) else {
        return None;
    };
    let one_way_out = key.as_str() == Status::UNIT && status.as_str() != Status::SUSPEND;
    let left_out = status.as_str() == Status::UNIT;
    (one_way_out || left_out).then_some((key, target))
}

fn has_checks<S>(workflow: &Workflow<S>, node: &NodeName) -> bool {
    match node {
        NodeName::Start => false,
        NodeName::Role(role) => {
            let role = workflow.roles.get(role);
            role.is_some_and(|role| role.checks.is_some())
        }
    }
}
