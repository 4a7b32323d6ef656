//! Decides whether an endpoint can enforce a schema (`strict`). Pure.
//!
//! Endpoints that enforce a schema support only a part of JSON Schema, and refuse the whole request otherwise.

use serde_json::Value;
use uwf_schema::Schema;

/// The keywords that endpoints can enforce.
const KEYWORDS: [&str; 11] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "description",
    "title",
    "$schema",
];

/// Tells whether a schema can be enforced: an object that requires all its fields and allows no others, and the same
/// for every object in it.
pub(super) fn can_be_strict(schema: &Value) -> bool {
    let schema = Schema::new(schema);
    schema.get("anyOf").is_none() && is_object(schema) && is_strict(schema)
}

fn is_strict(schema: Schema<'_>) -> bool {
    let Some(keywords) = schema.value().as_object() else {
        return false;
    };
    let known = keywords.keys().all(|key| KEYWORDS.contains(&key.as_str()));
    known
        && (!is_object(schema) || is_closed(schema))
        && schema.schema("items").is_none_or(is_strict)
        && schema.schemas("anyOf").all(is_strict)
}

fn is_object(schema: Schema<'_>) -> bool {
    match schema.types() {
        Some(names) => names.contains(&"object"),
        None => schema.get("properties").is_some(),
    }
}

fn is_closed(schema: Schema<'_>) -> bool {
    let is_sound = |(name, member)| schema.requires(name) && is_strict(member);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("properties").is_some()
        && schema.properties().all(is_sound)
}

#[cfg(test)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "literals read better without `&`"
)]
mod tests {
    use super::*;
    use serde_json::json;

    fn closed(properties: Value) -> Value {
        let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({ "type": "object", "required": names, "properties": properties, "additionalProperties": false })
    }

    #[test]
    fn closed_objects_can_be_enforced() {
        let check = |schema: Value| assert!(can_be_strict(&schema), "{schema}");
        check(closed(json!({ "a": { "type": "string" } })));
        check(closed(
            json!({ "a": { "type": "array", "items": closed(json!({ "b": { "enum": ["x"] } })) } }),
        ));
        check(closed(
            json!({ "a": { "anyOf": [{ "type": "string" }, { "type": "null" }] } }),
        ));
    }

    #[test]
    fn other_schemas_cannot_be_enforced() {
        let check = |schema: Value| assert!(!can_be_strict(&schema), "{schema}");
        check(json!({}));
        check(json!({ "type": "string" }));
        check(json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] }));
        check(
            json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }),
        );
        check(json!({ "oneOf": [closed(json!({}))] }));
        check(closed(
            json!({ "a": { "type": "string", "format": "uri" } }),
        ));
        check(closed(json!({ "a": { "type": "object" } })));
    }
}
