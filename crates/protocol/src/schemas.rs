//! The JSON Schemas of our own nodes, as data, and the hashes that they have in every store.
//!
//! The schemas of workflow, start and step are those of the reference program, byte for byte: a change of
//! one is a new schema under a new hash, never an edit.

mod children;
mod costs;
mod details;
mod runs;

use serde_json::{Value, json};
use uwf_schema::Violation;

use crate::ids::CasRef;
pub use children::{
    start_node_of_child, start_node_with_files, workflow_unattended, workflow_with_children,
};
pub use costs::{CostKind, DETAILS_OF_CHILDREN, SUMMARIES, VERDICTS, VISITS};
pub use details::{DETAIL, DETAIL_EXTENDED, DETAILS, DetailField, detail_extended, is_detail};
pub use runs::{archive, pipeline, result, resume, run, start_node_of_run};

/// The schema of schemas, which types itself.
pub const META: CasRef = CasRef::from_digits(b"CTS5P6RD8HMCS");
/// `{type: string}`: text nodes.
pub const TEXT: CasRef = CasRef::from_digits(b"7VQ43ZSJTEWA7");
/// `{type: object}`: answers that only suspend.
pub const OBJECT: CasRef = CasRef::from_digits(b"944RT37WX1PQ5");
/// Workflows whose graph is a status map.
pub const WORKFLOW: CasRef = CasRef::from_digits(b"4EAEYQKFHTJ23");
/// Start nodes.
pub const START_NODE: CasRef = CasRef::from_digits(b"44P8EP6N3NXZ5");
/// Start nodes of child threads. The schema is put into a store with the first of them.
pub const START_NODE_OF_CHILD: CasRef = CasRef::from_digits(b"4E5KZ9M3WK3CG");
/// Start nodes of runs of pipelines. The schema is put into a store with the first of them, as are all that only runs have.
pub const START_NODE_OF_RUN: CasRef = CasRef::from_digits(b"8GAKMWYKN1ZR2");
/// Start nodes of threads, and of child threads, whose checks name files. The schema is put into a store with the first of
/// them.
pub const START_NODE_WITH_FILES: CasRef = CasRef::from_digits(b"6ZP69X7V3QA6P");
/// Every type under which starts are stored.
pub const START_NODES: [CasRef; 4] = [
    START_NODE,
    START_NODE_OF_CHILD,
    START_NODE_OF_RUN,
    START_NODE_WITH_FILES,
];
/// Pipelines.
pub const PIPELINE: CasRef = CasRef::from_digits(b"3ZTH51YPAQDRW");
/// What runs were made with.
pub const RUN: CasRef = CasRef::from_digits(b"ESSMM268KGWS8");
/// Results of the steps of pipelines.
pub const RESULT: CasRef = CasRef::from_digits(b"434PDVRN6SJJ6");
/// How runs were resumed.
pub const RESUME: CasRef = CasRef::from_digits(b"04HR5AC4DH1WF");
/// What came of the archives of runs.
pub const ARCHIVE: CasRef = CasRef::from_digits(b"7QT9G4RCEX43E");
/// Step nodes.
pub const STEP_NODE: CasRef = CasRef::from_digits(b"108DB063KRQWW");
/// Workflows in the form with `meta`, `conditions`, and list edges beside status maps.
pub const WORKFLOW_WITH_CONDITIONS: CasRef = CasRef::from_digits(b"153NFJJQAHQFM");
/// The same with `limits`, and with options of roles.
pub const WORKFLOW_WITH_OPTIONS: CasRef = CasRef::from_digits(b"7H093VPSMNGM7");
/// The same with roles that are played by other threads, and with a supervisor. The schema is put into a store with the
/// first such workflow.
pub const WORKFLOW_WITH_CHILDREN: CasRef = CasRef::from_digits(b"4DFGN02ENESZZ");
/// The same with what threads need that nobody watches, such as the checks of a role. The schema is put into a store with the
/// first such workflow.
pub const WORKFLOW_UNATTENDED: CasRef = CasRef::from_digits(b"9CA8BMCZ913VT");
/// Every type under which workflows are stored.
pub const WORKFLOWS: [CasRef; 5] = [
    WORKFLOW,
    WORKFLOW_WITH_CONDITIONS,
    WORKFLOW_WITH_OPTIONS,
    WORKFLOW_WITH_CHILDREN,
    WORKFLOW_UNATTENDED,
];
/// Outputs of steps whose checks failed. The schema is put into a store with the first of them.
pub const CHECKS_FAILED: CasRef = CasRef::from_digits(b"6XN5YZC0AVR7T");
/// Turn nodes of the agent kit.
pub const TURN: CasRef = CasRef::from_digits(b"30P0BVTVTXDMQ");
/// Turn nodes whose tool calls have ids, or that answer such a call. The schema is put into a store with the first such
/// node.
pub const TURN_WITH_IDS: CasRef = CasRef::from_digits(b"570ZA0S4DBX79");

