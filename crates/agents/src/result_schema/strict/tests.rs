//! Strict forms, and what becomes of results that have them.

use super::*;

fn check(schema: &Value, expected: &Value) {
    assert_eq!(closed(schema).as_ref(), Some(expected), "{schema}");
}

#[test]
fn an_object_requires_all_its_fields_and_those_that_may_be_absent_can_be_null() {
    check(
        &json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "pattern": "^x", "description": "An a." },
                "b": { "type": "integer", "minimum": 3 },
                "c": { "type": ["string", "null"] },
                "d": { "enum": ["x", null] },
            },
            "required": ["a"],
        }),
        &json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "description": "An a." },
                "b": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                "c": { "type": ["null", "string"] },
                "d": { "type": ["null", "string"], "enum": ["x", null] },
            },
            "required": ["a", "b", "c", "d"],
            "additionalProperties": false,
        }),
    );
}

#[test]
fn objects_and_choices_within_are_closed_too() {
    check(
        &json!({ "type": "array", "items": { "oneOf": [
            { "properties": { "kind": { "const": "file" } }, "required": ["kind"] },
            { "type": "number" },
        ] } }),
        &json!({ "type": "array", "items": { "anyOf": [
            {
                "type": "object",
                "properties": { "kind": { "type": "string", "enum": ["file"] } },
                "required": ["kind"],
                "additionalProperties": false,
            },
            { "type": "number" },
        ] } }),
    );
}

#[test]
fn what_the_strict_form_cannot_say_has_none() {
    for schema in [
        json!({}),
        json!({ "type": "object" }),
        json!({ "type": "array" }),
        json!({ "type": "array", "items": {} }),
        json!({ "type": "array", "items": { "type": "string" }, "prefixItems": [] }),
        json!({ "enum": [["a"]] }),
        json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "properties": { "a": { "not": { "type": "null" } } } }),
        json!({ "type": "string", "anyOf": [{ "type": "string" }] }),
        json!({ "allOf": [{ "type": "string" }] }),
    ] {
        assert_eq!(closed(&schema), None, "{schema}");
    }
    let nested = |levels: usize| {
        let list = |items, _| json!({ "type": "array", "items": items });
        (1..levels).fold(json!({ "type": "string" }), list)
    };
    assert!(closed(&nested(LEVELS)).is_some());
    assert_eq!(closed(&nested(LEVELS + 1)), None);
}

#[test]
fn a_role_that_allows_any_field_cannot_be_closed() {
    let check = |role: Value, expected: bool| {
        assert_eq!(can_be_closed(&role), expected, "{role}");
    };
    let properties = json!({ "a": { "type": "string" } });
    check(json!({ "properties": properties }), true);
    check(json!({ "type": "object" }), false);
    for other in [
        json!({ "properties": properties, "additionalProperties": true }),
        json!({ "properties": properties, "patternProperties": { "^x": {} } }),
    ] {
        check(other, false);
    }
}

#[test]
fn a_null_is_taken_out_where_the_schema_allows_none() {
    let schema = json!({ "properties": {
        "a": { "type": "string" },
        "b": { "type": ["string", "null"] },
        "list": { "type": "array", "items": { "properties": { "c": { "type": "integer" } } } },
    } });
    let given =
        json!({ "a": null, "b": null, "unknown": null, "list": [{ "c": null }, { "c": 1 }] });
    let kept = without_forced_nulls(given.as_object().unwrap(), &[Schema::new(&schema)]);
    assert_eq!(
        Value::Object(kept),
        json!({ "b": null, "list": [{}, { "c": 1 }] })
    );
}
