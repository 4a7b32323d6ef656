//! A graph in the language of Graphviz.

use uwf_engine::{GraphNode, GraphView, NodeKind};

use super::{label, marked, shown, was_taken};

/// Returns the graph. Nodes have their names as ids, so that other programs find them.
pub(crate) fn dot(view: &GraphView) -> String {
    let mut lines = vec![
        format!("digraph {} {{", quoted(&shown(&view.name))),
        "  node [shape=box, style=rounded, fontname=\"sans-serif\"];".to_owned(),
        "  edge [fontname=\"sans-serif\", fontsize=11];".to_owned(),
    ];
    for node in &view.nodes {
        let shape = match node.kind {
            NodeKind::Role => "",
            NodeKind::Start | NodeKind::End | NodeKind::Suspend => ", shape=oval",
        };
        let (id, text) = (id(&node.name), quoted(&marked(node)));
        let width = width(node);
        lines.push(format!("  {id} [label={text}{shape}{width}];"));
    }
    for edge in &view.edges {
        let (from, to) = (id(&edge.from), id(&edge.to));
        let text = match label(view, edge) {
            text if text.is_empty() => None,
            text => Some(format!("label={}", quoted(&text))),
        };
        let width = was_taken(edge).then(|| "penwidth=2.5".to_owned());
        let looks: Vec<String> = text.into_iter().chain(width).collect();
        lines.push(match looks.is_empty() {
            true => format!("  {from} -> {to};"),
            false => format!("  {from} -> {to} [{}];", looks.join(", ")),
        });
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Returns how thick the outline of a node is: bold if the thread was there, bolder where it stands.
fn width(node: &GraphNode) -> &'static str {
    match (node.standing, node.visits) {
        (Some(_), _) => ", penwidth=4",
        (None, Some(visits)) if visits > 0 => ", penwidth=2",
        (None, _) => "",
    }
}

/// Returns a name as an id. A name has no control characters, so two names never become one id.
fn id(name: &str) -> String {
    quoted(name)
}

/// Returns a text in quotes. A backslash would begin an escape, and `&` an entity.
fn quoted(text: &str) -> String {
    let safe = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('&', "&amp;");
    format!("\"{safe}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_quotes() {
        assert_eq!(quoted("plan"), "\"plan\"");
        assert_eq!(quoted("a\\"), "\"a\\\\\"");
        assert_eq!(quoted("a\" -> b; \\N"), "\"a\\\" -> b; \\\\N\"");
        assert_eq!(quoted("&lt;日本"), "\"&amp;lt;日本\"");
    }
}
