//! The graph of a pipeline in the terms of every graph.

use uwf_pipeline::{On, Pipeline};
use uwf_protocol::ids::CasRef;

use super::{GraphEdge, GraphNode, GraphView, NodeKind};

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

fn status(on: &[On]) -> Option<String> {
    let names: Vec<String> = on
        .iter()
        .filter_map(|on| serde_json::to_value(on).ok())
        .filter_map(|on| on.as_str().map(str::to_owned))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}
