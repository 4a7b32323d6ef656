//! Reading the options of a workflow: its limits, its supervisor, and the extraction policy of a role.

use uwf_yaml::{Data, Node};

use super::diagnostic::Finding;
use super::fields::{Fields, entries, misfit};
use crate::limits::{Limits, Setting};
use crate::policy::ExtractPolicy;
use crate::workflow::WorkflowSupervisor;

/// Returns the limits; none if the workflow has none.
pub(super) fn limits(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Limits {
    let mut limits = Limits::default();
    let Some((key, node)) = fields.get("limits") else {
        return limits;
    };
    let what = "`limits`".to_owned();
    let Some(fields) = Fields::of(node, key.at, what, &Limits::KEYS, findings) else {
        return limits;
    };
    for key in Limits::KEYS {
        let Some((_, node)) = fields.get(key) else {
            continue;
        };
        match (key, &node.data) {
            ("maxVisits", Data::Map(_)) => {
                for (role, node) in entries(node, key, findings).unwrap_or_default() {
                    let key = format!("{key}.{}", role.text);
                    limit(&key, node, &mut limits, findings);
                }
            }
            _ => limit(key, node, &mut limits, findings),
        }
    }
    limits
}

fn limit(key: &str, node: &Node, limits: &mut Limits, findings: &mut Vec<Finding>) {
    let is_word = matches!(key, "maxDuration" | "unknownUsage");
    let text = match &node.data {
        Data::Number(number) => number.to_string(),
        Data::Text(text) if is_word => text.clone(),
        _ => {
            let wanted = if is_word { "a string" } else { "a number" };
            findings.extend(misfit(node, &format!("`{key}` of `limits`"), wanted));
            return;
        }
    };
    match Setting::parse(key, &text) {
        Ok(setting) => limits.set(setting),
        Err(error) => findings.push(Finding::new(node.at, format!("`{key}`: {error}"))),
    }
}

/// Returns when a model judges a thread, if the workflow says so.
pub(super) fn supervisor(
    fields: &Fields<'_>,
    findings: &mut Vec<Finding>,
) -> Option<WorkflowSupervisor> {
    let (key, node) = fields.get("supervisor")?;
    let what = "`supervisor`".to_owned();
    let fields = Fields::of(node, key.at, what, &["every", "model"], findings)?;
    let model = fields.text("model", findings);
    let Some((_, node)) = fields.get("every") else {
        findings.push(fields.lacks("every"));
        return None;
    };
    let every = match &node.data {
        Data::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    if every.is_none() {
        let problem = "`every` of `supervisor` is a whole number from 1".to_owned();
        findings.push(Finding::new(node.at, problem));
    }
    Some(WorkflowSupervisor {
        every: every?,
        model,
    })
}

/// Returns the extraction policy of a role, if it has one.
pub(super) fn extract(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<ExtractPolicy> {
    let word = fields.text("extract", findings)?;
    let policies = ExtractPolicy::ALL.into_iter();
    let policy = policies.into_iter().find(|policy| policy.as_str() == word);
    if policy.is_none() {
        let (_, node) = fields.get("extract")?;
        let message = format!(
            "`extract` of {} is `strict` or `llm`, not `{word}`",
            fields.what()
        );
        findings.push(Finding::new(node.at, message));
    }
    policy
}
