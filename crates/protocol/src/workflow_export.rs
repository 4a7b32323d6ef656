//! Writes a workflow as the YAML of a workflow file. The order of roles, nodes and statuses was lost in the store, so
//! roles and nodes come in the order in which a thread visits them.

use std::convert::Infallible;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::ids::{CasRef, RoleName};
use crate::policy::{ContextPolicy, SessionPolicy};
use crate::work::Work;
use crate::workflow::{Edges, ListEdge, NodeName, Role, Target, Workflow};
use crate::workflow_stored::work as stored_work;

/// Returns the title that a role's schema gets in the store if its file gives it none.
#[must_use]
pub fn usual_title(workflow: &str, role: &RoleName) -> String {
    format!("{workflow}.{role}")
}

/// Returns a stored workflow with these schemas as it may stand in a file: without the titles that the store adds.
#[must_use]
pub fn with_schemas(
    stored: &Workflow<CasRef>,
    schemas: &IndexMap<RoleName, Value>,
) -> Workflow<Value> {
    let role = |(name, role): (&RoleName, &Role)| {
        let role = Role {
            description: role.description.clone(),
            goal: role.goal.clone(),
            capabilities: role.capabilities.clone(),
            procedure: role.procedure.clone(),
            output: role.output.clone(),
            schema: schemas.get(name).cloned().unwrap_or_default(),
            extract: role.extract,
            checks: role.checks.clone(),
            session: role.session,
            context: role.context,
            work: as_written(&role.work),
        };
        (name.clone(), role)
    };
    without_titles(Workflow {
        name: stored.name.clone(),
        description: stored.description.clone(),
        roles: stored.roles.iter().map(role).collect(),
        conditions: stored.conditions.clone(),
        graph: stored.graph.clone(),
        limits: stored.limits.clone(),
        supervisor: stored.supervisor.clone(),
        context: stored.context,
        workspace: stored.workspace,
    })
}

/// Returns the work with the hashes of other workflows as texts.
fn as_written(work: &Work) -> Work<Value> {
    let written: Result<_, Infallible> = work.try_map(|workflow| Ok(json!(workflow)));
    match written {
        Ok(work) => work,
        Err(never) => match never {},
    }
}

/// Returns the workflow without the titles of schemas that the store would add again.
#[must_use]
pub fn without_titles(mut workflow: Workflow<Value>) -> Workflow<Value> {
    for (name, role) in &mut workflow.roles {
        let usual = usual_title(&workflow.name, name);
        if let Some(schema) = role.schema.as_object_mut()
            && schema.get("title").and_then(Value::as_str) == Some(&usual)
        {
            schema.shift_remove("title");
        }
    }
    workflow
}

/// Returns the content of a workflow file as data, with its keys in the order in which people write them.
#[must_use]
pub fn to_file(workflow: &Workflow<Value>) -> Value {
    let mut file = Map::new();
    file.insert("name".to_owned(), json!(workflow.name));
    insert_text(&mut file, "description", &workflow.description);
    if !workflow.limits.is_empty() {
        file.insert("limits".to_owned(), json!(workflow.limits));
    }
    if let Some(supervisor) = &workflow.supervisor {
        file.insert("supervisor".to_owned(), json!(supervisor));
    }
    insert_context(&mut file, workflow.context);
    if let Some(workspace) = workflow.workspace {
        file.insert("workspace".to_owned(), json!(workspace));
    }
    file.insert("roles".to_owned(), Value::Object(roles(workflow)));
    if !workflow.conditions.is_empty() {
        let conditions = workflow.conditions.iter().map(|(name, condition)| {
            let mut fields = Map::new();
            insert_text(&mut fields, "description", &condition.description);
            fields.insert("expression".to_owned(), json!(condition.expression));
            (name.clone(), Value::Object(fields))
        });
        file.insert("conditions".to_owned(), conditions.collect());
    }
    let nodes = workflow.nodes_in_order().into_iter();
    let graph = nodes.filter_map(|node| {
        let edges = workflow.graph.get(node)?;
        Some((node.to_string(), self::edges(edges)))
    });
    file.insert("graph".to_owned(), graph.collect());
    Value::Object(file)
}

/// Returns the text of a workflow file, with texts of several lines as blocks. A few texts cannot be blocks, and come back
/// changed.
#[must_use]
pub fn for_people(file: &Value) -> String {
    uwf_yaml::render_for_people(file)
}

/// Returns the text of a workflow file, with every text in quotes that needs them.
#[must_use]
pub fn exact(file: &Value) -> String {
    uwf_yaml::render(file)
}

/// Returns the roles in the order in which a thread visits them. Those that no edge leads to come last.
fn roles(workflow: &Workflow<Value>) -> Map<String, Value> {
    let visited = workflow.nodes_in_order().into_iter();
    let visited = visited.filter_map(|node| match node {
        NodeName::Start => None,
        NodeName::Role(role) => Some(role),
    });
    let mut roles = Map::new();
    for name in visited.chain(workflow.roles.keys()) {
        if let Some(role) = workflow.roles.get(name) {
            roles
                .entry(name.to_string())
                .or_insert_with(|| role_fields(role));
        }
    }
    roles
}

fn role_fields(role: &Role<Value>) -> Value {
    let mut fields = Map::new();
    insert_text(&mut fields, "description", &role.description);
    fields.insert("goal".to_owned(), json!(role.goal));
    if !role.capabilities.is_empty() {
        fields.insert("capabilities".to_owned(), json!(role.capabilities));
    }
    insert_text(&mut fields, "procedure", &role.procedure);
    insert_text(&mut fields, "output", &role.output);
    if let Some(extract) = role.extract {
        fields.insert("extract".to_owned(), json!(extract.as_str()));
    }
    if let Some(checks) = &role.checks {
        fields.insert("checks".to_owned(), json!(checks));
    }
    insert(
        &mut fields,
        "session",
        role.session.map(SessionPolicy::as_str),
    );
    insert_context(&mut fields, role.context);
    fields.extend(stored_work::write(&role.work));
    // The schema of branches cannot be chosen.
    if !matches!(role.work, Work::Branches(_)) {
        fields.insert("frontmatter".to_owned(), role.schema.clone());
    }
    Value::Object(fields)
}

fn edges(edges: &Edges) -> Value {
    match edges {
        Edges::ByStatus(targets) => {
            let targets = targets.iter();
            let target = targets.map(|(status, target)| (status.to_string(), self::target(target)));
            Value::Object(target.collect())
        }
        Edges::InOrder(edges) => edges.iter().map(list_edge).collect(),
    }
}

fn target(target: &Target) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(target.to.as_str()));
    insert_text(&mut fields, "prompt", &target.prompt);
    insert(&mut fields, "location", target.location.as_deref());
    Value::Object(fields)
}

fn list_edge(edge: &ListEdge) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(edge.to.as_str()));
    insert(&mut fields, "condition", edge.condition.as_deref());
    insert(&mut fields, "prompt", edge.prompt.as_deref());
    insert(&mut fields, "location", edge.location.as_deref());
    Value::Object(fields)
}

fn insert_context(fields: &mut Map<String, Value>, context: ContextPolicy) {
    if !context.is_empty() {
        fields.insert("context".to_owned(), json!(context));
    }
}

/// Adds a text, unless it is empty: then it need not stand in the file.
fn insert_text(fields: &mut Map<String, Value>, key: &str, text: &str) {
    insert(fields, key, Some(text).filter(|text| !text.is_empty()));
}

fn insert(fields: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), json!(value));
    }
}
