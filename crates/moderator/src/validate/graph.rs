//! Checks of the graph itself: its entry, the targets and the order of its edges, and reachability.

use std::collections::HashSet;

use serde_json::Value;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::work::Work;
use uwf_protocol::workflow::{Destination, Edges, NodeName, Problem, Workflow, reserved};

use super::work::roles_of;
use super::{Edge, all_edges, edges_of, quoted, with_suggestion};

/// The edge of `$START` by which an ended thread goes on.
const RESUME: &str = "resume";

/// Returns the problems of the graph.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(unknown_nodes(workflow));
    problems.extend(entry(workflow));
    problems.extend(without_edges(workflow));
    for edge in all_edges(workflow) {
        problems.extend(target(workflow, &edge));
        problems.extend(unknown_condition(workflow, &edge));
        problems.extend(blank_prompt(&edge));
    }
    problems.extend(never_tried(workflow));
    problems.extend(reachability(workflow));
    problems
}

fn role_names(workflow: &Workflow<Value>) -> impl Iterator<Item = &str> {
    workflow.roles.keys().map(RoleName::as_str)
}

fn unknown_nodes(workflow: &Workflow<Value>) -> Vec<Problem> {
    let unknown = |node: &&NodeName| match node {
        NodeName::Start => false,
        NodeName::Role(role) => !workflow.roles.contains_key(role),
    };
    let nodes = workflow.graph.keys().filter(unknown);
    nodes
        .map(|node| {
            let message = format!("the graph has edges for `{node}`, which is not a role");
            let known = role_names(workflow).chain([reserved::START]);
            let message = with_suggestion(message, node.as_str(), known);
            Problem::new(&["graph", node.as_str()], message)
        })
        .collect()
}

/// Checks that the graph has one entry, and at most one more for ended threads.
fn entry(workflow: &Workflow<Value>) -> Option<Problem> {
    let path = ["graph", reserved::START];
    match workflow.graph.get(&NodeName::Start) {
        None => Some(Problem::new(
            &["graph"],
            "`$START` is missing: it says where a thread begins",
        )),
        Some(Edges::InOrder(edges)) => edges
            .is_empty()
            .then(|| Problem::new(&path, "`$START` has no edges")),
        Some(Edges::ByStatus(targets)) => {
            let keys: Vec<&str> = targets.keys().map(Status::as_str).collect();
            match keys.as_slice() {
                ["_" | "new"] | ["new", RESUME] | [RESUME, "new"] => None,
                [] => Some(Problem::new(&path, "`$START` has no edges")),
                _ => {
                    let keys = quoted(keys);
                    let message = format!(
                        "`$START` takes either the one edge `_`, or `new` and if wanted `resume`, not {keys}"
                    );
                    Some(Problem::new(&path, message))
                }
            }
        }
    }
}

/// Finds roles without edges.
fn without_edges(workflow: &Workflow<Value>) -> Vec<Problem> {
    let targeted: HashSet<&RoleName> = all_edges(workflow)
        .iter()
        .filter_map(|edge| target_role(edge.to))
        .collect();
    let mut problems = Vec::new();
    for role in workflow.roles.keys() {
        let node = NodeName::Role(role.clone());
        let name = role.as_str();
        let empty = match workflow.graph.get(&node) {
            None if targeted.contains(role) => {
                let message = format!("the graph does not say what follows the role `{name}`");
                problems.push(Problem::new(&["roles", name], message));
                continue;
            }
            None if plays_a_branch(workflow, role) => continue,
            None => {
                let message = format!("the role `{name}` is not used in the graph");
                problems.push(Problem::new(&["roles", name], message));
                continue;
            }
            Some(Edges::ByStatus(targets)) => targets.is_empty(),
            Some(Edges::InOrder(edges)) => edges.is_empty(),
        };
        if empty {
            let message = format!("the role `{name}` has no edges: nothing can follow it");
            problems.push(Problem::new(&["graph", name], message));
        }
    }
    problems
}

/// Tells whether a role plays a branch of another one.
fn plays_a_branch(workflow: &Workflow<Value>, role: &RoleName) -> bool {
    let works = workflow.roles.values().map(|role| &role.work);
    works.flat_map(roles_of).any(|player| player == role)
}

