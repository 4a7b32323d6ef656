//! The schemas of nodes that tell a cost, beside the details of the agent kit. Each comes in two types: a cost that was
//! computed is marked, and the mark is in the schema of such nodes only. Each schema is put into a store with the first node
//! of its type.

use serde_json::{Value, json};
use uwf_util::amount::dollars;

use super::children::ended_child;
use super::{integer, nullable, reference, string};
use crate::ids::CasRef;

/// How a cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostKind {
    /// All of it was told, or nothing is known.
    Told,
    /// At least a part of it was computed from tokens and prices.
    Estimated,
}

/// Verdicts on threads, by the kind of their cost.
pub const VERDICTS: [CasRef; 2] = [
    CasRef::from_digits(b"C1Y3WGBHJ6XG6"),
    CasRef::from_digits(b"5BTHR5Y2JGS06"),
];
/// Summaries of threads.
pub const SUMMARIES: [CasRef; 2] = [
    CasRef::from_digits(b"EM885TP5M6WPX"),
    CasRef::from_digits(b"2SC7B0B2YPQG1"),
];
/// The details of steps that child threads did.
pub const DETAILS_OF_CHILDREN: [CasRef; 2] = [
    CasRef::from_digits(b"7XW481CXM8KXN"),
    CasRef::from_digits(b"BM9E8ACQ0S6J8"),
];
/// How visits of the steps of pipelines went.
pub const VISITS: [CasRef; 2] = [
    CasRef::from_digits(b"A7D2SV79510Q6"),
    CasRef::from_digits(b"4S7J1MWSG8A1B"),
];

impl CostKind {
    /// Both of them, in the order of the types.
    pub const ALL: [Self; 2] = [Self::Told, Self::Estimated];

    /// Returns the kind that the mark `costEstimated` stands for.
    #[must_use]
    pub fn of(estimated: bool) -> Self {
        match estimated {
            true => Self::Estimated,
            false => Self::Told,
        }
    }

    /// Returns how the cost in a sum is known, which is the payload of a [`Used`](crate::limits::Used) or null.
    #[must_use]
    pub fn in_sum(sum: &Value) -> Self {
        Self::of(sum["costEstimated"] == true)
    }

    /// Returns a cost for people, such as `$0.02`, or `~$0.02` if it is estimated.
    #[must_use]
    pub fn show(self, usd: f64) -> String {
        match self {
            Self::Told => dollars(usd),
            Self::Estimated => format!("~{}", dollars(usd)),
        }
    }

    /// Returns the type of verdicts with such a cost, and its schema.
    #[must_use]
    pub fn verdict(self) -> (CasRef, Value) {
        let schema = json!({
            "title": "uwf verdict",
            "description": "What a model says about a thread at a head: whether it goes on, and why.",
            "type": "object",
            "required": ["head", "decision", "reason", "model", "usage"],
            "additionalProperties": false,
            "properties": {
                "head": reference(),
                "decision": { "type": "string", "enum": ["continue", "suspend"] },
                "reason": string(),
                "model": string(),
                "usage": usage(self),
            },
        });
        (VERDICTS[self as usize], schema)
    }

    /// Returns the type of summaries with such a cost, and its schema.
    #[must_use]
    pub fn summary(self) -> (CasRef, Value) {
        let schema = json!({
            "title": "uwf summary",
            "description": "What a model says about what has happened in a thread up to a head.",
            "type": "object",
            "required": ["head", "text", "model", "usage"],
            "additionalProperties": false,
            "properties": {
                "head": reference(),
                "text": string(),
                "model": string(),
                "usage": usage(self),
            },
        });
        (SUMMARIES[self as usize], schema)
    }

    /// Returns the type of the details of steps that children did at such a cost, and its schema.
    #[must_use]
    pub fn detail_of_children(self) -> (CasRef, Value) {
        let schema = json!({
            "title": "uwf child threads",
            "type": "object",
            "required": ["children", "used"],
            "additionalProperties": false,
            "properties": {
                "children": { "type": "array", "items": ended_child() },
                "used": used(self),
            },
        });
        (DETAILS_OF_CHILDREN[self as usize], schema)
    }

    /// Returns the type of visits with such a cost, and its schema.
    #[must_use]
    pub fn visit(self) -> (CasRef, Value) {
        let log = json!({
            "type": "object",
            "required": ["stream", "run_id", "path", "bytes"],
            "properties": {
                "stream": string(),
                "run_id": string(),
                "path": string(),
                "bytes": integer(),
                "text": reference(),
            },
        });
        let schema = json!({
            "title": "uwf visit of a step of a pipeline",
            "type": "object",
            "required": ["visit"],
            "properties": {
                "visit": integer(),
                "argv": { "type": "array", "items": string() },
                "logs": { "type": "array", "items": log },
                "children": { "type": "array", "items": ended_child() },
                "used": used(self),
            },
        });
        (VISITS[self as usize], schema)
    }
}

/// Returns the schema of what a model used up.
pub(super) fn usage(cost: CostKind) -> Value {
    let count = || nullable(integer());
    let mut schema = json!({
        "type": "object",
        "required": [
            "inputTokens", "outputTokens", "cachedTokens", "turns", "costUsd", "durationMs"
        ],
        "additionalProperties": false,
        "properties": {
            "inputTokens": count(),
            "outputTokens": count(),
            "cachedTokens": count(),
            "turns": count(),
            "costUsd": nullable(json!({ "type": "number" })),
            "durationMs": count(),
        },
    });
    if cost == CostKind::Estimated {
        mark(&mut schema);
        schema["properties"]["cacheWriteTokens"] = integer();
    }
    schema
}

/// Returns the schema of what a model used up, whose cost may be told or estimated.
pub(super) fn usage_of_any_cost() -> Value {
    let mut schema = usage(CostKind::Estimated);
    schema["required"] = usage(CostKind::Told)["required"].clone();
    schema
}

/// Returns the schema of what threads used up.
fn used(cost: CostKind) -> Value {
    let mut schema = json!({
        "type": "object",
        "required": [
            "runs", "costUsd", "costUnknown", "tokens", "tokensUnknown", "durationMs",
            "durationUnknown"
        ],
        "additionalProperties": false,
        "properties": {
            "runs": integer(),
            "costUsd": { "type": "number" },
            "costUnknown": integer(),
            "tokens": integer(),
            "tokensUnknown": integer(),
            "durationMs": integer(),
            "durationUnknown": integer(),
            "childSteps": integer(),
        },
    });
    if cost == CostKind::Estimated {
        mark(&mut schema);
    }
    schema
}

fn mark(schema: &mut Value) {
    schema["properties"]["costEstimated"] = json!({ "type": "boolean" });
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("costEstimated".into());
    }
}
