//! Reading the graph. The edges of a node are a map from status to edge, or a list of edges with conditions.

use indexmap::IndexMap;
use uwf_util::suggest;

use uwf_yaml::{At, Data, Key, Node};

use super::diagnostic::Finding;
use super::fields::{Fields, entries, misfit};
use crate::ids::Status;
use crate::workflow::{Destination, Edges, ListEdge, NodeName, Target, reserved};

const TARGET_KEYS: [&str; 3] = ["role", "prompt", "location"];
const LIST_EDGE_KEYS: [&str; 4] = ["role", "condition", "prompt", "location"];

/// Returns the graph as far as it could be read.
pub(super) fn graph(node: &Node, findings: &mut Vec<Finding>) -> Option<IndexMap<NodeName, Edges>> {
    let mut graph = IndexMap::new();
    for (key, node) in entries(node, "`graph`", findings)? {
        let edges = edges(key, node, findings);
        match node_name(&key.text) {
            Ok(name) => graph.extend(edges.map(|edges| (name, edges))),
            Err(problem) => findings.push(problem.at(key.at)),
        }
    }
    Some(graph)
}

/// Why a text is not the name of a node or a destination.
struct NameProblem {
    message: String,
    hint: Option<String>,
}

impl NameProblem {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// Returns the problem of a name that starts with `$` and is not reserved.
    fn unknown(text: &str, reserved: &[&str]) -> Self {
        let upper = text.to_ascii_uppercase();
        let nearest = suggest::nearest(&upper, reserved.iter().copied());
        Self {
            message: format!("unknown reserved name `{text}`"),
            hint: Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("the names are `{}`", reserved.join("`, `")),
            }),
        }
    }

    fn at(self, at: At) -> Finding {
        Finding {
            at,
            message: self.message,
            excerpt: None,
            hint: self.hint,
            is_surplus: false,
        }
    }
}

fn node_name(text: &str) -> Result<NodeName, NameProblem> {
    match text {
        reserved::START => Ok(NodeName::Start),
        reserved::END | reserved::SUSPEND => Err(NameProblem::new(format!(
            "`{text}` has no edges of its own: a thread stops there"
        ))),
        _ if text.starts_with('$') => Err(NameProblem::unknown(text, &[reserved::START])),
        _ => match text.parse() {
            Ok(role) => Ok(NodeName::Role(role)),
            Err(error) => Err(NameProblem::new(error.to_string())),
        },
    }
}

fn destination(text: &str) -> Result<Destination, NameProblem> {
    match text {
        reserved::END => Ok(Destination::End),
        reserved::SUSPEND => Ok(Destination::Suspend),
        reserved::START => Err(NameProblem::new("no edge can lead to `$START`")),
        _ if text.starts_with('$') => Err(NameProblem::unknown(
            text,
            &[reserved::END, reserved::SUSPEND],
        )),
        _ => match text.parse() {
            Ok(role) => Ok(Destination::Role(role)),
            Err(error) => Err(NameProblem::new(error.to_string())),
        },
    }
}

fn edges(key: &Key, node: &Node, findings: &mut Vec<Finding>) -> Option<Edges> {
    let name = &key.text;
    if let Data::List(items) = &node.data {
        let numbered = items.iter().enumerate();
        let edges = numbered.filter_map(|(index, item)| {
            list_edge(item, format!("edge {} of `{name}`", index + 1), findings)
        });
        return Some(Edges::InOrder(edges.collect()));
    }
    let Data::Map(statuses) = &node.data else {
        let wanted = "a mapping from status to edge, or a list of edges";
        findings.extend(misfit(node, &format!("`{name}` in the graph"), wanted));
        return None;
    };
    if let Some((role, _)) = node.entry("role").filter(|(_, value)| value.is_text()) {
        let message = format!("the edge of `{name}` has no status");
        findings.push(Finding::new(role.at, message).hint("write `_: { role: …, prompt: … }`"));
        return None;
    }
    let targets = statuses.iter().filter_map(|(status, node)| {
        let what = format!("edge `{}` of `{name}`", status.text);
        Some((
            Status::new(&status.text),
            target(status.at, node, what, findings)?,
        ))
    });
    Some(Edges::ByStatus(targets.collect()))
}

fn target(at: At, node: &Node, what: String, findings: &mut Vec<Finding>) -> Option<Target> {
    let fields = Fields::of(node, at, what, &TARGET_KEYS, findings)?;
    let to = to(&fields, findings);
    let prompt = fields.text("prompt", findings);
    if to.as_ref().is_some_and(|to| *to != Destination::End) {
        findings.extend(lacking_prompt(&fields, prompt.as_deref()));
    }
    Some(Target {
        to: to?,
        prompt: prompt.unwrap_or_default(),
        location: fields.text("location", findings),
    })
}

/// Returns the finding that an edge has no prompt, so that the next role would get no instruction.
fn lacking_prompt(fields: &Fields<'_>, prompt: Option<&str>) -> Option<Finding> {
    let finding = match (fields.get("prompt"), prompt) {
        (None, _) => fields.lacks("prompt"),
        (Some((_, node)), Some(prompt)) if prompt.trim().is_empty() => {
            Finding::new(node.at, format!("`prompt` of {} is blank", fields.what()))
        }
        _ => return None,
    };
    Some(finding.hint("only an edge to `$END` needs no prompt"))
}

fn list_edge(node: &Node, what: String, findings: &mut Vec<Finding>) -> Option<ListEdge> {
    let fields = Fields::of(node, node.at, what, &LIST_EDGE_KEYS, findings)?;
    let to = to(&fields, findings);
    Some(ListEdge {
        condition: fields.text("condition", findings),
        prompt: fields.text("prompt", findings),
        location: fields.text("location", findings),
        to: to?,
    })
}

fn to(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Destination> {
    let text = fields.required_text("role", findings)?;
    let (_, node) = fields.get("role")?;
    destination(&text)
        .map_err(|problem| findings.push(problem.at(node.at)))
        .ok()
}
