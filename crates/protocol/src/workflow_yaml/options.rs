//! Reading the options of a workflow: its limits, its supervisor, its workspace, and the policies of the workflow and its roles.

use std::num::NonZeroU32;

use uwf_yaml::{Data, Node};

use super::diagnostic::Finding;
use super::fields::{Fields, entries, misfit};
use crate::limits::{Limits, Setting};
use crate::policy::{ContextPolicy, ExtractPolicy, Older, SessionPolicy};
use crate::workflow::WorkflowSupervisor;
use crate::workspace::WorkspaceMode;

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

/// Returns where the agents of a thread work, if the workflow says so.
pub(super) fn workspace(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<WorkspaceMode> {
    let words = WorkspaceMode::ALL.map(|mode| (mode.as_str(), mode));
    one_of(fields, "workspace", &words, findings)
}

/// Returns the extraction policy of a role, if it has one.
pub(super) fn extract(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<ExtractPolicy> {
    let words = ExtractPolicy::ALL.map(|policy| (policy.as_str(), policy));
    one_of(fields, "extract", &words, findings)
}

/// Returns which session the agent of a role gets, if the role says so.
pub(super) fn session(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<SessionPolicy> {
    let words = SessionPolicy::ALL.map(|policy| (policy.as_str(), policy));
    one_of(fields, "session", &words, findings)
}

/// Returns how much of what happened prompts show, as far as the workflow or the role says it.
pub(super) fn context(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> ContextPolicy {
    let Some((key, node)) = fields.get("context") else {
        return ContextPolicy::default();
    };
    let what = format!("`context` of {}", fields.what());
    let Some(fields) = Fields::of(node, key.at, what, &ContextPolicy::KEYS, findings) else {
        return ContextPolicy::default();
    };
    let words = Older::ALL.map(|older| (older.as_str(), older));
    ContextPolicy {
        max_chars: max_chars(&fields, findings),
        older: one_of(&fields, "older", &words, findings),
    }
}

fn max_chars(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<NonZeroU32> {
    let (_, node) = fields.get("maxChars")?;
    let number = match &node.data {
        Data::Number(number) => number.to_string().parse::<NonZeroU32>().ok(),
        _ => None,
    };
    let number = number.filter(|number| number.get() >= ContextPolicy::LEAST_CHARS);
    if number.is_none() {
        let problem = format!(
            "`maxChars` of {} is a whole number from {}",
            fields.what(),
            ContextPolicy::LEAST_CHARS
        );
        findings.push(Finding::new(node.at, problem));
    }
    number
}

/// Returns what the word of an entry means, if there is one. Reports any other word.
fn one_of<T: Copy>(
    fields: &Fields<'_>,
    key: &str,
    words: &[(&str, T); 2],
    findings: &mut Vec<Finding>,
) -> Option<T> {
    let word = fields.text(key, findings)?;
    let meant = words.iter().find(|(known, _)| *known == word);
    if meant.is_none() {
        let (_, node) = fields.get(key)?;
        let [(one, _), (other, _)] = words;
        let message = format!(
            "`{key}` of {} is `{one}` or `{other}`, not `{word}`",
            fields.what()
        );
        findings.push(Finding::new(node.at, message));
    }
    meant.map(|(_, meant)| *meant)
}
