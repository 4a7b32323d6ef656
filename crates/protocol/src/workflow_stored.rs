//! How a workflow is written in the store. There are five forms, each with a type of its own:
//!
//! 1. A workflow of status maps alone is stored exactly as the reference program stores it, so that both get one hash.
//! 2. A workflow with conditions or lists of edges is stored in the form with list edges.
//! 3. A workflow with more, such as limits, is stored in the second form with the options added.
//! 4. A workflow with a supervisor, or with a role that is played by other threads, is stored in the third form with the
//!    supervisor and the work of such roles added.
//! 5. A workflow with a role that has checks, or that says which session its agent gets, how much history prompts show or where
//!    agents work, is stored in the fourth form with that added.
//!
//! The store sorts the keys of a payload. So the order of roles, nodes and statuses is lost, and nothing may depend on it.

#[cfg(test)]
mod tests;
pub(crate) mod work;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::checks::Checks;
use crate::ids::{CasRef, IdError, RoleName, Status};
use crate::limits::Limits;
use crate::policy::{ContextPolicy, ExtractPolicy, SessionPolicy};
use crate::schemas;
use crate::work::Work;
use crate::workflow::{
    Condition, Destination, Edges, ListEdge, NodeName, Role, Target, Workflow, WorkflowSupervisor,
    reserved,
};
use crate::workspace::WorkspaceMode;
use work::StoredWork;

