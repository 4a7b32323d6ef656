//! The schemas of what only runs of pipelines need. They are put into a store with the first run.
//!
//! The store keeps neither the order of the members of JSON data nor how a number was written. So JSON data of a user, such as
//! a context or the output of a command, is kept as text.

use serde_json::{Value, json};

use super::children::parent;
use super::{integer, reference, start_node, string};

/// Returns the schema of [`PIPELINE`](super::PIPELINE).
#[must_use]
pub fn pipeline() -> Value {
    json!({
        "title": "uwf pipeline",
        "type": "object",
        "required": ["name", "program"],
        "additionalProperties": false,
        "properties": { "name": string(), "program": string() },
    })
}

/// Returns the schema of [`RUN`](super::RUN).
#[must_use]
pub fn run() -> Value {
    let only = json!({
        "type": "object",
        "required": ["step"],
        "properties": { "step": string(), "item": string(), "from": reference() },
    });
    json!({
        "title": "uwf run of a pipeline",
        "type": "object",
        "required": [
            "thread", "run_id", "timestamp_utc", "state_dir", "workflow_file", "workflow_checksum",
            "source", "context", "steering"
        ],
        "additionalProperties": false,
        "properties": {
            "thread": string(),
            "run_id": string(),
            "timestamp_utc": string(),
            "state_dir": string(),
            "workflow_file": string(),
            "workflow_checksum": string(),
            "source": reference(),
            "context": string(),
            "steering": { "type": "object" },
            "only": only,
        },
    })
}

/// Returns the schema of [`START_NODE_OF_RUN`](super::START_NODE_OF_RUN).
#[must_use]
pub fn start_node_of_run() -> Value {
    let mut schema = start_node();
    schema["properties"]["run"] = reference();
    schema["properties"]["parent"] = parent();
    schema["required"] = json!(["workflow", "prompt", "cwd", "run"]);
    schema
}

/// Returns the schema of [`RESULT`](super::RESULT).
#[must_use]
pub fn result() -> Value {
    json!({
        "title": "uwf result of a step of a pipeline",
        "type": "object",
        "required": ["status", "exit_code"],
        "properties": {
            "status": string(),
            "exit_code": integer(),
            "output": string(),
            "lines": { "type": "array", "items": string() },
            "json": string(),
        },
    })
}

/// Returns the schema of [`RESUME`](super::RESUME).
#[must_use]
pub fn resume() -> Value {
    let accepted = json!({
        "type": "object",
        "required": ["pipeline", "old_checksum", "new_checksum"],
        "properties": {
            "pipeline": reference(),
            "old_checksum": string(),
            "new_checksum": string(),
        },
    });
    json!({
        "title": "uwf resume of a run",
        "type": "object",
        "properties": { "accepted": accepted },
    })
}

/// Returns the schema of [`ARCHIVE`](super::ARCHIVE).
#[must_use]
pub fn archive() -> Value {
    json!({
        "title": "uwf archive of a run",
        "type": "object",
        "required": ["path"],
        "properties": { "path": string(), "error": string() },
    })
}
