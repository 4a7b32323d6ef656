//! How a workflow ends, as the thread sees it that plays it as a role.

use serde_json::Value;
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::Status;
use uwf_protocol::program::Program;
use uwf_protocol::work::DONE;
use uwf_protocol::workflow::{Destination, Edges, NodeName, Workflow};
use uwf_schema::Shape;

use crate::graph::{status_of, target_for};
use crate::validate::{keys_of, routing_field};

/// Returns the statuses with which a thread of this workflow can end: the keys of its edges to `$END`. An edge that is taken
/// for any status gives those of its role, and `done` if the role has none.
#[must_use]
pub fn end_statuses(workflow: &Workflow<Value>) -> Vec<Status> {
    let mut statuses: Vec<Status> = Vec::new();
    for (node, edges) in &workflow.graph {
        for status in ends_of(workflow, node, edges) {
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

fn ends_of(workflow: &Workflow<Value>, node: &NodeName, edges: &Edges) -> Vec<Status> {
    match edges {
        Edges::ByStatus(targets) => {
            let ends = targets
                .iter()
                .filter(|(_, target)| target.to == Destination::End);
            let of_key = |key: &Status| match key.as_str() {
                Status::UNIT => answered(workflow, node, &keys_of(targets)),
                _ => vec![key.clone()],
            };
            ends.flat_map(|(key, _)| of_key(key)).collect()
        }
        Edges::InOrder(list) => match list.iter().any(|edge| edge.to == Destination::End) {
            true => answered(workflow, node, &[]),
            false => Vec::new(),
        },
    }
}

/// Returns the statuses that the role of a node can answer; `done` if it has none.
fn answered(workflow: &Workflow<Value>, node: &NodeName, keys: &[&str]) -> Vec<Status> {
    let role = match node {
        NodeName::Start => None,
        NodeName::Role(role) => workflow.roles.get(role),
    };
    let shape = role.map_or_else(Shape::unknown, |role| Shape::of(&role.schema));
    let texts = routing_field(&shape, keys).map(|field| shape.texts(field));
    let listed = texts.into_iter().flat_map(|texts| texts.listed);
    let mut statuses: Vec<Status> = listed
        .filter(|text| ![Status::UNIT, Status::SUSPEND].contains(text))
        .map(Status::new)
        .collect();
    if statuses.is_empty() {
        statuses.push(Status::new(DONE));
    }
    statuses
}

/// Returns the status with which a thread ended whose last step is this one: one of [`end_statuses`].
#[must_use]
pub fn end_status(program: &Program, last: &StepContext) -> Status {
    let Program::Graph(workflow) = program;
    let status = status_of(&last.output);
    let node = NodeName::Role(last.node.role.clone());
    let key = match workflow.graph.get(&node) {
        Some(Edges::ByStatus(targets)) => target_for(targets, &status).map(|(key, _)| key.clone()),
        Some(Edges::InOrder(_)) | None => None,
    };
    let is_named = |status: &Status| status.as_str() != Status::UNIT;
    let named = key.filter(is_named).or(Some(status).filter(is_named));
    named.unwrap_or_else(|| Status::new(DONE))
}
