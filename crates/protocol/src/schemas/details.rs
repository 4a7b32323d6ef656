//! The schemas of the details of steps that the agent kit writes. A field that few steps need is in the schema of those only:
//! each set of the older such fields gives a detail a type of its own, so that all others keep theirs. All newer ones are in
//! one more type.

use serde_json::{Value, json};

use super::costs::{CostKind, usage, usage_of_any_cost};
use super::{integer, nullable, reference, string};
use crate::ids::CasRef;
use crate::permissions::Permissions;

/// The type of details without any [`DetailField`]. Its schema is in every store.
pub const DETAIL: CasRef = DETAILS[0];

/// Every type under which the agent kit stores details. The index has a bit for each [`DetailField`], in the order of
/// [`DetailField::ALL`]: a new field comes last, and doubles the list. The schemas of all but the first are put into a store
/// with the first such node.
pub const DETAILS: [CasRef; 1 << DetailField::ALL.len()] = [
    CasRef::from_digits(b"BVC993YSEPJZD"),
    CasRef::from_digits(b"4Y5E30W8Y1322"),
    CasRef::from_digits(b"D9F8DS5HPQXHC"),
    CasRef::from_digits(b"3260ENNN56E55"),
    CasRef::from_digits(b"2HN52HHT1KBNA"),
    CasRef::from_digits(b"4Y2FAPM17PTNZ"),
    CasRef::from_digits(b"FJMATZFN0J2M6"),
    CasRef::from_digits(b"DMWT2JT26RNH2"),
];

/// The type of details with checks, artefacts or permissions. All fields that were added after the [`DetailField`]s are in it.
/// Its schema is put into a store with the first such node.
pub const DETAIL_EXTENDED: CasRef = CasRef::from_digits(b"4DFWMFV8S24A3");

/// Tells whether the agent kit stores details under a type.
#[must_use]
pub fn is_detail(type_hash: CasRef) -> bool {
    type_hash == DETAIL_EXTENDED || DETAILS.contains(&type_hash)
}

fn asked_permission() -> Value {
    let option = json!({
        "type": "object",
        "required": ["id", "name", "kind"],
        "additionalProperties": false,
        "properties": { "id": string(), "name": string(), "kind": string() },
    });
    json!({
        "type": "object",
        "required": ["title", "kind", "input", "options"],
        "additionalProperties": false,
        "properties": {
            "title": string(),
            "kind": string(),
            "input": string(),
            "options": { "type": "array", "items": option },
        },
    })
}

/// Returns the schema of [`DETAIL_EXTENDED`]: every field may be absent that few details have.
#[must_use]
pub fn detail_extended() -> Value {
    let mut schema = DetailField::schema(&DetailField::ALL);
    schema["required"] = detail()["required"].clone();
    schema["properties"]["usage"] = nullable(usage_of_any_cost());
    let artifact = json!({
        "type": "object",
        "required": ["path", "bytes"],
        "additionalProperties": false,
        "properties": {
            "path": string(),
            "bytes": integer(),
            "node": reference(),
            "problem": string(),
        },
    });
    let properties = &mut schema["properties"];
    properties["permissions"] = json!({ "type": "string", "enum": Permissions::WORDS });
    properties["askedPermission"] = asked_permission();
    properties["checks"] = json!({ "type": "array", "items": check_result() });
    properties["artifacts"] = json!({ "type": "array", "items": artifact });
    schema
}

fn check_result() -> Value {
    json!({
        "type": "object",
        "required": ["name", "command", "durationMs", "output"],
        "additionalProperties": false,
        "properties": {
            "name": string(),
            "command": { "type": "array", "items": string() },
            "problem": string(),
            "exitCode": integer(),
            "durationMs": integer(),
            "output": string(),
            "moreOutput": reference(),
        },
    })
}

/// A field of a detail that few steps need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailField {
    /// `refusedCalls`: the tool calls that the agent was not allowed to make.
    RefusedCalls,
    /// `usage.costEstimated`: the cost was computed.
    CostEstimated,
    /// `files`: the snapshots of the repository that the agent worked in.
    Files,
}

impl DetailField {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RefusedCalls, Self::CostEstimated, Self::Files];

    /// Returns every set of fields, in the order of [`DETAILS`].
    #[must_use]
    pub fn sets() -> Vec<Vec<Self>> {
        let sets = 0..DETAILS.len();
        let set = |bits: usize| {
            let present = Self::ALL
                .into_iter()
                .filter(|field| bits & field.bit() != 0);
            present.collect()
        };
        sets.map(set).collect()
    }

    /// Returns the type of details with these fields.
    #[must_use]
    pub fn type_hash(present: &[Self]) -> CasRef {
        DETAILS[present.iter().fold(0, |bits, field| bits | field.bit())]
    }

    /// Returns the schema of details with these fields.
    #[must_use]
    pub fn schema(present: &[Self]) -> Value {
        let mut schema = detail();
        for field in Self::ALL.iter().filter(|field| present.contains(field)) {
            field.add_to(&mut schema);
        }
        schema
    }

    fn bit(self) -> usize {
        1 << self as usize
    }

    fn add_to(self, schema: &mut Value) {
        match self {
            Self::RefusedCalls => {
                let refused = json!({
                    "type": "object",
                    "required": ["tool", "calls"],
                    "additionalProperties": false,
                    "properties": { "tool": string(), "calls": integer() },
                });
                let calls = json!({ "type": "array", "items": refused });
                add_required(schema, "refusedCalls", calls);
            }
            Self::CostEstimated => schema["properties"]["usage"] = usage(CostKind::Estimated),
            Self::Files => {
                let files = json!({
                    "type": "object",
                    "required": ["repository", "before", "after"],
                    "additionalProperties": false,
                    "properties": { "repository": string(), "before": string(), "after": string() },
                });
                add_required(schema, "files", files);
            }
        }
    }
}

fn add_required(schema: &mut Value, field: &str, values: Value) {
    schema["properties"][field] = values;
    if let Some(required) = schema["required"].as_array_mut() {
        required.push(field.into());
    }
}

fn detail() -> Value {
    let extraction = json!({
        "type": "object",
        "required": ["method", "attempts", "model"],
        "additionalProperties": false,
        "properties": {
            "method": { "type": "string", "enum": ["frontmatter", "correction", "llm"] },
            "attempts": integer(),
            "model": nullable(string()),
        },
    });
    json!({
        "title": "uwf detail",
        "type": "object",
        "required": ["agent", "sessionId", "model", "turns", "usage", "extraction", "raw"],
        "additionalProperties": false,
        "properties": {
            "agent": string(),
            "sessionId": nullable(string()),
            "model": nullable(string()),
            "turns": { "type": "array", "items": reference() },
            "usage": nullable(usage(CostKind::Told)),
            "extraction": extraction,
            "raw": reference(),
        },
    })
}
