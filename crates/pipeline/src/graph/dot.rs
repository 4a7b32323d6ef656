//! A graph in the language of Graphviz.

use uwf_util::diagram::dot_text;

use super::{Graph, GraphNode, NodeKind};

/// Returns the graph. Nodes have their keys as ids, so that other programs find them. The body of a loop is a frame.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let mut lines = vec![
        format!("digraph {} {{", dot_text(&graph.name)),
        "  node [shape=box, style=rounded, fontname=\"sans-serif\"];".to_owned(),
        "  edge [fontname=\"sans-serif\", fontsize=11];".to_owned(),
    ];
    nodes(graph, None, 1, &mut lines);
    for edge in &graph.edges {
        let (from, to) = (dot_text(&edge.from), dot_text(&edge.to));
        lines.push(match graph.label(edge) {
            text if text.is_empty() => format!("  {from} -> {to};"),
            text => format!("  {from} -> {to} [label={}];", dot_text(&text)),
        });
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Writes the nodes within a loop, or those of the pipeline.
fn nodes(graph: &Graph, within: Option<&str>, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let inside = |node: &&GraphNode| node.within.as_deref() == within;
    for node in graph.nodes.iter().filter(inside) {
        let shape = match node.kind {
            NodeKind::Start | NodeKind::End => ", shape=oval",
            NodeKind::ForEach => ", peripheries=2",
            NodeKind::Command | NodeKind::Provider | NodeKind::WaitFor | NodeKind::Workflow => "",
        };
        let (id, text) = (dot_text(&node.key), dot_text(&node.text()));
        lines.push(format!("{indent}{id} [label={text}{shape}];"));
        if node.kind == NodeKind::ForEach {
            let id = dot_text(&format!("cluster {}", node.key));
            lines.push(format!("{indent}subgraph {id} {{"));
            lines.push(format!("{indent}  label={};", dot_text(&node.name)));
            nodes(graph, Some(&node.key), depth + 1, lines);
            lines.push(format!("{indent}}}"));
        }
    }
}
