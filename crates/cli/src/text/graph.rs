//! The graph of a workflow: as text, and as drawings in two languages. `uwf_words` draws the third.

mod dot;
mod mermaid;

use uwf_engine::{GraphEdge, GraphNode, GraphView};
use uwf_util::text::one_line;
use uwf_words::graph::{heading, shown, sign, thread_lines, times, when, word};

use crate::output::Show;
use crate::text::table::{Page, columns, table};

pub(crate) use dot::dot;
pub(crate) use mermaid::mermaid;

impl Show for GraphView {
    /// Each node with its edges below it.
    fn text(&self, _page: Page) -> String {
        let mut parts = vec![format!("{}  {}", self.name, self.workflow)];
        parts.extend(
            self.thread
                .as_ref()
                .map(|thread| thread_lines(thread).join("\n")),
        );
        parts.push(part_lines(&self.nodes, &self.edges).join("\n"));
        let conditions = condition_rows(self);
        if !conditions.is_empty() {
            parts.push(table(&["CONDITION", "EXPRESSION"], conditions));
        }
        parts.join("\n\n")
    }
}

/// Returns the nodes of a graph with their edges and with the graphs inside of them.
fn part_lines(nodes: &[GraphNode], edges: &[GraphEdge]) -> Vec<String> {
    let rows: Vec<Vec<String>> = edges.iter().map(|edge| edge_row(edges, edge)).collect();
    let rows = columns(&rows);
    let rows: Vec<&str> = rows.lines().collect();
    let mut lines = Vec::new();
    for node in nodes {
        lines.push(node_line(node));
        let own = edges.iter().zip(&rows);
        let own = own.filter(|(edge, _)| edge.from == node.name);
        lines.extend(own.map(|(_, row)| format!("  {row}")));
        for player in &node.played_by {
            lines.push(format!("  ┌ {}", heading(player)));
            let inside = part_lines(&player.nodes, &player.edges).into_iter();
            lines.extend(inside.map(|line| format!("  │ {line}")));
            lines.push("  └".to_owned());
        }
    }
    lines
}

fn node_line(node: &GraphNode) -> String {
    let visits = node.visits.filter(|visits| *visits > 0).map(times);
    let standing = node.standing.map(|standing| {
        let (sign, word) = (sign(standing), word(standing));
        format!("{sign} {word}")
    });
    let name = Some(one_line(&node.name));
    let parts = name.into_iter().chain(visits).chain(standing);
    parts.collect::<Vec<_>>().join("  ")
}

fn edge_row(all: &[GraphEdge], edge: &GraphEdge) -> Vec<String> {
    let taken = edge.taken.filter(|taken| *taken > 0);
    vec![
        format!("→ {}", edge.to),
        when(all, edge),
        taken.map(times).unwrap_or_default(),
    ]
}

/// Returns the conditions of the edges with their expressions, each once.
fn condition_rows(view: &GraphView) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for edge in &view.edges {
        if let (Some(name), Some(expression)) = (&edge.condition, &edge.expression) {
            let row = vec![name.clone(), expression.clone()];
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    rows
}

/// Returns the text of a node in a drawing that has no marks of its own.
fn marked(node: &GraphNode) -> String {
    let sign = node.standing.map(|standing| sign(standing).to_owned());
    let visits = node.visits.filter(|visits| *visits > 1).map(times);
    let name = Some(shown(&node.name));
    let parts = sign.into_iter().chain(name).chain(visits);
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
