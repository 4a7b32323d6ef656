//! Workflows.

use serde::Serialize;
use serde_json::Value;
use uwf_engine::{Registered, WorkflowItem, WorkflowView};
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow::Workflow;

use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::table;

/// A workflow that was registered.
#[derive(Serialize)]
pub(crate) struct RegisteredView {
    name: String,
    hash: CasRef,
}

impl From<Registered> for RegisteredView {
    fn from(registered: Registered) -> Self {
        Self {
            name: registered.name,
            hash: registered.hash,
        }
    }
}

impl Show for RegisteredView {
    fn text(&self) -> String {
        format!("{}  {}", self.hash, self.name)
    }
}

/// A workflow file in which nothing is wrong.
#[derive(Serialize)]
pub(crate) struct ValidView {
    name: String,
    valid: bool,
    roles: Vec<String>,
}

impl From<&Workflow<Value>> for ValidView {
    fn from(workflow: &Workflow<Value>) -> Self {
        Self {
            name: workflow.name.clone(),
            valid: true,
            roles: workflow.roles.keys().map(ToString::to_string).collect(),
        }
    }
}

impl Show for ValidView {
    fn text(&self) -> String {
        format!(
            "`{}` is valid; its roles are {}",
            self.name,
            self.roles.join(", ")
        )
    }
}

impl Show for Vec<WorkflowItem> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "no workflows; `uwf workflow put <file>` registers one".to_owned();
        }
        let row = |item: &WorkflowItem| {
            let hash = item
                .hash
                .map_or_else(|| "(local)".to_owned(), |hash| hash.to_string());
            vec![
                hash,
                item.name.clone(),
                item.path
                    .as_ref()
                    .map_or_else(String::new, |path| path.display().to_string()),
            ]
        };
        table(&self.iter().map(row).collect::<Vec<_>>())
    }
}

impl Show for WorkflowView {
    fn text(&self) -> String {
        document(&serde_json::to_value(self).unwrap_or_default())
    }
}