/// Why a node of the store cannot be read as a workflow.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The node has another type. Its payload was not read.
    #[error("a node of type `{0}` is not a workflow")]
    Type(CasRef),
    /// The payload is not what its type promises.
    #[error("the stored workflow is malformed")]
    Payload(#[from] serde_json::Error),
    /// The payload has a name that cannot be a role's.
    #[error("the stored workflow has an impossible role")]
    Role(#[from] IdError),
    /// The payload does not say who does the work of a role.
    #[error("the stored workflow does not say who does the work of `{0}`")]
    Work(RoleName),
}

/// Returns the type and the payload of the node that holds the workflow.
#[must_use]
pub fn to_payload(workflow: &Workflow<CasRef>) -> (CasRef, Value) {
    let has_list = |edges: &Edges| matches!(edges, Edges::InOrder(_));
    let has_conditions = !workflow.conditions.is_empty() || workflow.graph.values().any(has_list);
    let has_options = has_options(workflow);
    let has_children = workflow.roles.values().any(|role| role.work != Work::Agent);
    let is_unattended = is_unattended(workflow);
    let is_newest = has_children || workflow.supervisor.is_some() || is_unattended;
    if !has_conditions && !has_options && !is_newest {
        return (schemas::WORKFLOW, payload(workflow, "frontmatter"));
    }
    let mut payload = payload(workflow, "meta");
    payload["conditions"] = object(
        &workflow.conditions,
        |condition| json!({ "description": condition.description, "expression": condition.expression }),
    );
    if !has_options && !is_newest {
        return (schemas::WORKFLOW_WITH_CONDITIONS, payload);
    }
    payload["limits"] =
        serde_json::to_value(&workflow.limits).expect("limits are plain data with text for keys");
    if let Some(supervisor) = &workflow.supervisor {
        payload["supervisor"] = json!(supervisor);
    }
    if !workflow.context.is_empty() {
        payload["context"] = json!(workflow.context);
    }
    if let Some(workspace) = workflow.workspace {
        payload["workspace"] = json!(workspace);
    }
    let type_hash = match (is_unattended, is_newest) {
        (true, _) => schemas::WORKFLOW_UNATTENDED,
        (false, true) => schemas::WORKFLOW_WITH_CHILDREN,
        (false, false) => schemas::WORKFLOW_WITH_OPTIONS,
    };
    (type_hash, payload)
}

/// Tells whether the workflow has options that only the third form can store.
fn has_options(workflow: &Workflow<CasRef>) -> bool {
    let has_option = |role: &Role<CasRef>| role.extract.is_some();
    !workflow.limits.is_empty() || workflow.roles.values().any(has_option)
}

/// Tells whether the workflow says something that only the fifth form can store.
fn is_unattended(workflow: &Workflow<CasRef>) -> bool {
    let says = |role: &Role<CasRef>| {
        role.checks.is_some() || role.session.is_some() || !role.context.is_empty()
    };
    workflow.workspace.is_some()
        || !workflow.context.is_empty()
        || workflow.roles.values().any(says)
}

/// Returns the workflow that a node holds, given the node's type.
///
/// # Errors
/// [`StoredError`] if the type is not a type of workflows, or the payload does not have its shape.
pub fn from_payload(type_hash: CasRef, payload: &Value) -> Result<Workflow<CasRef>, StoredError> {
    if !schemas::WORKFLOWS.contains(&type_hash) {
        return Err(StoredError::Type(type_hash));
    }
    let stored = StoredWorkflow::deserialize(payload)?;
    let mut graph = IndexMap::new();
    for (name, edges) in &stored.graph {
        graph.insert(node_name(name)?, read_edges(edges)?);
    }
    let roles = stored.roles.into_iter().map(|(name, role)| {
        let role = role.read(&name)?;
        Ok((name, role))
    });
    let conditions = stored.conditions.into_iter();
    Ok(Workflow {
        name: stored.name,
        description: stored.description,
        roles: roles.collect::<Result<_, StoredError>>()?,
        conditions: conditions
            .map(|(name, condition)| (name, condition.into()))
            .collect(),
        graph,
        limits: stored.limits,
        supervisor: stored.supervisor,
        context: stored.context,
        workspace: stored.workspace,
    })
}

fn payload(workflow: &Workflow<CasRef>, schema_key: &str) -> Value {
    let role = |role: &Role<CasRef>| {
        let mut payload = json!({
            "description": role.description,
            "goal": role.goal,
            "capabilities": role.capabilities,
            "procedure": role.procedure,
            "output": role.output,
            schema_key: role.schema,
        });
        if let Some(extract) = role.extract {
            payload["extract"] = extract.as_str().into();
        }
        if let Some(checks) = &role.checks {
            payload["checks"] = json!(checks);
        }
        if let Some(session) = role.session {
            payload["session"] = session.as_str().into();
        }
        if !role.context.is_empty() {
            payload["context"] = json!(role.context);
        }
        if let Some(fields) = payload.as_object_mut() {
            fields.extend(work::write(&role.work));
        }
        payload
    };
    json!({
        "name": workflow.name,
        "description": workflow.description,
        "roles": object(&workflow.roles, role),
        "graph": object(&workflow.graph, write_edges),
    })
}

fn object<K: ToString, V>(map: &IndexMap<K, V>, write: impl Fn(&V) -> Value) -> Value {
    let members = map
        .iter()
        .map(|(key, value)| (key.to_string(), write(value)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn write_edges(edges: &Edges) -> Value {
    match edges {
        Edges::ByStatus(targets) => object(targets, |target| {
            json!({
                "role": target.to.as_str(),
                "prompt": target.prompt,
                "location": target.location,
            })
        }),
        Edges::InOrder(edges) => edges.iter().map(write_list_edge).collect(),
    }
}

/// List edges have a role and a condition; a prompt and a location are there only if they were given.
fn write_list_edge(edge: &ListEdge) -> Value {
    let mut payload = json!({ "role": edge.to.as_str(), "condition": edge.condition });
    if let Some(prompt) = &edge.prompt {
        payload["prompt"] = prompt.as_str().into();
    }
    if let Some(location) = &edge.location {
        payload["location"] = location.as_str().into();
    }
    payload
}

#[derive(Deserialize)]
struct StoredWorkflow {
    name: String,
    description: String,
    roles: IndexMap<RoleName, StoredRole>,
    #[serde(default)]
    conditions: IndexMap<String, StoredCondition>,
    graph: IndexMap<String, Value>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    supervisor: Option<WorkflowSupervisor>,
    #[serde(default)]
    context: ContextPolicy,
    #[serde(default)]
    workspace: Option<WorkspaceMode>,
}

#[derive(Deserialize)]
struct StoredRole {
    description: String,
    goal: String,
    capabilities: Vec<String>,
    procedure: String,
    output: String,
    #[serde(alias = "meta")]
    frontmatter: CasRef,
    extract: Option<ExtractPolicy>,
    checks: Option<Checks>,
    session: Option<SessionPolicy>,
    #[serde(default)]
    context: ContextPolicy,
    #[serde(flatten)]
    work: StoredWork,
}

#[derive(Deserialize)]
struct StoredCondition {
    description: String,
    expression: String,
}

#[derive(Deserialize)]
struct StoredTarget {
    role: String,
    prompt: String,
    location: Option<String>,
}

#[derive(Deserialize)]
struct StoredListEdge {
    role: String,
    condition: Option<String>,
    prompt: Option<String>,
    location: Option<String>,
}

impl StoredRole {
    fn read(self, name: &RoleName) -> Result<Role<CasRef>, StoredError> {
        let work = self.work.read();
        Ok(Role {
            description: self.description,
            goal: self.goal,
            capabilities: self.capabilities,
            procedure: self.procedure,
            output: self.output,
            schema: self.frontmatter,
            extract: self.extract,
            checks: self.checks,
            session: self.session,
            context: self.context,
            work: work.ok_or_else(|| StoredError::Work(name.clone()))?,
        })
    }
}

impl From<StoredCondition> for Condition {
    fn from(stored: StoredCondition) -> Self {
        Self {
            description: stored.description,
            expression: stored.expression,
        }
    }
}

fn read_edges(edges: &Value) -> Result<Edges, StoredError> {
    if edges.is_array() {
        let edges = Vec::<StoredListEdge>::deserialize(edges)?.into_iter();
        return Ok(Edges::InOrder(
            edges.map(list_edge).collect::<Result<_, _>>()?,
        ));
    }
    let targets = IndexMap::<Status, StoredTarget>::deserialize(edges)?.into_iter();
    let targets = targets.map(|(status, stored)| Ok((status, target(stored)?)));
    Ok(Edges::ByStatus(targets.collect::<Result<_, IdError>>()?))
}

fn target(stored: StoredTarget) -> Result<Target, IdError> {
    Ok(Target {
        to: destination(&stored.role)?,
        prompt: stored.prompt,
        location: stored.location,
    })
}

fn list_edge(stored: StoredListEdge) -> Result<ListEdge, IdError> {
    Ok(ListEdge {
        to: destination(&stored.role)?,
        condition: stored.condition,
        prompt: stored.prompt,
        location: stored.location,
    })
}

fn node_name(text: &str) -> Result<NodeName, IdError> {
    match text {
        reserved::START => Ok(NodeName::Start),
        _ => text.parse().map(NodeName::Role),
    }
}

fn destination(text: &str) -> Result<Destination, IdError> {
    match text {
        reserved::END => Ok(Destination::End),
        reserved::SUSPEND => Ok(Destination::Suspend),
        _ => text.parse().map(Destination::Role),
    }
}
