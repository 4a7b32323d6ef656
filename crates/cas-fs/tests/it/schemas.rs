//! Which schemas are stored, under which hashes, and which payloads fit them.

use crate::support::{NOW, fixture_lines, hash, store};
use serde_json::json;
use uwf_cas_fs::cbor::MAX_DEPTH;
use uwf_cas_fs::{StoreError, hash_of};
use uwf_protocol::schemas::{META, START_NODE, TEXT};

#[test]
fn schemas_have_the_hashes_of_the_reference() {
    for line in fixture_lines("schema.jsonl") {
        // One schema was written with a member that was `undefined`, which JSON cannot say.
        if let Some(digits) = line["hash"]
            .as_str()
            .filter(|digits| *digits != "2FBDCWKZS31PD")
        {
            assert_eq!(
                hash_of(Some(META), &line["schema"]).unwrap().as_str(),
                digits,
                "{line}"
            );
        }
    }
}

#[test]
fn every_schema_that_is_accepted_can_be_stored() {
    assert_eq!(uwf_schema::MAX_DEPTH, MAX_DEPTH);
}

#[test]
fn the_store_compares_payloads_on_request_only() {
    let (_dir, store) = store();
    let start = json!({ "workflow": "0000000000000", "prompt": "hi", "cwd": "/tmp" });
    let stored = store.put_checked(START_NODE, &start, NOW).unwrap();
    assert_eq!(stored.as_str(), "3GV2EBFFMDP2H");

    let wrong = json!({ "workflow": "nope", "prompt": 1 });
    let Err(StoreError::Invalid { violations, .. }) = store.put_checked(START_NODE, &wrong, NOW)
    else {
        panic!("a payload that does not fit was stored");
    };
    assert_eq!(violations.len(), 3, "{violations:?}");
    assert!(
        !store
            .has(hash_of(Some(START_NODE), &wrong).unwrap())
            .unwrap()
    );
    store.put(START_NODE, &wrong, NOW).unwrap();
}

#[test]
fn only_schemas_are_stored_as_schemas_and_used_as_types() {
    let (_dir, store) = store();
    let refused = store.put_schema(&json!({ "$ref": "#" }), NOW).unwrap_err();
    assert!(matches!(refused, StoreError::NotASchema(_)), "{refused}");
    let refused = store
        .put_checked(META, &json!({ "nullable": true }), NOW)
        .unwrap_err();
    assert!(matches!(refused, StoreError::NotASchema(_)), "{refused}");
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "age": { "type": "number" } },
        "required": ["name"],
        "additionalProperties": false,
    });
    let person = store.put_schema(&schema, NOW).unwrap();
    assert_eq!(person, hash("FRBAB1BF0ZBCS"));
    let alice = store
        .put_checked(person, &json!({ "name": "Alice", "age": 30 }), NOW)
        .unwrap();
    assert_eq!(alice, hash("9W3MGR3184QYE"));

    let text = store.put(TEXT, &json!("hello"), NOW).unwrap();
    let refused = store.put_checked(text, &json!(1), NOW).unwrap_err();
    assert!(
        matches!(refused, StoreError::UnusableSchema { .. }),
        "{refused}"
    );
    let refused = store
        .put_checked(hash("ZZZZZZZZZZZZZ"), &json!(1), NOW)
        .unwrap_err();
    assert!(matches!(refused, StoreError::NotFound { .. }), "{refused}");
}
