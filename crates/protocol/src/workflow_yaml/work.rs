//! Reading who does the work of a role, and the schema that follows from it.

use indexmap::IndexMap;
use serde_json::Value;

use uwf_yaml::{Data, Key, Node};

use super::Statuses;
use super::diagnostic::Finding;
use super::fields::{Fields, entries, misfit, text};
use crate::ids::RoleName;
use crate::work::{
    self, Branch, Branches, BranchesOf, Join, List, MAX_ITEMS, Played, Player, Work,
};
use crate::workflow_stored::work::join_of;

/// The keys of a role that say who does its work.
pub(super) const KEYS: [&str; 7] = [
    "workflow", "returns", "role", "each", "branches", "join", "max",
];
const BRANCH_KEYS: [&str; 3] = ["role", "workflow", "prompt"];

/// Returns who does the work of a role.
pub(super) fn work(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Work<Value>> {
    let of = match (fields.get("each"), fields.get("branches")) {
        (None, None) => return one(fields, findings),
        (Some(_), Some((key, _))) => {
            let message = format!("{} has `each` and `branches`", fields.what());
            let hint = "`each` makes a branch for each item, `branches` names them: keep one";
            findings.push(Finding::new(key.at, message).hint(hint));
            return None;
        }
        (Some((_, node)), None) => {
            let list = list(node, fields, findings);
            let player = player(fields, findings);
            BranchesOf::Each {
                list: list?,
                player: player?,
            }
        }
        (None, Some((_, node))) => {
            refuse(
                fields,
                &["role", "workflow"],
                "each branch has its own",
                findings,
            );
            BranchesOf::Named(named(node, fields, findings)?)
        }
    };
    refuse(
        fields,
        &["returns"],
        "the results of branches are its answer",
        findings,
    );
    let why = "the results of its branches have a schema of their own";
    refuse(fields, &["frontmatter", "meta"], why, findings);
    Some(Work::Branches(Branches {
        of,
        join: join(fields, findings)?,
        max: max(fields, findings),
    }))
}

/// Returns the schema of a role whose file gives none, if its work says what it answers.
pub(super) fn schema(
    work: &Work<Value>,
    fields: &Fields<'_>,
    statuses: &Statuses<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Value> {
    let played = match work {
        Work::Agent => return None,
        Work::Branches(_) => return Some(work::schema_of_branches()),
        Work::Workflow(played) => played,
    };
    let answered = statuses(played.workflow.as_str().unwrap_or_default());
    if let (Err(problem), Some((_, node))) = (&answered, fields.get("workflow")) {
        findings.push(Finding::new(
            node.at,
            format!("`workflow` of {}: {problem}", fields.what()),
        ));
    }
    answered.ok().map(|found| work::schema_of_played(&found))
}

/// Returns the work of a role without branches.
fn one(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Work<Value>> {
    refuse(fields, &["role"], "it plays each item of `each`", findings);
    refuse(
        fields,
        &["join", "max"],
        "they are about branches",
        findings,
    );
    if fields.get("workflow").is_none() {
        refuse(
            fields,
            &["returns"],
            "it is about the `workflow` that plays the role",
            findings,
        );
        return Some(Work::Agent);
    }
    Some(Work::Workflow(Played {
        workflow: fields.text("workflow", findings)?.into(),
        returns: fields.text("returns", findings),
    }))
}

/// Reports keys that have no meaning beside the others.
pub(super) fn refuse(fields: &Fields<'_>, keys: &[&str], why: &str, findings: &mut Vec<Finding>) {
    for key in keys {
        if let Some((found, _)) = fields.get(key) {
            let message = format!("{} cannot have `{key}` here: {why}", fields.what());
            findings.push(Finding::new(found.at, message));
        }
    }
}

/// Returns who does a branch: a role or a workflow.
fn player(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Player<Value>> {
    match (fields.get("role"), fields.get("workflow")) {
        (Some((_, node)), None) => {
            let role = fields.text("role", findings)?;
            match role.parse::<RoleName>() {
                Ok(role) => Some(Player::Role(role)),
                Err(error) => {
                    findings.push(Finding::new(node.at, error.to_string()));
                    None
                }
            }
        }
        (None, Some(_)) => Some(Player::Workflow(fields.text("workflow", findings)?.into())),
        (Some((key, _)), Some(_)) => {
            let message = format!("{} has `role` and `workflow`: keep one", fields.what());
            findings.push(Finding::new(key.at, message));
            None
        }
        (None, None) => {
            let finding = fields
                .lacks("role")
                .hint("`role` or `workflow` says who does it");
            findings.push(finding);
            None
        }
    }
}

fn named(
    node: &Node,
    fields: &Fields<'_>,
    findings: &mut Vec<Finding>,
) -> Option<IndexMap<String, Branch<Value>>> {
    let what = format!("`branches` of {}", fields.what());
    let entries = entries(node, &what, findings)?;
    if entries.is_empty() {
        findings.push(Finding::new(node.at, format!("{what} are empty")));
        return None;
    }
    let mut named = IndexMap::new();
    for (key, node) in entries {
        if key.text.trim().is_empty() {
            findings.push(Finding::new(
                key.at,
                format!("a branch of {} has no name", fields.what()),
            ));
        }
        let branch = branch(key, node, fields, findings);
        named.extend(branch.map(|branch| (key.text.clone(), branch)));
    }
    Some(named)
}

fn branch(
    key: &Key,
    node: &Node,
    of: &Fields<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Branch<Value>> {
    let what = format!("branch `{}` of {}", key.text, of.what());
    let fields = Fields::of(node, key.at, what, &BRANCH_KEYS, findings)?;
    Some(Branch {
        player: player(&fields, findings)?,
        prompt: fields.text("prompt", findings),
    })
}

fn list(node: &Node, fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<List> {
    let what = format!("`each` of {}", fields.what());
    let Data::List(items) = &node.data else {
        return text(node, &format!("{what}, if it is no list,"), findings).map(List::Expression);
    };
    if items.len() > MAX_ITEMS {
        let message = format!("{what} has {} items, more than {MAX_ITEMS}", items.len());
        findings.push(Finding::new(node.at, message));
        return None;
    }
    Some(List::Items(items.iter().map(Node::to_json).collect()))
}

fn join(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Join> {
    let Some((_, node)) = fields.get("join") else {
        return Some(Join::default());
    };
    let join = match &node.data {
        Data::Text(word) => join_of(word),
        Data::Number(number) => number.as_u64().filter(|count| *count > 0).map(Join::Count),
        _ => None,
    };
    if join.is_none() {
        let message = format!(
            "`join` of {} is `all`, `any` or a number from 1",
            fields.what()
        );
        findings.push(Finding::new(node.at, message));
    }
    join
}

fn max(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<u64> {
    let (_, node) = fields.get("max")?;
    let max = match &node.data {
        Data::Number(number) => number.as_u64().filter(|max| *max > 0),
        _ => {
            let what = format!("`max` of {}", fields.what());
            findings.extend(misfit(node, &what, "a number"));
            return None;
        }
    };
    if max.is_none() {
        let message = format!("`max` of {} is a number from 1", fields.what());
        findings.push(Finding::new(node.at, message));
    }
    max
}
