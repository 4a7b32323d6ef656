//! A workflow as the text of a workflow file.

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow::Workflow;
use uwf_protocol::workflow_export;

use super::workflow_source;
use crate::register::{self, Children};
use crate::{EngineError, Site};

/// A workflow as a file.
#[derive(Debug, Clone)]
pub struct WorkflowText {
    /// Its name, which the file must have, too.
    pub name: String,
    /// The workflow that was written out.
    pub hash: CasRef,
    /// The content of the file.
    pub text: String,
    /// The content as data.
    pub data: Value,
    /// What the file gives when it is registered, if that is not the same workflow.
    pub differs: Option<Difference>,
    /// Whether it names the workflows that play its roles by their hashes, which another root does not know.
    pub plays_by_hash: bool,
}

/// Why a file does not give back the workflow that it was written from. Other programs store workflows that `uwf` would
/// store in another form, or refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// It is stored as this node.
    Hash(CasRef),
    /// It has mistakes.
    Refused,
}

/// Returns a workflow, found as `start` does, as the text of a file. Includes are written out.
///
/// # Errors
/// When there is no such workflow, it cannot be read, or its file has errors: then with all of them.
pub fn export_workflow(site: &Site, text: &str) -> Result<WorkflowText, EngineError> {
    let source = workflow_source::find(site, text)?;
    let plays_by_hash = source.file.is_none() && !plays(&source.workflow).is_empty();
    let written = written(site, &source.workflow, source.hash, &source.children)?;
    Ok(WorkflowText {
        plays_by_hash,
        ..written
    })
}

/// Returns the words of a workflow that name others.
pub(super) fn plays(workflow: &Workflow<Value>) -> Vec<&str> {
    let words = workflow
        .roles
        .values()
        .flat_map(|role| role.work.workflows());
    words.filter_map(Value::as_str).collect()
}

/// Returns a workflow as the text of a file. `children` are the workflows that it names, except by their hashes.
pub(super) fn written(
    site: &Site,
    workflow: &Workflow<Value>,
    hash: CasRef,
    children: &Children,
) -> Result<WorkflowText, EngineError> {
    let data = workflow_export::to_file(workflow);
    // Blocks are for people, but not every text can be a block. Quotes are exact.
    let mut text = workflow_export::for_people(&data);
    let mut differs = difference(site, &text, hash, children)?;
    // A text that ends in blanks may lose them where it is printed.
    let ends_in_blanks = text.strip_suffix('\n') != Some(text.trim_end());
    if differs.is_some() || ends_in_blanks {
        text = workflow_export::exact(&data);
        differs = difference(site, &text, hash, children)?;
    }
    Ok(WorkflowText {
        name: workflow.name.clone(),
        hash,
        text,
        data,
        differs,
        plays_by_hash: false,
    })
}

/// Returns what a text gives if it is not the workflow with this hash.
fn difference(
    site: &Site,
    text: &str,
    hash: CasRef,
    children: &Children,
) -> Result<Option<Difference>, EngineError> {
    match register::check_text_with(site, text.to_owned(), children.clone()) {
        Ok(checked) => {
            let found = register::hash_of(site, checked)?;
            Ok((found != hash).then_some(Difference::Hash(found)))
        }
        Err(EngineError::Workflow(_)) => Ok(Some(Difference::Refused)),
        Err(error) => Err(error),
    }
}
