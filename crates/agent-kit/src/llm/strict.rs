//! Whether a schema can be enforced by an endpoint to the letter. Pure.
//!
//! Endpoints that enforce a schema take a part of JSON Schema only, and refuse the whole request otherwise.

use serde_json::Value;

/// What may stand in a schema that is enforced.
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

/// Tells whether a schema can be enforced: an object whose fields are all required, with no others allowed, and
/// so on in depth.
pub(super) fn can_be_strict(schema: &Value) -> bool {
    schema.get("anyOf").is_none() && is_object(schema) && is_strict(schema)
}

fn is_strict(schema: &Value) -> bool {
    let Some(keywords) = schema.as_object() else {
        return false;
    };
    let known = keywords.keys().all(|key| KEYWORDS.contains(&key.as_str()));
    let choices = schema.get("anyOf").and_then(Value::as_array);
    known
        && (!is_object(schema) || is_closed(schema))
        && schema.get("items").is_none_or(is_strict)
        && choices.into_iter().flatten().all(is_strict)
}

fn is_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => schema.get("properties").is_some(),
    }
}

fn is_closed(schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|list| list.iter().any(|it| it == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_some_and(|properties| {
            properties
                .iter()
                .all(|(name, property)| is_required(name) && is_strict(property))
        })
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
    fn all_else_cannot() {
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
