//! A stored workflow in full: its graph, its roles with their schemas, and the names that stand for it.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::Store;
use uwf_protocol::checks::line;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::program::Program;
use uwf_protocol::workflow::{Role, Workflow};
use uwf_storage::State;
use uwf_thread::read_program;

use crate::read::graph::{GraphView, graph_of};
use crate::read::workflow_text::export_workflow;
use crate::{EngineError, Site};

/// A stored workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredProgram {
    /// Its graph, with its hash, its name and what it is for.
    #[serde(flatten)]
    pub graph: GraphView,
    /// When it was first stored, in milliseconds since 1970.
    pub stored_at_ms: i64,
    /// The names of the registry that stand for it.
    pub registered_as: Vec<String>,
    /// How far a thread of it goes by itself, by the names of the limits.
    pub limits: IndexMap<String, Value>,
    /// Its roles, in the order in which a thread reaches them; none of a pipeline.
    pub roles: Vec<StoredRole>,
    /// Its conditions and their expressions.
    pub conditions: IndexMap<String, String>,
    /// The text of a file with the same content; of a pipeline, its data.
    pub source: Option<String>,
}

/// A role of a stored workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredRole {
    /// Its name.
    pub name: RoleName,
    /// What it is for.
    pub description: String,
    /// Who the agent is, and what it is to achieve.
    pub goal: String,
    /// Skills that the agent should bring.
    pub capabilities: Vec<String>,
    /// How the work is done.
    pub procedure: String,
    /// What the answer must contain.
    pub output: String,
    /// The schema of the data of an answer, if it can be read.
    pub schema: Option<Value>,
    /// The commands that must succeed before an answer counts.
    pub checks: Vec<String>,
    /// The workflows that play it.
    pub played_by: Vec<CasRef>,
}

/// Returns a stored workflow in full.
///
/// # Errors
/// When the node is not in the store, or is no workflow.
pub fn stored_program(site: &Site, hash: CasRef) -> Result<StoredProgram, EngineError> {
    let store = &site.store;
    let node = store.get(hash)?;
    let program = read_program(store, hash)?;
    let registered = State::new(&site.root).workflows()?.into_iter();
    let names = registered.filter(|(_, known)| *known == hash);
    let (roles, conditions, limits) = match &program {
        Program::Graph(workflow) => (
            roles(store, workflow),
            conditions(workflow),
            workflow.limits_by_name(),
        ),
        Program::Pipeline(_) => (Vec::new(), IndexMap::new(), IndexMap::new()),
    };
    let graph = graph_of(store, hash, &program);
    let source = match &program {
        Program::Graph(_) => export_workflow(site, hash.as_str())
            .ok()
            .map(|found| found.text),
        Program::Pipeline(_) => Some(format!("{:#}", node.payload)),
    };
    Ok(StoredProgram {
        roles: in_order(roles, &graph),
        graph,
        stored_at_ms: node.timestamp_ms,
        registered_as: names.map(|(name, _)| name).collect(),
        limits,
        conditions,
        source,
    })
}

/// Sorts roles as the graph has them. The store does not keep the order of the file.
fn in_order(mut roles: Vec<StoredRole>, graph: &GraphView) -> Vec<StoredRole> {
    let place = |role: &StoredRole| {
        let mut nodes = graph.nodes.iter();
        nodes.position(|node| node.name == role.name.as_str())
    };
    roles.sort_by_key(|role| place(role).unwrap_or(usize::MAX));
    roles
}

fn roles(store: &Store, workflow: &Workflow) -> Vec<StoredRole> {
    let role = |(name, role): (&RoleName, &Role)| StoredRole {
        name: name.clone(),
        description: role.description.clone(),
        goal: role.goal.clone(),
        capabilities: role.capabilities.clone(),
        procedure: role.procedure.clone(),
        output: role.output.clone(),
        schema: store
            .find(role.schema)
            .ok()
            .flatten()
            .map(|node| node.payload),
        checks: role
            .checks
            .iter()
            .flat_map(|checks| &checks.run)
            .map(|check| line(&check.command))
            .collect(),
        played_by: role.work.workflows().into_iter().copied().collect(),
    };
    workflow.roles.iter().map(role).collect()
}

fn conditions(workflow: &Workflow) -> IndexMap<String, String> {
    let conditions = workflow.conditions.iter();
    conditions
        .map(|(name, condition)| (name.clone(), condition.expression.clone()))
        .collect()
}
