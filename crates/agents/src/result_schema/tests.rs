//! Result schemas of roles, and results that survive the way through an answer's text.

use proptest::collection::{hash_map, vec};
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::Number;

use super::*;

fn review() -> Value {
    json!({ "oneOf": [
        { "properties": { "$status": { "const": "approved" }, "summary": { "type": "string" } },
          "required": ["$status", "summary"] },
        { "properties": { "$status": { "const": "rejected" }, "reason": { "type": "string" } },
          "required": ["$status", "reason"] },
    ] })
}

fn result_schema(schema: &Value) -> ResultSchema {
    ResultSchema::new(schema).unwrap()
}

#[test]
fn the_parameters_are_the_fields_of_all_variants() {
    let result_schema = result_schema(&review());
    let parameters = result_schema.parameters();
    assert_eq!(
        parameters["properties"]["status"],
        json!({ "enum": ["approved", "rejected", "$SUSPEND"] })
    );
    assert_eq!(parameters["required"], json!(["status", "body"]));
    let names: Vec<&String> = parameters["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["status", "summary", "reason", "body"]);
    assert!(
        result_schema
            .explain()
            .contains("`status` stands for `$status`")
    );
}

#[test]
fn names_that_no_endpoint_takes_get_others_that_are_free() {
    let schema = json!({ "properties": {
        "status": {}, "$status": { "type": "string" }, "body": {}, "größe in mm": {},
    }, "required": ["body"] });
    let result_schema = result_schema(&schema);
    let names: Vec<&str> = result_schema
        .names
        .iter()
        .map(|(parameter, _)| parameter.as_str())
        .collect();
    assert_eq!(
        names,
        ["status", "status2", "body", "gr__e_in_mm", "reason"]
    );
    let answer = result_schema
        .answer(
            &json!({ "status": "a", "status2": 1, "body": 2, "body2": "Text", "gr__e_in_mm": 3 }),
        )
        .unwrap();
    let extracted = result_schema.schema.extract(&answer).unwrap();
    let expected = json!({ "$status": "a", "status": 1, "body": 2, "größe in mm": 3 });
    assert_eq!(
        (extracted.output, extracted.body.as_str()),
        (expected, "Text")
    );
}

#[test]
fn a_result_that_does_not_fit_is_told_in_the_words_of_the_schema() {
    let result_schema = result_schema(&review());
    let check = |value: Value, part: &str| {
        let problem = result_schema.answer(&value).unwrap_err();
        assert!(problem.contains(part), "{problem}");
    };
    check(json!({ "status": "approved", "body": "" }), "summary");
    check(json!({ "status": "done", "summary": "s" }), "status");
    check(json!({ "status": "$SUSPEND", "reason": " " }), "reason");
    check(json!([]), "object");
    for good in [
        json!({ "status": "approved", "summary": "s", "reason": null, "body": null }),
        json!({ "$status": "approved", "summary": "s" }),
        json!({ "status": "$SUSPEND", "reason": "Which one?" }),
    ] {
        let answer = result_schema.answer(&good).unwrap();
        assert!(answer.starts_with("---\n$status: "), "{answer}");
    }
}

#[test]
fn any_role_can_suspend_although_its_schema_has_no_status() {
    let result_schema =
        result_schema(&json!({ "properties": { "n": { "type": "integer" } }, "required": ["n"] }));
    let answer = result_schema
        .answer(&json!({ "status": "$SUSPEND", "reason": "Why?" }))
        .unwrap();
    assert_eq!(
        result_schema.schema.extract(&answer).unwrap().output["reason"],
        "Why?"
    );
    assert_eq!(result_schema.parameters()["required"], json!(["n", "body"]));
}

#[test]
fn text_counts_as_an_answer_only_with_front_matter() {
    let result_schema = result_schema(&review());
    assert_eq!(result_schema.check_text("I am done."), None);
    assert_eq!(result_schema.check_text("Look:\n\n---\n\nwell"), None);
    assert_eq!(
        result_schema.check_text("---\n$status: approved\nsummary: s\n---\n"),
        Some(Ok(()))
    );
    assert!(matches!(
        result_schema.check_text("---\n$status: approved\n---\n"),
        Some(Err(_))
    ));
    assert!(matches!(
        result_schema.check_text("---\nnever closed"),
        Some(Err(_))
    ));
}

/// Texts that look like something else to YAML, or to who looks for fences.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        vec(
            prop_oneof![
                Just("---"),
                Just("\n"),
                Just("\r\n"),
                Just("\t"),
                Just(" "),
                Just("- "),
                Just(": "),
                Just("#"),
                Just("0123"),
                Just("true"),
                Just("null"),
                Just("1e9"),
                Just("'"),
                Just("\""),
                Just("|"),
                Just("```"),
                Just("\u{feff}"),
                Just("\u{85}"),
                Just("\u{2028}"),
                Just("~"),
                Just("{a}"),
                Just("..."),
                Just("x"),
            ],
            0..12,
        )
        .prop_map(|parts| parts.concat()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        // Integers that a double holds: others stay text where no number is asked for.
        any::<i64>().prop_map(|n| Value::from(n >> 11)),
        // A number without a fraction is the same node with and without its point.
        any::<f64>().prop_filter_map("has a fraction", |n| {
            let number = Number::from_f64(n).filter(|_| n.fract() != 0.0);
            number.map(Value::Number)
        }),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::Array),
            hash_map(text(), inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A schema that asks for texts, lists of texts, a number, a flag, and anything.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "$status": { "type": "string" },
            "text": { "type": "string" },
            "texts": { "type": "array", "items": { "type": "string" } },
            "number": { "type": "number" },
            "flag": { "type": "boolean" },
            "any": {},
        },
        "required": ["text", "texts", "number", "flag", "any"],
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() })]
    #[test]
    fn every_result_survives_as_text(
        (one, several, integer, flag, anything, body) in
            (text(), vec(text(), 0..4), any::<i32>(), any::<bool>(), value(), text())
    ) {
        let result = json!({
            "status": "done", "text": one, "texts": several, "number": integer, "flag": flag, "any": anything,
            "body": body,
        });
        let result_schema = result_schema(&schema());
        let answer = result_schema.answer(&result).unwrap();
        let extracted = result_schema.schema.extract(&answer).unwrap();
        for name in ["text", "texts", "number", "flag", "any"] {
            prop_assert_eq!(&extracted.output[name], &result[name], "{} in {}", name, answer);
        }
        let plain = |text: &str| text.trim_start_matches(['\r', '\n', ' ', '\t']).to_owned();
        prop_assert_eq!(plain(&extracted.body), plain(&body));
    }
}
