//! Small worlds for the tests: workflows from JSON, and steps.

use indexmap::IndexMap;
use serde_json::{Value, json};
use uwf_moderator::condition::Question;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::{CasRef, RoleName, Status};
use uwf_protocol::limits::Limits;
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_protocol::policy::ContextPolicy;
use uwf_protocol::work::Work;
use uwf_protocol::workflow::{
    Condition, Destination, Edges, ListEdge, NodeName, Role, Target, Workflow,
};

/// Returns the workflow with these roles (name → schema), conditions (name → expression) and graph (as in
/// YAML).
pub(crate) fn workflow(roles: &Value, conditions: &Value, graph: &Value) -> Workflow<Value> {
    Workflow {
        name: "test".into(),
        description: String::new(),
        roles: entries(roles)
            .map(|(name, schema)| (role(name), role_with(schema)))
            .collect(),
        conditions: entries(conditions)
            .map(|(name, expression)| (name.to_owned(), condition(expression)))
            .collect(),
        graph: entries(graph)
            .map(|(name, edges)| (node(name), edges_from(edges)))
            .collect(),
        limits: Limits::default(),
        supervisor: None,
        context: ContextPolicy::default(),
        workspace: None,
    }
}

/// Returns a workflow of status maps whose roles answer with anything.
pub(crate) fn status_maps(graph: &Value) -> Workflow<Value> {
    let roles = entries(graph).filter(|(name, _)| *name != "$START");
    let roles = roles.map(|(name, _)| (name.to_owned(), json!({ "type": "object" })));
    workflow(&Value::Object(roles.collect()), &json!({}), graph)
}

pub(crate) fn role(name: &str) -> RoleName {
    name.parse().expect("a role name")
}

pub(crate) fn start() -> StartNode {
    StartNode {
        workflow: CasRef::from_u64(1),
        prompt: "fix the bug".into(),
        cwd: None,
        parent: None,
        run: None,
        check_files: Vec::new(),
    }
}

/// Returns where the graph leads; conditions are answered on the spot.
pub(crate) fn route<S>(
    workflow: &Workflow<S>,
    start: &StartNode,
    steps: &[StepContext],
) -> Result<Route, RouteError> {
    uwf_moderator::graph::route(workflow, start, steps, &mut Question::answer)
}

/// Returns a step of a role with this output.
pub(crate) fn step(name: &str, output: Value) -> StepContext {
    StepContext {
        hash: CasRef::from_u64(4),
        node: StepNode {
            start: CasRef::from_u64(2),
            prev: None,
            role: role(name),
            output: CasRef::from_u64(3),
            detail: CasRef::from_u64(5),
            agent: "uwf-mock".into(),
            edge_prompt: None,
            started_at_ms: None,
            completed_at_ms: None,
            cwd: None,
            assembled_prompt: None,
        },
        output,
    }
}

fn entries(map: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let map = map.as_object().expect("an object");
    map.iter().map(|(key, value)| (key.as_str(), value))
}

fn role_with(schema: &Value) -> Role<Value> {
    Role {
        description: String::new(),
        goal: String::new(),
        capabilities: Vec::new(),
        procedure: String::new(),
        output: String::new(),
        schema: schema.clone(),
        extract: None,
        checks: None,
        session: None,
        context: ContextPolicy::default(),
        work: Work::Agent,
    }
}

fn condition(expression: &Value) -> Condition {
    Condition {
        description: String::new(),
        expression: expression.as_str().expect("an expression").to_owned(),
    }
}

fn node(name: &str) -> NodeName {
    match name {
        "$START" => NodeName::Start,
        _ => NodeName::Role(role(name)),
    }
}

fn destination(edge: &Value) -> Destination {
    match edge["role"].as_str().expect("a target") {
        "$END" => Destination::End,
        "$SUSPEND" => Destination::Suspend,
        name => Destination::Role(role(name)),
    }
}

fn edges_from(edges: &Value) -> Edges {
    let text = |edge: &Value, key: &str| edge[key].as_str().map(str::to_owned);
    match edges {
        Value::Array(list) => Edges::InOrder(
            list.iter()
                .map(|edge| ListEdge {
                    to: destination(edge),
                    condition: text(edge, "condition"),
                    prompt: text(edge, "prompt"),
                    location: text(edge, "location"),
                })
                .collect(),
        ),
        map => Edges::ByStatus(
            entries(map)
                .map(|(status, edge)| {
                    let target = Target {
                        to: destination(edge),
                        prompt: text(edge, "prompt").unwrap_or_default(),
                        location: text(edge, "location"),
                    };
                    (Status::new(status), target)
                })
                .collect::<IndexMap<_, _>>(),
        ),
    }
}
