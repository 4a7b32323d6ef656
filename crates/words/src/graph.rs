//! What drawings of a graph say: the words for its nodes and edges. `picture` draws it.

mod picture;

use uwf_engine::{GraphEdge, GraphPlayer, GraphThread, Standing};
use uwf_util::printable::printable;
use uwf_util::text::{counted, one_line};

pub use picture::{linked_svg, svg};
pub use uwf_layout::LayoutError;
pub use uwf_layout::svg::STYLE_SHEET;

/// Returns what stands above a graph inside of a role: how it is a branch, and which workflow it is.
#[must_use]
pub fn heading(player: &GraphPlayer) -> String {
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

/// Returns the lines about the thread: its status, and why it does not go on, if it does not.
#[must_use]
pub fn thread_lines(thread: &GraphThread) -> Vec<String> {
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
#[must_use]
pub fn when(all: &[GraphEdge], edge: &GraphEdge) -> String {
    let siblings = all.iter().filter(|other| other.from == edge.from);
    match (&edge.status, &edge.condition) {
        (Some(status), _) if status == "_" => String::new(),
        (Some(word), _) | (None, Some(word)) => word.clone(),
        (None, None) if siblings.count() > 1 => "otherwise".to_owned(),
        (None, None) => String::new(),
    }
}

/// Returns the label of an edge in a drawing: when it is taken, and how often it was, if this was more than once.
#[must_use]
pub fn label(all: &[GraphEdge], edge: &GraphEdge) -> String {
    let count = edge.taken.filter(|taken| *taken > 1).map(times);
    let when = Some(shown(&when(all, edge))).filter(|when| !when.is_empty());
    let parts: Vec<String> = when.into_iter().chain(count).collect();
    parts.join(" ")
}

/// Returns whether the thread took an edge.
#[must_use]
pub fn was_taken(edge: &GraphEdge) -> bool {
    edge.taken.is_some_and(|taken| taken > 0)
}

/// Returns a text as one line that no reader obeys.
#[must_use]
pub fn shown(text: &str) -> String {
    printable(&one_line(text)).into_owned()
}

/// Returns a count as it stands beside a name.
#[must_use]
pub fn times(count: u64) -> String {
    format!("×{count}")
}

/// Returns the sign for how a thread stands at a node.
#[must_use]
pub fn sign(standing: Standing) -> &'static str {
    match standing {
        Standing::Next | Standing::Running => "▶",
        Standing::Waiting => "‖",
        Standing::Failed => "!",
        Standing::Blocked => "✗",
        Standing::Done => "✓",
    }
}

/// Returns the word for how a thread stands at a node.
#[must_use]
pub fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Next => "next",
        Standing::Running => "running",
        Standing::Waiting => "waiting",
        Standing::Failed => "failed",
        Standing::Blocked => "blocked",
        Standing::Done => "done",
    }
}
