//! How many levels of child threads workflows need, and whether the config allows that.

use std::collections::HashMap;
use std::convert::Infallible;

use serde_json::Value;
use uwf_moderator::levels;
use uwf_pipeline::Pipeline;
use uwf_protocol::ids::CasRef;
use uwf_protocol::program::Program;
use uwf_protocol::workflow::{Problem, Workflow};
use uwf_thread::read_program;

use super::Children;
use crate::limits::config_for_views;
use crate::stored_workflow::read_graph;
use crate::{EngineError, Site, WorkflowUseError};

/// Fails if a thread of a stored workflow would have children with too many threads above them.
pub(crate) fn refuse_depth(site: &Site, hash: CasRef) -> Result<(), EngineError> {
    let depth = of_stored(site, hash)?;
    let most = most(site);
    if depth <= most {
        return Ok(());
    }
    let workflow = read_graph(site, hash)?;
    let too_deep = WorkflowUseError::TooDeep {
        workflow: workflow.name,
        depth,
        most,
    };
    Err(too_deep.into())
}

/// Returns warnings about the roles of a file that need more levels than the config allows.
pub(super) fn warnings(
    site: &Site,
    workflow: &Workflow<Value>,
    children: &Children,
) -> Vec<Problem> {
    let most = most(site);
    let roles = of_roles(workflow, children).into_iter();
    let too_deep = roles.filter(|(_, levels)| *levels > most);
    let warning = |(role, depth): (String, u64)| {
        let message = format!(
            "`{role}` needs a child thread with {depth} threads above it, and `maxDepth` in the config allows {most}: no thread of the workflow can be started"
        );
        Problem::warning(&["roles", &role], message)
    };
    too_deep.map(warning).collect()
}

/// Returns how many levels a workflow of a file needs.
pub(super) fn of_file(workflow: &Workflow<Value>, children: &Children) -> u64 {
    let roles = of_roles(workflow, children).into_iter();
    roles.map(|(_, levels)| levels).max().unwrap_or_default()
}

fn of_roles(workflow: &Workflow<Value>, children: &Children) -> Vec<(String, u64)> {
    let mut of_child = |word: &Value| -> Result<u64, Infallible> {
        let child = word.as_str().and_then(|word| children.get(word));
        Ok(child.map_or(0, |child| child.levels))
    };
    let found = match levels(workflow, &mut of_child) {
        Ok(found) => found,
        Err(never) => match never {},
    };
    let found = found.into_iter();
    found
        .map(|(role, levels)| (role.to_string(), levels))
        .collect()
}

/// Returns how many levels a pipeline needs at least: its steps find their workflows when they are done.
pub(super) fn of_pipeline(pipeline: &Pipeline) -> u64 {
    u64::from(pipeline.starts_workflows())
}

/// Returns how many levels a stored workflow needs.
pub(super) fn of_stored(site: &Site, hash: CasRef) -> Result<u64, EngineError> {
    known_or_read(site, hash, &mut HashMap::new())
}

fn known_or_read(
    site: &Site,
    hash: CasRef,
    known: &mut HashMap<CasRef, u64>,
) -> Result<u64, EngineError> {
    if let Some(known) = known.get(&hash) {
        return Ok(*known);
    }
    let workflow = match read_program(&site.store, hash)? {
        Program::Graph(workflow) => workflow,
        Program::Pipeline(pipeline) => return Ok(of_pipeline(&pipeline)),
    };
    let found = levels(&workflow, &mut |child| known_or_read(site, *child, known))?;
    let deepest = found.into_values().max().unwrap_or_default();
    known.insert(hash, deepest);
    Ok(deepest)
}

fn most(site: &Site) -> u64 {
    u64::from(config_for_views(site).depth_limit())
}
