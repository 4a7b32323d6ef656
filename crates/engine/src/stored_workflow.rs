//! A stored workflow in full: with the schemas of its roles.

use indexmap::IndexMap;
use serde_json::Value;
use uwf_protocol::ids::CasRef;
use uwf_protocol::program::Program;
use uwf_protocol::workflow::Workflow;
use uwf_protocol::workflow_export;
use uwf_thread::read_program;

use crate::pipelines::error::PipelineError;
use crate::{EngineError, Site};

/// Returns what a workflow calls itself, if it is here and can be read.
#[must_use]
pub fn workflow_name(site: &Site, hash: CasRef) -> Option<String> {
    let program = read_program(&site.store, hash).ok()?;
    Some(program.name().to_owned())
}

/// Returns what a workflow says that it is for, if it is here and can be read.
#[must_use]
pub fn workflow_description(site: &Site, hash: CasRef) -> Option<String> {
    match read_program(&site.store, hash).ok()? {
        Program::Graph(workflow) => Some(workflow.description),
        Program::Pipeline(pipeline) => pipeline.description.clone(),
    }
}

/// Reads a workflow of roles.
///
/// # Errors
/// When the node is something else, or cannot be read.
pub(crate) fn read_graph(site: &Site, hash: CasRef) -> Result<Workflow, EngineError> {
    match read_program(&site.store, hash)? {
        Program::Graph(workflow) => Ok(workflow),
        Program::Pipeline(_) => Err(PipelineError::NoGraph(hash).into()),
    }
}

/// Reads a workflow as it may stand in a file.
pub(crate) fn with_schemas(site: &Site, hash: CasRef) -> Result<Workflow<Value>, EngineError> {
    let workflow = read_graph(site, hash)?;
    let mut schemas = IndexMap::new();
    for (name, role) in &workflow.roles {
        schemas.insert(name.clone(), site.store.need(role.schema)?.payload);
    }
    Ok(workflow_export::with_schemas(&workflow, &schemas))
}
