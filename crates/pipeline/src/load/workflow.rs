//! A step that starts a workflow. It runs no program of its own, so V06 refuses the keys that only programs obey.

use uwf_yaml::Node;

use super::fields::Fields;
use super::reader::{Reader, Zone};
use super::values::{entry, path, template, tree_map, word};
use super::work::CAPTURES;
use crate::{Capture, Code, Template, WorkflowCall};

/// The keys that a step with a workflow cannot have.
const REFUSED: [&str; 8] = [
    "input_file",
    "output_file",
    "allow_parse_error",
    "env",
    "secrets",
    "timeout_sec",
    "retries",
    "provider_params",
];

/// Reads which workflow a step starts, and with what.
pub(super) fn workflow(fields: &Fields<'_>, reader: &mut Reader) -> Option<WorkflowCall> {
    refuse_others(fields, reader);
    let (key, node) = fields.get("workflow")?;
    let what = fields.name_of("workflow");
    let call = Fields::of(node, key.at, &what, &["name", "task", "context"], reader)?;
    for required in ["name", "task"] {
        if !call.has(required) {
            let message = format!("{what} has no `{required}`");
            reader.problem(key.at, Code::WrongType, message);
        }
    }
    // A name and a hash are paths, too: what is refused as a path is neither.
    let name = entry(&call, "name", reader, path);
    let task = entry(&call, "task", reader, task);
    let context = entry(&call, "context", reader, |node, what, reader| {
        tree_map(node, what, Zone::Step, reader)
    });
    Some(WorkflowCall {
        name: name?,
        task: task?,
        context: context.unwrap_or_default(),
    })
}

fn task(node: &Node, what: &str, reader: &mut Reader) -> Option<Template> {
    let task = template(node, what, Zone::Step, reader)?;
    if task.source().trim().is_empty() {
        reader.problem(
            node.at,
            Code::WrongType,
            format!("{what} must not be empty"),
        );
    }
    Some(task)
}

/// V06: reports what a step cannot have whose output is the answer of a child thread.
fn refuse_others(fields: &Fields<'_>, reader: &mut Reader) {
    for (key, _) in REFUSED.iter().filter_map(|key| fields.get(key)) {
        let message = format!(
            "{} starts a workflow, so it has no `{}`",
            fields.what, key.text
        );
        reader.problem(key.at, Code::Exclusion, message);
    }
    let capture = entry(fields, "output_capture", reader, |node, what, reader| {
        word(node, what, &CAPTURES, reader)
    });
    if let (Some((key, _)), Some(Capture::Text | Capture::Lines)) =
        (fields.get("output_capture"), capture)
    {
        let message = "the result of a workflow is JSON, so `output_capture` can only be `json`";
        reader.problem(key.at, Code::Exclusion, message);
    }
}
