//! Validating a well-formed workflow, before a thread is started.
//!
//! Each module checks one thing: `graph` the graph itself, `statuses` that statuses and edges match, `variables` the names
//! in templates, `conditions` the names in conditions, `required` the schemas, `work` the roles that
//! other threads play. `uwf_schema` knows what a JSON Schema
//! guarantees about a value.

mod conditions;
mod graph;
mod required;
mod statuses;
mod variables;
mod work;

use serde_json::Value;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::limits::MaxVisits;
use uwf_protocol::workflow::{Destination, Edges, NodeName, Problem, Workflow};

/// Returns all problems of a workflow, each with the path of keys that leads to it.
///
/// If all problems are warnings, every answer that fits the schemas can be routed.
#[must_use]
pub fn validate(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = graph::check(workflow);
    problems.extend(statuses::check(workflow));
    problems.extend(variables::check(workflow));
    problems.extend(limits_of_unknown_roles(workflow));
    problems.extend(conditions::check(workflow));
    problems.extend(required::check(workflow));
    problems.extend(work::check(workflow));
    problems
}

/// Finds limits of roles that the workflow does not have.
fn limits_of_unknown_roles(workflow: &Workflow<Value>) -> Vec<Problem> {
    let Some(MaxVisits::ByRole(limited)) = &workflow.limits.max_visits else {
        return Vec::new();
    };
    let unknown = limited
        .keys()
        .filter(|role| !workflow.roles.contains_key(*role));
    let problem = |role: &RoleName| {
        let message = format!("`maxVisits` limits `{role}`, which is not a role");
        let known = workflow.roles.keys().map(RoleName::as_str);
        let message = with_suggestion(message, role.as_str(), known);
        Problem::new(&["limits", "maxVisits", role.as_str()], message)
    };
    unknown.map(problem).collect()
}

/// One edge of a status map or a list, with its place.
struct Edge<'w> {
    from: &'w NodeName,
    /// The key in a status map, or the index in a list.
    key: String,
    to: &'w Destination,
    /// The status that the edge is taken for; `None` in a list.
    status: Option<&'w Status>,
    condition: Option<&'w str>,
    prompt: Option<&'w str>,
    location: Option<&'w str>,
}

impl Edge<'_> {
    /// Returns a problem of one field of the edge.
    fn problem(&self, field: &str, message: impl Into<String>) -> Problem {
        Problem::new(&["graph", self.from.as_str(), &self.key, field], message)
    }
}

/// Returns all edges of a node.
fn edges_of<'w>(from: &'w NodeName, edges: &'w Edges) -> Vec<Edge<'w>> {
    match edges {
        Edges::ByStatus(targets) => targets
            .iter()
            .map(|(status, target)| Edge {
                from,
                key: status.to_string(),
                to: &target.to,
                status: Some(status),
                condition: None,
                prompt: Some(&target.prompt),
                location: target.location.as_deref(),
            })
            .collect(),
        Edges::InOrder(list) => list
            .iter()
            .enumerate()
            .map(|(index, edge)| Edge {
                from,
                key: index.to_string(),
                to: &edge.to,
                status: None,
                condition: edge.condition.as_deref(),
                prompt: edge.prompt.as_deref(),
                location: edge.location.as_deref(),
            })
            .collect(),
    }
}

/// Returns all edges of a workflow in the order of the graph.
fn all_edges<S>(workflow: &Workflow<S>) -> Vec<Edge<'_>> {
    let graph = workflow.graph.iter();
    graph
        .flat_map(|(node, edges)| edges_of(node, edges))
        .collect()
}

/// Returns quoted names: `` `a`, `b` ``.
fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Adds the nearest known name to a message, if one is near.
fn with_suggestion<'a>(
    message: String,
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    match uwf_util::suggest::nearest(word, known) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message,
    }
}