/// A part of a byte string, as text in base64 with padding. Its schema comes into a store with the first of them.
pub const BYTES_PART: CasRef = CasRef::from_digits(b"78ZBMNB90D9K4");
/// Byte strings of any length: how long it is, and its parts in order. Its schema comes into a store with the first of
/// them.
pub const BYTES: CasRef = CasRef::from_digits(b"92ZN62FP3273R");

/// Returns every schema that a new store gets, children before the nodes that need them, with its hash.
#[must_use]
pub fn all() -> Vec<(CasRef, Value)> {
    vec![
        (TEXT, json!({ "type": "string" })),
        (WORKFLOW, workflow()),
        (WORKFLOW_WITH_CONDITIONS, workflow_with_conditions()),
        (WORKFLOW_WITH_OPTIONS, workflow_with_options()),
        (START_NODE, start_node()),
        (STEP_NODE, step_node()),
        (TURN, turn()),
        (DETAIL, DetailField::schema(&[])),
    ]
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn reference() -> Value {
    json!({ "type": "string", "format": "ocas_ref" })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the value becomes a part of the schema"
)]
fn nullable(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// Returns the schema of a role definition; the schema of the answer is called `frontmatter`, and `meta` in the form with list edges.
fn role(schema_key: &str) -> Value {
    let mut properties = json!({
        "description": string(),
        "goal": string(),
        "capabilities": { "type": "array", "items": string() },
        "procedure": string(),
        "output": string(),
    });
    properties[schema_key] = reference();
    json!({
        "type": "object",
        "required": ["description", "goal", "capabilities", "procedure", "output", schema_key],
        "additionalProperties": false,
        "properties": properties,
    })
}

fn target() -> Value {
    json!({
        "type": "object",
        "required": ["role", "prompt"],
        "additionalProperties": false,
        "properties": {
            "role": { "type": "string", "description": "Role name or pseudo-role ($END, $SUSPEND)" },
            "prompt": string(),
            "location": nullable(string()),
        },
    })
}

fn status_map() -> Value {
    json!({ "type": "object", "additionalProperties": target() })
}

fn workflow() -> Value {
    json!({
        "title": "Workflow",
        "type": "object",
        "required": ["name", "description", "roles", "graph"],
        "additionalProperties": false,
        "properties": {
            "name": string(),
            "description": string(),
            "roles": { "type": "object", "additionalProperties": role("frontmatter") },
            "graph": { "type": "object", "additionalProperties": status_map() },
        },
    })
}

fn workflow_with_conditions() -> Value {
    let edge = json!({
        "type": "object",
        "required": ["role", "condition"],
        "additionalProperties": false,
        "properties": {
            "role": string(),
            "condition": nullable(string()),
            "prompt": string(),
            "location": nullable(string()),
        },
    });
    let condition = json!({
        "type": "object",
        "required": ["description", "expression"],
        "additionalProperties": false,
        "properties": { "description": string(), "expression": string() },
    });
    let edges = json!({ "type": "array", "items": edge });
    json!({
        "title": "Workflow",
        "type": "object",
        "required": ["name", "description", "roles", "conditions", "graph"],
        "additionalProperties": false,
        "properties": {
            "name": string(),
            "description": string(),
            "roles": { "type": "object", "additionalProperties": role("meta") },
            "conditions": { "type": "object", "additionalProperties": condition },
            "graph": { "type": "object", "additionalProperties": { "anyOf": [edges, status_map()] } },
        },
    })
}

fn workflow_with_options() -> Value {
    let words = |words: [&str; 2]| json!({ "type": "string", "enum": words });
    let by_role = json!({ "type": "object", "additionalProperties": integer() });
    let mut schema = workflow_with_conditions();
    let role = &mut schema["properties"]["roles"]["additionalProperties"];
    role["properties"]["extract"] = words(["strict", "llm"]);
    schema["properties"]["limits"] = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "maxSteps": integer(),
            "maxVisits": { "anyOf": [integer(), by_role] },
            "maxCostUsd": { "type": "number" },
            "maxTokens": integer(),
            "maxDuration": string(),
            "unknownUsage": words(["suspend", "ignore"]),
        },
    });
    schema["required"] = json!([
        "name",
        "description",
        "roles",
        "conditions",
        "graph",
        "limits"
    ]);
    schema
}

fn start_node() -> Value {
    json!({
        "title": "StartNode",
        "type": "object",
        "required": ["workflow", "prompt", "cwd"],
        "additionalProperties": false,
        "properties": { "workflow": reference(), "prompt": string(), "cwd": string() },
    })
}