fn target(workflow: &Workflow<Value>, edge: &Edge<'_>) -> Option<Problem> {
    match edge.to {
        Destination::End => None,
        Destination::Suspend => (*edge.from == NodeName::Start).then(|| {
            let message = "`$START` cannot lead to `$SUSPEND`: no role has run that could go on";
            edge.problem("role", message)
        }),
        Destination::Role(role) if workflow.roles.contains_key(role) => {
            let is_resume = *edge.from == NodeName::Start && edge.key == RESUME;
            let is_played = workflow.roles[role].work != Work::Agent;
            (is_resume && is_played).then(|| {
                let message = format!(
                    "`resume` leads to `{role}`, which other threads play: an ended thread goes on with a role that an agent does"
                );
                edge.problem("role", message)
            })
        }
        Destination::Role(role) => {
            let known = role_names(workflow).chain([reserved::END, reserved::SUSPEND]);
            let message = format!("the edge leads to `{role}`, which is not a role");
            Some(edge.problem("role", with_suggestion(message, role.as_str(), known)))
        }
    }
}

fn unknown_condition(workflow: &Workflow<Value>, edge: &Edge<'_>) -> Option<Problem> {
    let name = edge.condition?;
    if workflow.conditions.contains_key(name) {
        return None;
    }
    let known = workflow.conditions.keys().map(String::as_str);
    let message = format!("`{name}` is not in `conditions`");
    Some(edge.problem("condition", with_suggestion(message, name, known)))
}

/// Finds edges of status maps with a blank prompt. An edge of a list needs no prompt.
fn blank_prompt(edge: &Edge<'_>) -> Option<Problem> {
    let blank = edge.prompt?.trim().is_empty();
    let matters = edge.status.is_some() && *edge.to != Destination::End;
    (blank && matters).then(|| {
        let message = format!("the edge to `{}` has no prompt", edge.to);
        edge.problem("prompt", message)
    })
}

/// Finds edges of lists after an edge that is always taken.
fn never_tried(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (node, edges) in &workflow.graph {
        let Edges::InOrder(_) = edges else { continue };
        let list = edges_of(node, edges);
        let mut rest = list.iter().skip_while(|edge| edge.condition.is_some());
        let Some(always) = rest.next() else { continue };
        for edge in rest {
            let message = format!(
                "this edge of `{node}` is never tried: the edge to `{}` before it has no condition",
                always.to
            );
            problems.push(Problem::new(&["graph", node.as_str(), &edge.key], message));
        }
    }
    problems
}

/// Finds roles that no thread reaches, and graphs that no thread leaves.
fn reachability(workflow: &Workflow<Value>) -> Vec<Problem> {
    if !workflow.graph.contains_key(&NodeName::Start) {
        return Vec::new();
    }
    let mut reached = HashSet::from([NodeName::Start]);
    let mut open = vec![NodeName::Start];
    let mut leads_out = false;
    while let Some(node) = open.pop() {
        let Some(edges) = workflow.graph.get(&node) else {
            // A node without edges is another problem, which `without_edges` reports.
            leads_out = true;
            continue;
        };
        for edge in edges_of(&node, edges) {
            match target_role(edge.to).map(|role| NodeName::Role(role.clone())) {
                Some(next) if reached.insert(next.clone()) => open.push(next),
                Some(_) => {}
                None => leads_out = true,
            }
        }
    }
    let mut problems: Vec<Problem> = workflow
        .graph
        .keys()
        .filter(|node| !reached.contains(*node))
        .map(|node| {
            let message = format!("the role `{node}` cannot be reached from `$START`");
            Problem::new(&["graph", node.as_str()], message)
        })
        .collect();
    if !leads_out {
        let message =
            "no way from `$START` leads to `$END` or `$SUSPEND`: a thread could never end";
        problems.push(Problem::new(&["graph"], message));
    }
    problems
}

fn target_role(to: &Destination) -> Option<&RoleName> {
    match to {
        Destination::Role(role) => Some(role),
        Destination::End | Destination::Suspend => None,
    }
}
