//! The graph of a pipeline in the terms of every graph.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use uwf_pipeline::{On, Pipeline, StepResult};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_storage::Reason;

use super::{GraphEdge, GraphNode, GraphView, NodeKind, Standing};
use crate::read::history::History;

/// The node at which a run ends.
const END: &str = "_end";

/// Returns the graph of a pipeline. Steps of loops have keys with empty brackets.
pub(super) fn view(hash: CasRef, pipeline: &Pipeline) -> GraphView {
    let graph = uwf_pipeline::graph(pipeline);
    let nodes = graph.nodes.into_iter().map(|node| GraphNode {
        kind: match node.kind {
            uwf_pipeline::NodeKind::Start => NodeKind::Start,
            uwf_pipeline::NodeKind::End => NodeKind::End,
            _ => NodeKind::Role,
        },
        name: node.key,
        description: node.by.unwrap_or_default(),
        goal: String::new(),
        visits: None,
        last_step: None,
        standing: None,
        played_by: Vec::new(),
    });
    let edges = graph.edges.into_iter().enumerate();
    let edges = edges.map(|(at, edge)| GraphEdge {
        key: format!("{}#{at}", edge.from),
        status: status(&edge.on),
        from: edge.from,
        to: edge.to,
        condition: None,
        expression: None,
        prompt: None,
        declared: true,
        taken: None,
    });
    GraphView {
        workflow: hash,
        name: graph.name,
        description: pipeline.description.clone().unwrap_or_default(),
        nodes: nodes.collect(),
        edges: edges.collect(),
        thread: None,
        hidden: None,
    }
}

/// Marks how often a run did each step, which ways it took how often, and where it stands. Steps of loops are counted for all items
/// together. Returns the keys of the edges on the path: that from the start, if the chain is whole, then that after each step.
pub(super) fn mark(
    view: &mut GraphView,
    pipeline: &Pipeline,
    history: &History,
    outputs: &[Value],
    standing: Option<(String, Standing)>,
) -> Vec<Option<String>> {
    mark_nodes(view, history, standing);
    let graph = uwf_pipeline::graph(pipeline);
    let steps = history.steps.iter().zip(outputs);
    let visits: Vec<_> = steps
        .map(|(step, output)| {
            let key = step.node.role.as_str().parse().ok()?;
            Some((key, StepResult::deserialize(output).ok()?))
        })
        .collect();
    let is_whole = history.summary.is_none();
    let first = graph.first_edge().filter(|_| is_whole);
    let mut way = graph.way(&visits);
    if let (false, Some(oldest)) = (is_whole, way.first_mut()) {
        // Its items may have begun before.
        oldest.into.clear();
    }
    let mut taken = vec![0; view.edges.len()];
    let passed = way
        .iter()
        .flat_map(|one| one.into.iter().copied().chain(one.out));
    for edge in first.into_iter().chain(passed) {
        taken[edge] += 1;
    }
    for (edge, taken) in view.edges.iter_mut().zip(taken) {
        edge.taken = Some(taken);
    }
    let begin = is_whole.then_some(first);
    let out = way.iter().map(|one| one.out);
    let keys = begin.into_iter().chain(out);
    keys.map(|edge| edge.map(|edge| view.edges[edge].key.clone()))
        .collect()
}

fn mark_nodes(view: &mut GraphView, history: &History, standing: Option<(String, Standing)>) {
    let mut done: HashMap<RoleName, (u64, CasRef)> = HashMap::new();
    for step in &history.steps {
        let visits = done
            .entry(step.node.role.without_indices())
            .or_insert((0, step.hash));
        *visits = (visits.0 + 1, step.hash);
    }
    if let Some(summary) = &history.summary {
        let all = summary.visits.iter();
        done.extend(all.map(|(role, visits)| (role.clone(), (visits.count, visits.last))));
    }
    let standing = standing.map(|(place, standing)| (node_of(&place), standing));
    let is_completed = history.ended == Some(Reason::Completed);
    for node in &mut view.nodes {
        let key: Option<RoleName> = node.name.parse().ok();
        let done = key.and_then(|key| done.get(&key).copied());
        node.visits = Some(match node.kind {
            NodeKind::Start => 1,
            NodeKind::End => u64::from(is_completed),
            NodeKind::Role | NodeKind::Suspend => done.map_or(0, |(visits, _)| visits),
        });
        node.last_step = done.map(|(_, last)| last);
        let here = standing.as_ref().filter(|(place, _)| *place == node.name);
        node.standing = here.map(|(_, standing)| *standing);
    }
}

/// Returns the node where a run stands.
fn node_of(place: &str) -> String {
    match place.parse::<RoleName>() {
        Ok(key) => key.without_indices().as_str().to_owned(),
        // Only the end of a thread is no role.
        Err(_) => END.to_owned(),
    }
}

fn status(on: &[On]) -> Option<String> {
    let names: Vec<String> = on
        .iter()
        .filter_map(|on| serde_json::to_value(on).ok())
        .filter_map(|on| on.as_str().map(str::to_owned))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}
