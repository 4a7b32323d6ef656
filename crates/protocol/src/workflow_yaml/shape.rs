//! Building the workflow from the tree of its file, and reporting everything that does not fit.

use indexmap::IndexMap;
use serde_json::Value;

use uwf_yaml::{Data, Key, Node};

use super::diagnostic::Finding;
use super::fields::{Fields, entries, items, misfit, text};
use super::graph;
use super::options;
use super::{Statuses, checks, work};
use crate::ids::RoleName;
use crate::work::Work;
use crate::workflow::{Condition, Role, Workflow, name_problem};

const WORKFLOW_KEYS: [&str; 10] = [
    "name",
    "description",
    "roles",
    "conditions",
    "graph",
    "limits",
    "supervisor",
    "context",
    "workspace",
    "version",
];
const ROLE_KEYS: [&str; 11] = [
    "description",
    "goal",
    "capabilities",
    "procedure",
    "output",
    "frontmatter",
    "meta",
    "extract",
    "checks",
    "session",
    "context",
];
const CONDITION_KEYS: [&str; 2] = ["description", "expression"];

/// Returns the workflow in the tree; `None` if an essential part could not be read. The findings say why.
pub(super) fn workflow(
    root: &Node,
    statuses: &Statuses<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Workflow<Value>> {
    let what = "the workflow".to_owned();
    let fields = Fields::of(root, root.at, what, &WORKFLOW_KEYS, findings)?;
    let name = name(&fields, findings);
    let description = fields.text("description", findings).unwrap_or_default();
    let roles = roles(&fields, statuses, findings);
    let conditions = conditions(&fields, findings);
    let graph = match fields.get("graph") {
        Some((_, node)) => graph::graph(node, findings),
        None => {
            findings.push(fields.lacks("graph"));
            None
        }
    };
    let limits = options::limits(&fields, findings);
    let supervisor = options::supervisor(&fields, findings);
    let context = options::context(&fields, findings);
    let workspace = options::workspace(&fields, findings);
    Some(Workflow {
        name: name?,
        description,
        roles: roles?,
        conditions,
        graph: graph?,
        limits,
        supervisor,
        context,
        workspace,
    })
}

fn name(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<String> {
    let name = fields.required_text("name", findings)?;
    let Some(problem) = name_problem(&name) else {
        return Some(name);
    };
    let (_, node) = fields.get("name")?;
    findings.push(Finding::new(
        node.at,
        format!("the name `{name}` {problem}"),
    ));
    Some(name)
}

fn roles(
    fields: &Fields<'_>,
    statuses: &Statuses<'_>,
    findings: &mut Vec<Finding>,
) -> Option<IndexMap<RoleName, Role<Value>>> {
    let Some((_, node)) = fields.get("roles") else {
        findings.push(fields.lacks("roles"));
        return None;
    };
    let mut roles = IndexMap::new();
    for (key, node) in entries(node, "`roles`", findings)? {
        match key.text.parse::<RoleName>() {
            Ok(name) => {
                roles.extend(role(key, node, statuses, findings).map(|role| (name, role)));
            }
            Err(error) => findings.push(Finding::new(key.at, error.to_string())),
        }
    }
    Some(roles)
}

fn role(
    key: &Key,
    node: &Node,
    statuses: &Statuses<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Role<Value>> {
    let what = format!("role `{}`", key.text);
    let known = [&ROLE_KEYS[..], &work::KEYS].concat();
    let fields = Fields::of(node, key.at, what, &known, findings)?;
    let goal = fields.required_text("goal", findings);
    let work = work::work(&fields, findings);
    if work.as_ref().is_some_and(|work| *work != Work::Agent) {
        let why = "other threads do its work";
        work::refuse(&fields, &["session", "context"], why, findings);
    }
    let has_schema = ["frontmatter", "meta"]
        .iter()
        .any(|key| fields.get(key).is_some());
    let schema = match &work {
        Some(work) if *work != Work::Agent && !has_schema => {
            work::schema(work, &fields, statuses, findings)
        }
        // It is unknown who does the work, and whether that needs a schema.
        None if !has_schema => None,
        Some(_) | None => schema(&fields, findings),
    };
    Some(Role {
        description: fields.text("description", findings).unwrap_or_default(),
        capabilities: capabilities(&fields, findings),
        procedure: fields.text("procedure", findings).unwrap_or_default(),
        output: fields.text("output", findings).unwrap_or_default(),
        extract: options::extract(&fields, findings),
        checks: checks::checks(&fields, work.as_ref(), findings),
        session: options::session(&fields, findings),
        context: options::context(&fields, findings),
        goal: goal?,
        schema: schema?,
        work: work?,
    })
}

fn capabilities(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Vec<String> {
    let Some((_, node)) = fields.get("capabilities") else {
        return Vec::new();
    };
    let what = format!("`capabilities` of {}", fields.what());
    let each = format!("each of the {what}");
    let items = items(node, &what, findings).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| text(item, &each, findings))
        .collect()
}

/// Returns the schema of a role's answer. Its key is `frontmatter`; the first workflows called it `meta`.
fn schema(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Value> {
    let (key, node) = match (fields.get("frontmatter"), fields.get("meta")) {
        (Some((_, frontmatter)), Some((key, meta))) if frontmatter.to_json() != meta.to_json() => {
            let message = format!(
                "{} has `frontmatter` and `meta`, and they differ",
                fields.what()
            );
            findings.push(
                Finding::new(key.at, message).hint("they are two names of one thing: keep one"),
            );
            return None;
        }
        (Some(entry), _) | (None, Some(entry)) => entry,
        (None, None) => {
            let hint = "it is the JSON Schema of the role's answer";
            findings.push(fields.lacks("frontmatter").hint(hint));
            return None;
        }
    };
    let what = format!("`{}` of {}", key.text, fields.what());
    match &node.data {
        Data::Map(_) => {
            findings.extend(unfit_schema(key, node, &what));
            Some(node.to_json())
        }
        _ => {
            let hint = "it is a JSON Schema; `!include <file>.json` reads one from a file";
            let finding = misfit(node, &what, "a mapping");
            findings.extend(finding.map(|finding| finding.hint(hint)));
            None
        }
    }
}

/// Returns the finding that a schema cannot be the schema of an answer: it needs one `type`, or a list under `oneOf`.
fn unfit_schema(key: &Key, node: &Node, what: &str) -> Option<Finding> {
    let value = |name| node.entry(name).map(|(_, value)| value);
    let is_known = |data: &Data| matches!(data, Data::Text(_) | Data::Broken);
    let has_type = value("type").is_some_and(|value| is_known(&value.data));
    if let Some(wrong) = value("type")
        && let Data::Text(name) = &wrong.data
        && name != "object"
    {
        let message = format!("{what} is of type `{name}`, which no answer has");
        let finding = Finding::new(wrong.at, message);
        return Some(finding.hint("an answer is an object: `type: object`"));
    }
    let one_of = value("oneOf").map(|value| &value.data);
    if has_type || matches!(one_of, Some(Data::List(_) | Data::Broken)) {
        return None;
    }
    if let Some(wrong) = value("oneOf") {
        return misfit(wrong, &format!("`oneOf` in {what}"), "a list");
    }
    if let Some(wrong) = value("type") {
        let finding = misfit(wrong, &format!("`type` in {what}"), "one string");
        return finding.map(|finding| finding.hint("an answer is an object: `type: object`"));
    }
    let hint = if value("anyOf").is_some() {
        "alternatives are listed under `oneOf`, not `anyOf`"
    } else if value("$ref").is_some() {
        "references are not followed: write the schema out, or `!include` it"
    } else {
        "an answer is an object: add `type: object`"
    };
    let message = format!("{what} has neither `type` nor `oneOf`");
    Some(Finding::new(key.at, message).hint(hint))
}

fn conditions(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> IndexMap<String, Condition> {
    let Some((_, node)) = fields.get("conditions") else {
        return IndexMap::new();
    };
    let entries = entries(node, "`conditions`", findings).unwrap_or_default();
    entries
        .iter()
        .filter_map(|(key, node)| Some((key.text.clone(), condition(key, node, findings)?)))
        .collect()
}

fn condition(key: &Key, node: &Node, findings: &mut Vec<Finding>) -> Option<Condition> {
    let what = format!("condition `{}`", key.text);
    let fields = Fields::of(node, key.at, what, &CONDITION_KEYS, findings)?;
    Some(Condition {
        description: fields.text("description", findings).unwrap_or_default(),
        expression: fields.required_text("expression", findings)?,
    })
}
