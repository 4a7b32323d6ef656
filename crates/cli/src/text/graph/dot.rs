//! A graph in the language of Graphviz.

use uwf_engine::{GraphEdge, GraphNode, GraphView, NodeKind};
use uwf_util::diagram::{dot_escaped, dot_text};
use uwf_words::graph::{heading, label, shown, was_taken};

use super::marked;

/// Returns the graph. Nodes have their names as ids, so that other programs find them. A node inside of a role has the way to
/// it as its id.
pub(crate) fn dot(view: &GraphView) -> String {
    let mut lines = vec![
        format!("digraph {} {{", dot_text(&shown(&view.name))),
        "  node [shape=box, style=rounded, fontname=\"sans-serif\"];".to_owned(),
        "  edge [fontname=\"sans-serif\", fontsize=11];".to_owned(),
    ];
    lines.extend(graph_lines("", &view.nodes, &view.edges));
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Returns the lines of a graph that is in a place.
fn graph_lines(place: &str, nodes: &[GraphNode], edges: &[GraphEdge]) -> Vec<String> {
    let mut lines: Vec<String> = nodes
        .iter()
        .flat_map(|node| node_lines(place, node))
        .collect();
    for edge in edges {
        let (from, to) = (id(place, &edge.from), id(place, &edge.to));
        let text = match label(edges, edge) {
            text if text.is_empty() => None,
            text => Some(format!("label={}", dot_text(&text))),
        };
        let width = was_taken(edge).then(|| "penwidth=2.5".to_owned());
        let looks: Vec<String> = text.into_iter().chain(width).collect();
        lines.push(match looks.is_empty() {
            true => format!("  {from} -> {to};"),
            false => format!("  {from} -> {to} [{}];", looks.join(", ")),
        });
    }
    lines
}

/// Returns the lines of a node. One that is played by others is in a box with their graphs, each below a dashed line.
fn node_lines(place: &str, node: &GraphNode) -> Vec<String> {
    let shape = match node.kind {
        NodeKind::Role => "",
        NodeKind::Start | NodeKind::End | NodeKind::Suspend => ", shape=oval",
    };
    let (own_id, text) = (id(place, &node.name), dot_text(&marked(node)));
    let width = width(node);
    let own = format!("  {own_id} [label={text}{shape}{width}];");
    if node.played_by.is_empty() {
        return vec![own];
    }
    let way = way(place, &node.name);
    let mut inside = vec![own];
    for (number, player) in node.played_by.iter().enumerate() {
        let deeper = self::way(&way, &number.to_string());
        let mut lines = graph_lines(&deeper, &player.nodes, &player.edges);
        let first = match player.nodes.first() {
            Some(first) => id(&deeper, &first.name),
            // A box is not drawn without a node.
            None => {
                let empty = id(&way, &number.to_string());
                lines.push(format!("  {empty} [label=\"…\"];"));
                empty
            }
        };
        inside.extend(cluster(&deeper, &heading(player), lines));
        inside.push(format!(
            "  {own_id} -> {first} [style=dashed, arrowhead=none];"
        ));
    }
    cluster(&way, "", inside)
}

/// Returns a box around lines.
fn cluster(way: &str, label: &str, inside: Vec<String>) -> Vec<String> {
    let mut lines = vec![
        format!("  subgraph \"cluster_{way}\" {{"),
        format!(
            "    label={}; labeljust=l; style=rounded; fontname=\"sans-serif\"; fontsize=11;",
            dot_text(label)
        ),
    ];
    lines.extend(inside.into_iter().map(|line| format!("  {line}")));
    lines.push("  }".to_owned());
    lines
}

/// Returns how thick the outline of a node is: bold if the thread was there, bolder where it stands.
fn width(node: &GraphNode) -> &'static str {
    match (node.standing, node.visits) {
        (Some(_), _) => ", penwidth=4",
        (None, Some(visits)) if visits > 0 => ", penwidth=2",
        (None, _) => "",
    }
}

/// Returns a name in a place as an id. A name has no control characters, so two names never become one id.
fn id(place: &str, name: &str) -> String {
    format!("\"{}\"", way(place, name))
}

/// Returns the way to a name in a place. In a name each backslash is doubled, so no name looks like a way.
fn way(place: &str, name: &str) -> String {
    match place {
        "" => dot_escaped(name),
        place => format!("{place}\\/{}", dot_escaped(name)),
    }
}
