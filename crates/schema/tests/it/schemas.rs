//! Which schemas are accepted, and which values fit them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_schema::Validator;

const RECORDED: &str = include_str!("../../../../tests/fixtures/schema.jsonl");

/// What we answer where the reference stops with an exception: it knows no format but its own, and
/// `prefixItems` is no keyword of draft-07. Here both are usable.
fn answer_instead_of_exception(schema: &Value) -> bool {
    if schema == &json!({ "type": "string", "format": "email" }) {
        return false; // "x" is no address, and formats of draft-07 are checked
    }
    assert!(schema.get("prefixItems").is_some(), "{schema}");
    true // an annotation says nothing about items
}

#[test]
fn schemas_are_accepted_and_compared_as_by_the_reference() {
    let mut exceptions = 0;
    for line in RECORDED.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let schema = &line["schema"];
        let accepted = uwf_schema::check(schema).is_ok();
        assert_eq!(accepted, line["accepted"], "{line}");
        let Some(valid) = line.get("valid") else {
            continue;
        };
        let expected = valid.as_bool().unwrap_or_else(|| {
            exceptions += 1;
            answer_instead_of_exception(schema)
        });
        let found = Validator::new(schema).unwrap().validate(&line["value"]);
        assert_eq!(found.is_ok(), expected, "{line}: {found:?}");
    }
    assert_eq!(exceptions, 3);
}

#[test]
fn refusals_say_where_and_what_to_write_instead() {
    let check = |schema: Value, message: &str| {
        assert_eq!(uwf_schema::check(&schema).unwrap_err().to_string(), message);
    };
    check(
        json!(true),
        "the schema must be a schema, an object, and is a boolean",
    );
    check(
        json!({ "propertes": {} }),
        "the schema has the keyword `propertes`, which is not supported; did you mean `properties`?",
    );
    check(
        json!({ "properties": { "a/b": { "$ref": "#" } } }),
        "`/properties/a~1b` has the keyword `$ref`, which is not supported; schemas cannot refer to others, write it out in place",
    );
    check(
        json!({ "anyOf": [{}, { "type": ["string", "nul"] }] }),
        "`/anyOf/1/type` names the type `nul`, which does not exist; did you mean `null`?",
    );
    check(
        json!({ "items": { "minLength": "3" } }),
        "`/items/minLength` must be a number, and is a string",
    );
    check(
        json!({ "oneOf": [] }),
        "`/oneOf` must be a list that is not empty, and is an array",
    );
    check(
        json!({ "enum": [] }),
        "`/enum` must be a list that is not empty, and is an array",
    );
    check(
        json!({ "not": false }),
        "`/not` must be a schema, an object, and is a boolean",
    );
    check(
        json!({ "examples": "x" }),
        "`/examples` must be a list, and is a string",
    );
}

#[test]
fn a_schema_that_nothing_can_be_compared_with_is_refused() {
    let check = |schema: Value| {
        let message = uwf_schema::check(&schema).unwrap_err().to_string();
        assert!(message.contains("cannot be used"), "{message}");
    };
    check(json!({ "properties": { "a": { "pattern": "(" } } }));
    check(json!({ "patternProperties": { "(": {} } }));
    check(json!({ "minLength": -1 }));
    check(json!({ "pattern": "((a{1000}){1000}){1000}" }));
}

#[test]
fn numbers_are_compared_as_in_javascript() {
    let check = |schema: Value, value: Value| {
        let found = Validator::new(&schema).unwrap().validate(&value);
        assert!(found.is_ok(), "{schema} {value}: {found:?}");
    };
    check(json!({ "type": "integer" }), json!(1.0));
    check(json!({ "type": "integer" }), json!(-0.0));
    check(json!({ "type": "integer" }), json!(1e300));
    check(json!({ "enum": [1] }), json!(1.0));
    check(json!({ "const": 1.0 }), json!(1));
    check(json!({ "multipleOf": 0.1 }), json!(0.5));
}

#[test]
fn hostile_patterns_return_quickly() {
    let text = "a".repeat(50_000) + "!";
    for pattern in [
        "^(a+)+$",
        "^(a|aa)+$",
        "^(?=(a+)+$)",
        r"^(a*)*\1$",
        r"^(.*)(.*)(.*)\1\2\3x$",
    ] {
        let validator = Validator::new(&json!({ "pattern": pattern })).unwrap();
        let start = Instant::now();
        assert!(validator.validate(&json!(text)).is_err(), "{pattern}");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(1), "{pattern}: {took:?}");
    }
}

#[test]
fn schemas_as_deep_as_the_store_allows_can_be_used() {
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "items": inner }));
    let deep = nested(255);
    uwf_schema::check(&deep).unwrap();
    assert!(
        Validator::new(&deep)
            .unwrap()
            .validate(&json!([[[1]]]))
            .is_ok()
    );
    let message = uwf_schema::check(&nested(256)).unwrap_err().to_string();
    assert_eq!(message, "the schema is nested deeper than 256 levels");
}
