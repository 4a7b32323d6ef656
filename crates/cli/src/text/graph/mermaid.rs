//! A graph as a flowchart in the language of Mermaid.

use std::collections::HashMap;
use std::fmt::Write;

use uwf_engine::{GraphNode, GraphView, NodeKind, Standing};

use super::{label, marked, was_taken};

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
    let mut lines = vec!["flowchart TD".to_owned()];
    let numbers: HashMap<&str, usize> =
        view.nodes.iter().map(|node| &*node.name).zip(0..).collect();
    for (number, node) in view.nodes.iter().enumerate() {
        let text = quoted(&marked(node));
        lines.push(match node.kind {
            NodeKind::Role => format!("  n{number}[{text}]"),
            NodeKind::Start | NodeKind::End | NodeKind::Suspend => format!("  n{number}([{text}])"),
        });
    }
    let mut taken = Vec::new();
    let mut count = 0_usize;
    for edge in &view.edges {
        let ends = (numbers.get(&*edge.from), numbers.get(&*edge.to));
        let (Some(from), Some(to)) = ends else {
            continue;
        };
        let arrow = match label(view, edge) {
            text if text.is_empty() => "-->".to_owned(),
            text => format!("-->|{}|", quoted(&text)),
        };
        lines.push(format!("  n{from} {arrow} n{to}"));
        if was_taken(edge) {
            taken.push(count.to_string());
        }
        count += 1;
    }
    if view.thread.is_some() {
        for (class, look) in CLASSES {
            lines.push(format!("  classDef {class} {look}"));
        }
        for (number, node) in view.nodes.iter().enumerate() {
            lines.extend(class(node).map(|class| format!("  class n{number} {class}")));
        }
    }
    if !taken.is_empty() {
        lines.push(format!("  linkStyle {} {TAKEN}", taken.join(",")));
    }
    lines.join("\n")
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

/// Returns a text in quotes. All that Mermaid or the page around it could take for more than text is an entity.
fn quoted(text: &str) -> String {
    let mut safe = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '|' | ';' | '%' => {
                write!(safe, "#{};", u32::from(c)).expect("a string takes all that is written");
            }
            c => safe.push(c),
        }
    }
    safe + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_quotes() {
        assert_eq!(quoted("plan"), "\"plan\"");
        assert_eq!(quoted("a\"]; b"), "\"a#34;]#59; b\"");
        assert_eq!(quoted("`#quot;<br>`"), "\"#96;#35;quot#59;#60;br#62;#96;\"");
    }
}
