//! A graph as a flowchart in the language of Mermaid.

use std::collections::HashMap;

use uwf_engine::{GraphEdge, GraphNode, GraphView, NodeKind, Standing};
use uwf_util::diagram::mermaid_text;
use uwf_words::graph::{heading, label, was_taken};

use super::marked;

/// The looks of nodes, as classes of the flowchart.
const CLASSES: [(&str, &str); 4] = [
    ("visited", "stroke:#1a7f37,stroke-width:2px"),
    ("current", "stroke:#0969da,stroke-width:4px"),
    ("waiting", "stroke:#b08800,stroke-width:4px"),
    ("failed", "stroke:#cf222e,stroke-width:4px"),
];
/// The look of an edge that was taken.
const TAKEN: &str = "stroke:#1a7f37,stroke-width:3px";

/// Returns the flowchart. Names are texts only: a node's id is its number.
pub(crate) fn mermaid(view: &GraphView) -> String {
    let mut chart = Chart {
        lines: vec!["flowchart TD".to_owned()],
        edges: 0,
        taken: Vec::new(),
    };
    chart.graph("n", &view.nodes, &view.edges, "  ");
    let mut lines = chart.lines;
    if view.thread.is_some() {
        for (class, look) in CLASSES {
            lines.push(format!("  classDef {class} {look}"));
        }
        for (number, node) in view.nodes.iter().enumerate() {
            lines.extend(class(node).map(|class| format!("  class n{number} {class}")));
        }
    }
    if !chart.taken.is_empty() {
        lines.push(format!("  linkStyle {} {TAKEN}", chart.taken.join(",")));
    }
    lines.join("\n")
}

/// A flowchart that is being written.
struct Chart {
    lines: Vec<String>,
    /// How many edges it has. An edge is known by its number in the whole chart.
    edges: usize,
    /// The numbers of the edges that were taken.
    taken: Vec<String>,
}

impl Chart {
    /// Writes a graph whose nodes have ids that begin like this.
    fn graph(&mut self, id: &str, nodes: &[GraphNode], edges: &[GraphEdge], indent: &str) {
        let numbers: HashMap<&str, usize> = nodes.iter().map(|node| &*node.name).zip(0..).collect();
        for (number, node) in nodes.iter().enumerate() {
            self.node(&format!("{id}{number}"), node, indent);
        }
        for edge in edges {
            let ends = (numbers.get(&*edge.from), numbers.get(&*edge.to));
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            let arrow = match label(edges, edge) {
                text if text.is_empty() => "-->".to_owned(),
                text => format!("-->|{}|", mermaid_text(&text)),
            };
            self.lines
                .push(format!("{indent}{id}{from} {arrow} {id}{to}"));
            if was_taken(edge) {
                self.taken.push(self.edges.to_string());
            }
            self.edges += 1;
        }
    }

    /// Writes a node, or a box with those who play it.
    fn node(&mut self, id: &str, node: &GraphNode, indent: &str) {
        let text = mermaid_text(&marked(node));
        if node.played_by.is_empty() {
            self.lines.push(match node.kind {
                NodeKind::Role => format!("{indent}{id}[{text}]"),
                NodeKind::Start | NodeKind::End | NodeKind::Suspend => {
                    format!("{indent}{id}([{text}])")
                }
            });
            return;
        }
        self.lines.push(format!("{indent}subgraph {id}[{text}]"));
        for (number, player) in node.played_by.iter().enumerate() {
            let (id, text) = (format!("{id}p{number}"), mermaid_text(&heading(player)));
            if player.nodes.is_empty() {
                self.lines.push(format!("{indent}  {id}[{text}]"));
                continue;
            }
            self.lines.push(format!("{indent}  subgraph {id}[{text}]"));
            let deeper = format!("{indent}    ");
            self.graph(&format!("{id}n"), &player.nodes, &player.edges, &deeper);
            self.lines.push(format!("{indent}  end"));
        }
        self.lines.push(format!("{indent}end"));
    }
}

fn class(node: &GraphNode) -> Option<&'static str> {
    match node.standing {
        Some(Standing::Next | Standing::Running) => Some("current"),
        Some(Standing::Waiting) => Some("waiting"),
        Some(Standing::Failed | Standing::Blocked) => Some("failed"),
        Some(Standing::Done) => Some("visited"),
        None => node.visits.filter(|visits| *visits > 0).map(|_| "visited"),
    }
}
