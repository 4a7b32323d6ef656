//! Answers of agents: front matter is found or refused, and what is taken from it fits the role's schema.

use std::sync::LazyLock;

use serde_json::json;
use uwf_agent_kit::extract::RoleSchema;
use uwf_protocol::ids::CasRef;
use uwf_util::front_matter;

static ROLES: LazyLock<[RoleSchema; 2]> = LazyLock::new(|| {
    let roles = [
        json!({
            "type": "object",
            "properties": {
                "note": { "type": "string" },
                "count": { "type": "integer" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "nested": { "type": "object", "properties": { "a": { "type": "boolean" } } },
            },
            "required": ["note"],
        }),
        json!({
            "oneOf": [
                { "properties": { "$status": { "const": "accepted" } }, "required": ["$status"] },
                { "properties": { "$status": { "const": "rejected" }, "reason": { "type": "string" } },
                  "required": ["$status", "reason"] },
            ],
        }),
    ];
    roles.map(|schema| RoleSchema::new(CasRef::from_u64(1), schema).expect("a sound schema"))
});

/// Takes the bytes as an answer.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    let answer = crate::text(data);
    if let Ok(parts) = front_matter::split(&answer) {
        assert!(answer.ends_with(parts.body), "the body is the rest");
        assert!(parts.line >= 1, "lines are counted from 1");
    }
    for role in ROLES.iter() {
        if let Ok(extracted) = role.extract(&answer) {
            assert!(extracted.output.is_object(), "the output is an object");
            let suspends = extracted.output["$status"] == "$SUSPEND";
            if !suspends {
                let again = role.take(extracted.output.clone(), &answer);
                let again = again.expect("what was taken fits the schema");
                assert_eq!(again.output, extracted.output);
            }
        }
    }
}
