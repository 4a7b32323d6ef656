//! A graph as a flowchart in the language of Mermaid.

use std::collections::HashMap;

use uwf_util::diagram::mermaid_text;

use super::{Graph, GraphNode, NodeKind};

/// Returns the flowchart. Names are texts only: a node's id is its number. The body of a loop is a frame.
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let numbered = graph.nodes.iter().zip(0..);
    let numbers: HashMap<&str, usize> = numbered
        .map(|(node, number)| (&*node.key, number))
        .collect();
    let mut lines = vec!["flowchart TD".to_owned()];
    nodes(graph, None, 1, &numbers, &mut lines);
    for edge in &graph.edges {
        let arrow = match graph.label(edge) {
            text if text.is_empty() => "-->".to_owned(),
            text => format!("-->|{}|", mermaid_text(&text)),
        };
        let (from, to) = (numbers[&*edge.from], numbers[&*edge.to]);
        lines.push(format!("  n{from} {arrow} n{to}"));
    }
    lines.join("\n")
}

/// Writes the nodes within a loop, or those of the pipeline.
fn nodes(
    graph: &Graph,
    within: Option<&str>,
    depth: usize,
    numbers: &HashMap<&str, usize>,
    lines: &mut Vec<String>,
) {
    let indent = "  ".repeat(depth);
    let inside = |node: &&GraphNode| node.within.as_deref() == within;
    for node in graph.nodes.iter().filter(inside) {
        let (number, text) = (numbers[&*node.key], mermaid_text(&node.text()));
        lines.push(match node.kind {
            NodeKind::Start | NodeKind::End => format!("{indent}n{number}([{text}])"),
            NodeKind::ForEach => format!("{indent}n{number}[[{text}]]"),
            NodeKind::Command | NodeKind::Provider | NodeKind::WaitFor | NodeKind::Workflow => {
                format!("{indent}n{number}[{text}]")
            }
        });
        if node.kind == NodeKind::ForEach {
            let title = mermaid_text(&node.name);
            lines.push(format!("{indent}subgraph s{number}[{title}]"));
            nodes(graph, Some(&node.key), depth + 1, numbers, lines);
            lines.push(format!("{indent}end"));
        }
    }
}
