//! The test suite of JSON Schema, case by case; see `tests/fixtures/suites/README.md`.

use std::collections::BTreeMap;

use serde_json::Value;
use uwf_schema::{Validator, check};

const SUITE: &str = include_str!("../../../../tests/fixtures/suites/json-schema-draft7.jsonl");

/// How many schemas of each part are refused, since they use what is not on the list of keywords (`$ref`,
/// `definitions`, `$id`), or the schemas `true` and `false` where an object must be.
const REFUSED: [(&str, usize); 18] = [
    ("additionalItems", 11),
    ("allOf", 3),
    ("anyOf", 3),
    ("boolean_schema", 2),
    ("contains", 3),
    ("definitions", 1),
    ("dependencies", 7),
    ("if-then-else", 2),
    ("infinite-loop-detection", 1),
    ("items", 6),
    ("not", 2),
    ("oneOf", 5),
    ("patternProperties", 1),
    ("properties", 1),
    ("propertyNames", 2),
    ("ref", 34),
    ("refRemote", 11),
    ("uniqueItems", 4),
];

#[test]
fn values_fit_the_schemas_that_are_accepted_as_in_the_suite() {
    let mut refused = BTreeMap::new();
    let mut differing = Vec::new();
    let mut count = 0;
    for line in SUITE.lines() {
        let group: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        if check(&group["schema"]).is_err() {
            *refused.entry(text(&group["part"])).or_insert(0) += 1;
            continue;
        }
        let validator = Validator::new(&group["schema"]).unwrap();
        for test in group["tests"].as_array().unwrap() {
            count += 1;
            if validator.validate(&test[1]).is_ok() != test[2] {
                differing.push((text(&group["part"]), text(&group["name"]), text(&test[0])));
            }
        }
    }
    assert_eq!(
        differing,
        Vec::new(),
        "all others are compared as the suite says"
    );
    let listed = REFUSED.map(|(part, count)| (part.to_owned(), count));
    assert_eq!(refused, BTreeMap::from(listed));
    assert_eq!(count, 627);
}
