//! What differs between two workflows, for people: one line for each part, which begins with `+`, `-` or `~`.

use serde_json::Value;
use uwf_protocol::workflow_diff::{Change, EdgeChange, Kind, Named, RoleChange, WorkflowDiff};
use uwf_protocol::workspace::WorkspaceMode;
use uwf_util::text::cut_line;

/// How many characters of a text a line shows.
const TEXT_SHOWN: usize = 60;

/// Returns the lines; none if nothing differs.
pub(crate) fn lines(diff: &WorkflowDiff) -> Vec<String> {
    let mut lines = Vec::new();
    let texts = [("name", &diff.name), ("description", &diff.description)];
    for (key, change) in texts {
        let change = change.as_ref();
        lines.extend(change.map(|change| format!("~ {key}: {}", values(change, String::clone))));
    }
    lines.extend(diff.roles.iter().map(role));
    lines.extend(diff.edges.iter().map(edge));
    lines.extend(
        diff.reordered
            .iter()
            .map(|node| format!("~ order of the edges of {node}")),
    );
    lines.extend(
        diff.conditions
            .iter()
            .map(|it| named("condition", it, String::clone)),
    );
    lines.extend(
        diff.limits
            .iter()
            .map(|it| named("limit", it, Value::to_string)),
    );
    lines.extend(diff.workspace.iter().map(|change| {
        let word = |mode: &WorkspaceMode| mode.as_str().to_owned();
        format!(
            "{} workspace: {}",
            sign(change.kind()),
            values(change, word)
        )
    }));
    lines
}

fn sign(kind: Kind) -> char {
    match kind {
        Kind::Added => '+',
        Kind::Removed => '-',
        Kind::Changed => '~',
    }
}

fn role(change: &RoleChange) -> String {
    let begin = format!("{} role {}", sign(change.change), change.role);
    match change.fields.as_slice() {
        [] => begin,
        fields => format!("{begin}: {}", fields.join(", ")),
    }
}

fn edge(edge: &EdgeChange) -> String {
    let when = edge.when.as_deref().unwrap_or("-");
    let begin = format!("{} edge {} [{when}]", sign(edge.change.kind()), edge.from);
    let (before, after) = match (&edge.change.before, &edge.change.after) {
        (Some(before), Some(after)) => (before, after),
        (Some(side), None) | (None, Some(side)) => return format!("{begin} → {}", side.to),
        (None, None) => return begin,
    };
    let mut parts = Vec::new();
    if before.to != after.to {
        parts.push(format!("to {} → {}", before.to, after.to));
    }
    if before.prompt != after.prompt {
        let text = after.prompt.as_deref().unwrap_or_default();
        parts.push(format!("prompt \"{}\"", cut_line(text, TEXT_SHOWN)));
    }
    if before.location != after.location {
        let text = after.location.as_deref().unwrap_or_default();
        parts.push(format!("location \"{}\"", cut_line(text, TEXT_SHOWN)));
    }
    format!("{begin}: {}", parts.join(", "))
}

fn named<T>(what: &str, named: &Named<T>, show: impl Fn(&T) -> String) -> String {
    let begin = format!("{} {what} {}", sign(named.change.kind()), named.name);
    format!("{begin}: {}", values(&named.change, show))
}

/// Returns the one value that there is, or both.
fn values<T>(change: &Change<T>, show: impl Fn(&T) -> String) -> String {
    let show = |value: &T| cut_line(&show(value), TEXT_SHOWN);
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("{} → {}", show(before), show(after)),
        (Some(value), None) | (None, Some(value)) => show(value),
        (None, None) => String::new(),
    }
}
