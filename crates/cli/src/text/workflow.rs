//! The results of `uwf workflow`.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use uwf_engine::{Checked, Registered, WorkflowItem, WorkflowView};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::workflow::{Condition, Destination, Edges, NodeName, Role, Workflow};
use uwf_protocol::workflow_stored;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_protocol::workspace::WorkspaceMode;
use uwf_util::text::cut_line;

use crate::hints;
use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::{Page, fitted, table};

/// How many characters of an edge's prompt a line shows.
const PROMPT_SHOWN: usize = 60;

/// A workflow that was registered.
#[derive(Serialize)]
pub(crate) struct RegisteredView {
    name: String,
    hash: CasRef,
    /// The workflow that the name stood for.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<CasRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl From<Registered> for RegisteredView {
    fn from(registered: Registered) -> Self {
        Self {
            name: registered.name,
            hash: registered.hash,
            was: registered.replaced,
            warnings: texts_of(&registered.warnings),
        }
    }
}

impl Show for RegisteredView {
    fn text(&self, _page: Page) -> String {
        let was = self
            .was
            .map_or_else(String::new, |hash| format!("  (was {hash})"));
        format!("{}  {}{was}", self.hash, self.name)
    }
}

/// A workflow file without mistakes.
#[derive(Serialize)]
pub(crate) struct ValidView {
    name: String,
    valid: bool,
    roles: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A workflow file with mistakes.
#[derive(Serialize)]
pub(crate) struct InvalidView {
    valid: bool,
    problems: Vec<Problem>,
}

/// A mistake, with its place if it is at one.
#[derive(Serialize)]
struct Problem {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl InvalidView {
    /// Returns the view of a file with one mistake that is at no place.
    pub(crate) fn of(message: String, hint: Option<String>) -> Self {
        let problem = Problem {
            file: None,
            line: None,
            column: None,
            message,
            hint,
        };
        Self {
            valid: false,
            problems: vec![problem],
        }
    }
}

impl From<&[Diagnostic]> for InvalidView {
    fn from(problems: &[Diagnostic]) -> Self {
        let problem = |one: &Diagnostic| Problem {
            file: one.position.as_ref().map(|at| at.file.clone()),
            line: one.position.as_ref().map(|at| at.line),
            column: one.position.as_ref().map(|at| at.column),
            message: one.message.clone(),
            hint: one.hint.clone(),
        };
        Self {
            valid: false,
            problems: problems.iter().map(problem).collect(),
        }
    }
}

impl Show for InvalidView {
    /// People read the mistakes on stderr.
    fn text(&self, _page: Page) -> String {
        String::new()
    }
}

/// Returns warnings as texts.
pub(crate) fn texts_of(warnings: &[Diagnostic]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

impl From<&Checked> for ValidView {
    fn from(checked: &Checked) -> Self {
        let workflow = &checked.workflow;
        Self {
            warnings: texts_of(&checked.warnings),
            name: workflow.name.clone(),
            valid: true,
            roles: workflow.roles.keys().map(ToString::to_string).collect(),
        }
    }
}

impl Show for ValidView {
    fn text(&self, _page: Page) -> String {
        format!(
            "`{}` is valid; its roles are {}",
            self.name,
            self.roles.join(", ")
        )
    }
}

impl Show for Vec<WorkflowItem> {
    fn text(&self, _page: Page) -> String {
        if self.is_empty() {
            let next = "no workflows; `uwf init` writes one to begin with, `uwf workflow put <file>` registers one";
            return hints::here(next).into_owned();
        }
        let row = |item: &WorkflowItem| {
            let hash = item.hash.map(|hash| hash.to_string());
            let path = item.path.as_ref().map(|path| path.display().to_string());
            vec![
                item.name.clone(),
                hash.unwrap_or_else(|| "(local)".to_owned()),
                path.unwrap_or_default(),
            ]
        };
        table(
            &["WORKFLOW", "HASH", "FILE"],
            self.iter().map(row).collect(),
        )
    }
}

impl Show for WorkflowView {
    /// The outline. The data has the full texts of the roles.
    fn text(&self, page: Page) -> String {
        match workflow_stored::from_payload(self.type_hash, &self.payload) {
            Ok(workflow) => outline(self.hash, &workflow, page),
            Err(_) => document(&self.payload),
        }
    }
}

fn outline(hash: CasRef, workflow: &Workflow, page: Page) -> String {
    let mut parts = vec![format!("{}  {hash}", workflow.name)];
    parts.extend(Some(workflow.description.clone()).filter(|text| !text.is_empty()));
    let role = |(name, role): (&RoleName, &Role)| {
        vec![
            name.to_string(),
            role.description.clone(),
            role.schema.to_string(),
        ]
    };
    // The store sorts names by their length. People want them in the order in which a thread visits them.
    let nodes = workflow.nodes_in_order();
    let places: HashMap<&str, usize> = nodes.iter().map(|node| node.as_str()).zip(0..).collect();
    let mut roles: Vec<_> = workflow.roles.iter().collect();
    roles.sort_by_key(|(name, _)| places.get(name.as_str()).copied().unwrap_or(usize::MAX));
    let roles = roles.into_iter().map(role).collect();
    parts.push(fitted(&["ROLE", "DESCRIPTION", "SCHEMA"], roles, 1, page));
    let mut edges = Vec::new();
    for node in nodes {
        let ways = workflow.graph.get(node);
        edges.extend(ways.map(|ways| edge_rows(node, ways)).into_iter().flatten());
    }
    parts.push(fitted(&["FROM", "WHEN", "TO", "PROMPT"], edges, 3, page));
    if !workflow.conditions.is_empty() {
        let row = |(name, condition): (&String, &Condition)| {
            vec![name.clone(), condition.expression.clone()]
        };
        let conditions = workflow.conditions.iter().map(row).collect();
        parts.push(table(&["CONDITION", "EXPRESSION"], conditions));
    }
    let limits = limit_rows(workflow);
    if !limits.is_empty() {
        parts.push(table(&["LIMIT", "VALUE"], limits));
    }
    let workspace = workflow.workspace.map(WorkspaceMode::as_str);
    parts.extend(workspace.map(|mode| format!("workspace: {mode}")));
    parts.push("`--format yaml` shows everything".to_owned());
    parts.join("\n\n")
}

fn limit_rows<S>(workflow: &Workflow<S>) -> Vec<Vec<String>> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let limits = workflow.limits_by_name().into_iter();
    limits.map(|(key, value)| vec![key, text(&value)]).collect()
}

fn edge_rows(node: &NodeName, ways: &Edges) -> Vec<Vec<String>> {
    let row = |when: &str, to: &Destination, prompt: &str| {
        let prompt = cut_line(prompt, PROMPT_SHOWN);
        vec![node.to_string(), when.to_owned(), to.to_string(), prompt]
    };
    match ways {
        Edges::ByStatus(targets) => targets
            .iter()
            .map(|(status, target)| row(status.as_str(), &target.to, &target.prompt))
            .collect(),
        Edges::InOrder(edges) => edges
            .iter()
            .map(|edge| {
                let when = edge.condition.as_deref().unwrap_or("-");
                row(when, &edge.to, edge.prompt.as_deref().unwrap_or_default())
            })
            .collect(),
    }
}
