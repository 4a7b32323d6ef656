//! The schemas of what only workflows with child threads need. Each is put into a store with the first node of its type.

use serde_json::{Value, json};

use super::{integer, reference, start_node, string, workflow_with_options};

/// Returns the schema of [`WORKFLOW_WITH_CHILDREN`](super::WORKFLOW_WITH_CHILDREN).
#[must_use]
pub fn workflow_with_children() -> Value {
    let player = json!({ "workflow": reference(), "role": string() });
    let mut branch = player.clone();
    branch["prompt"] = string();
    let mut work = player;
    work["returns"] = string();
    work["each"] = json!({ "anyOf": [string(), { "type": "array" }] });
    work["branches"] = json!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": false,
            "properties": branch,
        },
    });
    work["join"] = json!({ "anyOf": [integer(), { "type": "string", "enum": ["all", "any"] }] });
    work["max"] = integer();
    let mut schema = workflow_with_options();
    let role = &mut schema["properties"]["roles"]["additionalProperties"]["properties"];
    if let (Some(role), Value::Object(work)) = (role.as_object_mut(), work) {
        role.extend(work);
    }
    schema["properties"]["supervisor"] = json!({
        "type": "object",
        "required": ["every"],
        "additionalProperties": false,
        "properties": { "every": integer(), "model": string() },
    });
    schema
}

/// Returns the schema of [`WORKFLOW_UNATTENDED`](super::WORKFLOW_UNATTENDED).
#[must_use]
pub fn workflow_unattended() -> Value {
    let texts = json!({ "type": "array", "items": string() });
    let check = json!({
        "type": "object",
        "required": ["name", "command"],
        "additionalProperties": false,
        "properties": { "name": string(), "command": texts, "timeout": string(), "files": texts },
    });
    let context = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "maxChars": integer(),
            "older": { "type": "string", "enum": ["drop", "summary"] },
        },
    });
    let mut schema = workflow_with_children();
    schema["properties"]["context"] = context.clone();
    let role = &mut schema["properties"]["roles"]["additionalProperties"]["properties"];
    role["session"] = json!({ "type": "string", "enum": ["keep", "fresh"] });
    role["context"] = context;
    role["checks"] = json!({
        "type": "object",
        "required": ["run", "attempts"],
        "additionalProperties": false,
        "properties": { "run": { "type": "array", "items": check }, "attempts": integer() },
    });
    schema["properties"]["workspace"] = json!({ "type": "string", "enum": ["worktree", "shared"] });
    schema
}

/// Returns the schema of [`START_NODE_WITH_FILES`](super::START_NODE_WITH_FILES).
#[must_use]
pub fn start_node_with_files() -> Value {
    let mut schema = start_node_of_child();
    let file = json!({
        "type": "object",
        "required": ["path", "sha256"],
        "additionalProperties": false,
        "properties": { "path": string(), "sha256": string() },
    });
    schema["properties"]["checkFiles"] = json!({ "type": "array", "items": file });
    schema["required"] = json!(["workflow", "prompt", "cwd", "checkFiles"]);
    schema
}

/// Returns the schema of [`START_NODE_OF_CHILD`](super::START_NODE_OF_CHILD).
#[must_use]
pub fn start_node_of_child() -> Value {
    let mut schema = start_node();
    schema["properties"]["parent"] = parent();
    schema["required"] = json!(["workflow", "prompt", "cwd", "parent"]);
    schema
}

/// Returns the schema of what ties a child to its parent.
pub(super) fn parent() -> Value {
    json!({
        "type": "object",
        "required": ["thread", "head", "role", "key", "depth"],
        "additionalProperties": false,
        "properties": {
            "thread": string(),
            "head": reference(),
            "role": string(),
            "key": string(),
            "depth": integer(),
            "try": integer(),
        },
    })
}

/// Returns the schema of a child thread whose work is part of a step.
pub(super) fn ended_child() -> Value {
    json!({
        "type": "object",
        "required": ["key", "thread", "head", "status", "steps"],
        "additionalProperties": false,
        "properties": {
            "key": string(),
            "thread": string(),
            "head": reference(),
            "status": string(),
            "steps": integer(),
        },
    })
}
