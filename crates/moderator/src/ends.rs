//! How a workflow ends, as the thread sees it that plays it as a role.

use serde_json::Value;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::Status;
use uwf_protocol::program::Program;
use uwf_protocol::work::DONE;
use uwf_protocol::workflow::{Destination, Edges, NodeName, Workflow};
use uwf_schema::Shape;

use crate::graph::{status_of, target_for};

/// Returns the statuses with which a thread of this workflow can end: the keys of its edges to `$END`. An edge that is taken
/// for any status gives those of its role, and `done` if the role has none. The list is empty if the status may be any text.
#[must_use]
pub fn end_statuses(workflow: &Workflow<Value>) -> Vec<Status> {
    let mut statuses: Vec<Status> = Vec::new();
    for (node, edges) in &workflow.graph {
        let Some(ends) = ends_of(workflow, node, edges) else {
            return Vec::new();
        };
        for status in ends {
            if !statuses.contains(&status) {
                statuses.push(status);
            }
        }
    }
    if statuses.is_empty() {
        statuses.push(Status::new(DONE));
    }
    statuses
}

/// Returns the statuses of the edges of a node to `$END`; `None` if they may be any text.
fn ends_of(workflow: &Workflow<Value>, node: &NodeName, edges: &Edges) -> Option<Vec<Status>> {
    match edges {
        Edges::ByStatus(targets) => {
            let ends = targets
                .iter()
                .filter(|(_, target)| target.to == Destination::End);
            let mut statuses = Vec::new();
            for (key, _) in ends {
                match key.as_str() {
                    Status::UNIT => statuses.extend(answered(workflow, node)?),
                    _ => statuses.push(key.clone()),
                }
            }
            Some(statuses)
        }
        Edges::InOrder(list) => match list.iter().any(|edge| edge.to == Destination::End) {
            true => answered(workflow, node),
            false => Some(Vec::new()),
        },
    }
}

/// Returns the values that `$status` can have in the answers of a node's role; `done` if it has no `$status`, and `None` if
/// that may be any text.
fn answered(workflow: &Workflow<Value>, node: &NodeName) -> Option<Vec<Status>> {
    let role = match node {
        NodeName::Start => None,
        NodeName::Role(role) => workflow.roles.get(role),
    };
    let shape = role.map_or_else(Shape::unknown, |role| Shape::of(&role.schema));
    if !shape.names().contains(STATUS_FIELD) {
        return Some(vec![Status::new(DONE)]);
    }
    let texts = shape.texts(STATUS_FIELD);
    if texts.open {
        return None;
    }
    let is_named = |text: &&str| ![Status::UNIT, Status::SUSPEND].contains(text);
    let mut statuses: Vec<Status> = texts
        .listed
        .into_iter()
        .filter(is_named)
        .map(Status::new)
        .collect();
    if texts.absent || statuses.is_empty() {
        statuses.push(Status::new(DONE));
    }
    Some(statuses)
}

/// Returns the status with which a thread ended whose last step is this one: one of [`end_statuses`].
#[must_use]
pub fn end_status(program: &Program, last: &StepContext) -> Status {
    let Program::Graph(workflow) = program else {
        return Status::new(DONE);
    };
    let status = status_of(&last.output);
    let node = NodeName::Role(last.node.role.clone());
    let key = match workflow.graph.get(&node) {
        Some(Edges::ByStatus(targets)) => {
            target_for(workflow, &node, targets, &status).map(|(key, _)| key.clone())
        }
        Some(Edges::InOrder(_)) | None => None,
    };
    let is_named = |status: &Status| status.as_str() != Status::UNIT;
    let answered = last.output.get(STATUS_FIELD).and_then(Value::as_str);
    let answered = answered.map(Status::new).filter(is_named);
    let named = key.filter(is_named).or(answered);
    named.unwrap_or_else(|| Status::new(DONE))
}
