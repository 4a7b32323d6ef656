//! A workflow as the text of a workflow file.

use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::workflow_export;

use super::workflow_source::{self, WorkflowSource};
use crate::{EngineError, Site, register};

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
    let WorkflowSource { workflow, hash, .. } = workflow_source::find(site, text)?;
    let data = workflow_export::to_file(&workflow);
    // Blocks are for people, but not every text can be a block. Quotes are exact.
    let mut text = workflow_export::for_people(&data);
    let mut differs = difference(site, &text, hash)?;
    // A text that ends in blanks may lose them where it is printed.
    let ends_in_blanks = text.strip_suffix('\n') != Some(text.trim_end());
    if differs.is_some() || ends_in_blanks {
        text = workflow_export::exact(&data);
        differs = difference(site, &text, hash)?;
    }
    Ok(WorkflowText {
        name: workflow.name,
        hash,
        text,
        data,
        differs,
    })
}

/// Returns what a text gives if it is not the workflow with this hash.
fn difference(site: &Site, text: &str, hash: CasRef) -> Result<Option<Difference>, EngineError> {
    match register::check_text(site, text.to_owned()) {
        Ok(checked) => {
            let found = register::hash_of(site, checked)?;
            Ok((found != hash).then_some(Difference::Hash(found)))
        }
        Err(EngineError::Workflow(_)) => Ok(Some(Difference::Refused)),
        Err(error) => Err(error),
    }
}
