//! The test suite of JSONata, case by case; see `tests/fixtures/suites/README.md`. It is run on the evaluator itself:
//! conditions tell only whether something holds.

use std::collections::HashMap;

use jsonata_core::evaluator::{Context, Evaluator, EvaluatorOptions};
use jsonata_core::parser;
use jsonata_core::value::JValue;
use serde_json::Value;

const SUITE: &str = include_str!("../../../../tests/fixtures/suites/jsonata.jsonl");

/// Cases with another answer here, and why.
const DIFFERENCES: [(&str, &str); 3] = [
    (
        "function-millis/case001",
        "the case has no result that could be compared",
    ),
    (
        "function-string/case002",
        "large numbers are written as JavaScript does, `1e+100`, which the package's copy of the suite does not expect",
    ),
    ("function-string/case007", "the same: `1e+21`"),
];

fn evaluate(case: &Value, data: &JValue) -> Result<JValue, String> {
    let expression = case["expr"].as_str().expect("a text");
    let parsed = parser::parse(expression).map_err(|error| error.to_string())?;
    let mut context = Context::new();
    for (name, value) in case["bindings"].as_object().into_iter().flatten() {
        context.bind(name.clone(), JValue::from(value.clone()));
    }
    let options = EvaluatorOptions {
        timeout_ms: Some(case["timelimit"].as_u64().unwrap_or(10_000)),
        max_stack_depth: case["depth"]
            .as_u64()
            .and_then(|depth| depth.try_into().ok()),
        max_sequence_length: Some(10_000_000),
        cancel: None,
    };
    Evaluator::with_options(context, options)
        .evaluate(&parsed, data)
        .map_err(|error| error.message().to_owned())
}

fn is_as_expected(case: &Value, data: &JValue) -> bool {
    let found = evaluate(case, data);
    match (case.get("result"), found) {
        (Some(expected), Ok(found)) => {
            let found = serde_json::to_value(&found).unwrap_or_default();
            let (mut found, mut expected) = (plain(&found), plain(expected));
            if case["unordered"] == true {
                for list in [&mut found, &mut expected] {
                    let Value::Array(items) = list else { continue };
                    items.sort_by_key(ToString::to_string);
                }
            }
            found == expected
        }
        (None, Ok(found)) => case["undefined"] == true && found.is_undefined(),
        (None, Err(_)) => case.get("error").is_some(),
        (Some(_), Err(_)) => false,
    }
}

/// Returns a value in which equal numbers are written alike.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.clone(), plain(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

#[test]
fn expressions_are_answered_as_in_the_suite_or_differ_as_listed() {
    let mut data = HashMap::new();
    let mut differing = Vec::new();
    let mut count = 0;
    for line in SUITE.lines() {
        let mut case: Value = serde_json::from_str(line).unwrap();
        if let Some(content) = case.get_mut("data").map(Value::take)
            && let Some(name) = case["dataset"].as_str()
        {
            data.insert(name.to_owned(), content);
            continue;
        }
        let case: Value = serde_json::from_str(line).unwrap();
        let input = match case["dataset"].as_str() {
            Some(name) => Some(&data[name]),
            None => case.get("data"),
        };
        let input = input.cloned().map_or(JValue::Undefined, JValue::from);
        count += 1;
        if !is_as_expected(&case, &input) {
            differing.push(case["name"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(count, 1575);
    assert_eq!(differing, DIFFERENCES.map(|(name, _)| name.to_owned()));
}
