//! The graph of a workflow: as text, and as drawings in three languages.

mod dot;
mod mermaid;
mod svg;

use uwf_engine::{GraphEdge, GraphNode, GraphPlayer, GraphThread, GraphView, Standing};
use uwf_util::printable::printable;
use uwf_util::text::{counted, one_line};

use crate::output::Show;
use crate::text::table::{Page, columns, table};

pub(crate) use dot::dot;
pub(crate) use mermaid::mermaid;
pub(crate) use svg::svg;

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

/// Returns what stands above a graph inside of a role: how it is a branch, and which workflow it is.
fn heading(player: &GraphPlayer) -> String {
    let count = player.count.map(|count| format!(" ×{count}"));
    let each = player
        .each
        .then(|| format!("each{}", count.unwrap_or_default()));
    let workflow = player.workflow.map(|hash| match &player.name {
        Some(name) => name.clone(),
        None => hash.to_string(),
    });
    let key = player.key.clone();
    let parts = key.into_iter().chain(each).chain(workflow);
    let parts: Vec<String> = parts.map(|part| shown(&part)).collect();
    parts.join(": ")
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

/// Returns the lines about the thread: its status, and why it does not go on, if it does not.
fn thread_lines(thread: &GraphThread) -> Vec<String> {
    let steps = counted(thread.path.len().saturating_sub(1), "step");
    let status = thread.status.as_str();
    let line = format!("thread {}  {status} after {steps}", thread.thread);
    let why = thread
        .suspend_message
        .as_ref()
        .or(thread.blocked_reason.as_ref());
    std::iter::once(line)
        .chain(why.map(|why| one_line(why)))
        .collect()
}

/// Returns the text that says when an edge of a graph is taken; it is empty for the only edge of a node.
fn when(all: &[GraphEdge], edge: &GraphEdge) -> String {
    let siblings = all.iter().filter(|other| other.from == edge.from);
    match (&edge.status, &edge.condition) {
        (Some(status), _) if status == "_" => String::new(),
        (Some(word), _) | (None, Some(word)) => word.clone(),
        (None, None) if siblings.count() > 1 => "otherwise".to_owned(),
        (None, None) => String::new(),
    }
}

/// Returns the label of an edge in a drawing: when it is taken, and how often it was, if this was more than once.
fn label(all: &[GraphEdge], edge: &GraphEdge) -> String {
    let count = edge.taken.filter(|taken| *taken > 1).map(times);
    let when = Some(shown(&when(all, edge))).filter(|when| !when.is_empty());
    let parts: Vec<String> = when.into_iter().chain(count).collect();
    parts.join(" ")
}

/// Returns whether the thread took an edge.
fn was_taken(edge: &GraphEdge) -> bool {
    edge.taken.is_some_and(|taken| taken > 0)
}

/// Returns the text of a node in a drawing that has no marks of its own.
fn marked(node: &GraphNode) -> String {
    let sign = node.standing.map(|standing| sign(standing).to_owned());
    let visits = node.visits.filter(|visits| *visits > 1).map(times);
    let name = Some(shown(&node.name));
    let parts = sign.into_iter().chain(name).chain(visits);
    parts.collect::<Vec<_>>().join(" ")
}

/// Returns a text as one line that no reader obeys.
fn shown(text: &str) -> String {
    printable(&one_line(text)).into_owned()
}

fn times(count: u64) -> String {
    format!("×{count}")
}

/// Returns the sign for how a thread stands at a node.
fn sign(standing: Standing) -> &'static str {
    match standing {
        Standing::Next | Standing::Running => "▶",
        Standing::Waiting => "‖",
        Standing::Failed => "!",
        Standing::Blocked => "✗",
        Standing::Done => "✓",
    }
}

/// Returns the word for how a thread stands at a node.
fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Next => "next",
        Standing::Running => "running",
        Standing::Waiting => "waiting",
        Standing::Failed => "failed",
        Standing::Blocked => "blocked",
        Standing::Done => "done",
    }
}

#[cfg(test)]
mod tests;