fn step_node() -> Value {
    serde_json::from_str(include_str!("schemas/step_node.json")).expect("the file is JSON")
}

/// The schema of [`STEP_NODE`], compiled with the program: compiling it at run time takes longer than all other checks of a
/// step.
#[jsonschema::validator(
    path = "src/schemas/step_node.json",
    draft = Draft7,
    validate_formats = true,
    formats = { "ocas_ref" => ::uwf_schema::is_hash },
    methods = { is_valid = true, validate = false, iter_errors = true }
)]
struct StepNodeSchema;

/// Checks the payload of a [`STEP_NODE`] against its schema.
///
/// # Errors
/// The violations.
pub fn check_step_node(payload: &Value) -> Result<(), Vec<Violation>> {
    if StepNodeSchema::is_valid(payload) {
        return Ok(());
    }
    Err(uwf_schema::explain(StepNodeSchema::iter_errors(payload)))
}

fn turn() -> Value {
    let call = json!({
        "type": "object",
        "required": ["name", "args"],
        "additionalProperties": false,
        "properties": { "name": string(), "args": string() },
    });
    json!({
        "title": "uwf turn",
        "type": "object",
        "required": ["index", "role", "content", "toolCalls", "reasoning"],
        "additionalProperties": false,
        "properties": {
            "index": integer(),
            "role": { "type": "string", "enum": ["assistant", "tool", "user"] },
            "content": string(),
            "toolCalls": nullable(json!({ "type": "array", "items": call })),
            "reasoning": nullable(string()),
        },
    })
}

/// Returns the schema of [`CHECKS_FAILED`].
#[must_use]
pub fn checks_failed() -> Value {
    crate::checks::schema_of_failed(&json!({ "type": "object" }))
}

/// Returns the schema of [`BYTES_PART`].
#[must_use]
pub fn bytes_part() -> Value {
    json!({
        "title": "uwf bytes part",
        "description": "A part of a byte string, in base64 with padding (RFC 4648).",
        "type": "string",
    })
}

/// Returns the schema of [`BYTES`].
#[must_use]
pub fn bytes() -> Value {
    json!({
        "title": "uwf bytes",
        "description": "A byte string: the parts, decoded and put together, are `size` bytes.",
        "type": "object",
        "required": ["size", "parts"],
        "additionalProperties": false,
        "properties": {
            "size": integer(),
            "parts": { "type": "array", "items": reference() },
        },
    })
}

/// Returns the schema of [`TURN_WITH_IDS`].
#[must_use]
pub fn turn_with_ids() -> Value {
    let answers = json!({
        "type": "object",
        "required": ["callId", "outcome"],
        "additionalProperties": false,
        "properties": {
            "callId": string(),
            "outcome": { "type": "string", "enum": ["ok", "error", "refused"] },
        },
    });
    let call = json!({
        "type": "object",
        "required": ["name", "args"],
        "additionalProperties": false,
        "properties": { "name": string(), "args": string(), "id": string() },
    });
    let mut schema = turn();
    schema["properties"]["toolCalls"] = nullable(json!({ "type": "array", "items": call }));
    schema["properties"]["answers"] = answers;
    schema
}

#[cfg(test)]
mod tests {
    use uwf_schema::Validator;

    use super::*;

    fn step() -> Value {
        json!({
            "start": TEXT, "prev": null, "role": "writer", "output": OBJECT, "detail": TURN, "agent": "uwf-mock",
            "edgePrompt": "Write.", "startedAtMs": 1, "completedAtMs": 2, "cwd": "/", "assembledPrompt": TEXT,
        })
    }

    #[test]
    fn a_step_is_compared_as_with_the_schema_that_is_stored() {
        let stored = Validator::new(&step_node()).unwrap();
        let mut refused = 0;
        let mut check = |payload: &Value| {
            let found = check_step_node(payload);
            assert_eq!(found, stored.validate(payload), "{payload}");
            refused += usize::from(found.is_err());
        };
        check(&step());
        let values = json!([
            null,
            true,
            7,
            7.0,
            7.5,
            -1,
            1e300,
            "x",
            DETAIL,
            "cts5p6rd8hmcs",
            [],
            {}
        ]);
        let values = values.as_array().unwrap();
        values.iter().for_each(&mut check);
        let keys: Vec<String> = step().as_object().unwrap().keys().cloned().collect();
        for key in keys.iter().map(String::as_str).chain(["extra"]) {
            let mut payload = step();
            payload.as_object_mut().unwrap().shift_remove(key);
            check(&payload);
            for value in values {
                payload[key] = value.clone();
                check(&payload);
            }
        }
        assert!(refused > 80, "{refused}");
    }
}
