//! What can be wrong with a workflow that is well formed, found before a thread is started.
//!
//! Problems of the graph itself are in `graph`, statuses and their edges in `statuses`, the names that
//! templates use in `variables`, the names that
//! conditions use in `conditions`. What a JSON Schema promises about a value is known by `uwf_schema`.

mod conditions;
mod graph;
mod required;
mod statuses;
mod variables;

use serde_json::Value;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::limits::MaxVisits;
use uwf_protocol::workflow::{Destination, Edges, NodeName, Problem, Workflow};

/// Returns everything that is wrong with a workflow, each problem with the path of keys that leads to it.
///
/// A workflow with nothing worse than warnings can always be routed, as far as its schemas say what roles answer.
#[must_use]
pub fn validate(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = graph::check(workflow);
    problems.extend(statuses::check(workflow));
    problems.extend(variables::check(workflow));
    problems.extend(limited_strangers(workflow));
    problems.extend(conditions::check(workflow));
    problems.extend(required::check(workflow));
    problems
}

/// Says which roles have a limit that the workflow does not have.
fn limited_strangers(workflow: &Workflow<Value>) -> Vec<Problem> {
    let Some(MaxVisits::ByRole(limited)) = &workflow.limits.max_visits else {
        return Vec::new();
    };
    let strangers = limited
        .keys()
        .filter(|role| !workflow.roles.contains_key(*role));
    let problem = |role: &RoleName| {
        let message = format!("`maxVisits` limits `{role}`, which is not a role");
        let known = workflow.roles.keys().map(RoleName::as_str);
        let message = with_suggestion(message, role.as_str(), known);
        Problem::new(&["limits", "maxVisits", role.as_str()], message)
    };
    strangers.map(problem).collect()
}

/// One edge of either kind, and its place.
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

/// Returns names as a text: `` `a`, `b` ``.
fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Returns a message with the nearest of the known names, if one is near.
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
