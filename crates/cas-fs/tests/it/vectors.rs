//! Bytes and hashes are those of the reference program, for everything that it is known to have written.

use std::fs;

use crate::support::{
    file, fixture_lines, fixture_text, hash, names, reference_store, store, unhex,
};
use serde_json::Value;
use uwf_cas_fs::{Verdict, cbor, hash_of};
use uwf_protocol::schemas::META;

#[test]
fn every_vector_encodes_hashes_and_decodes_alike() {
    let mut infinite = 0;
    let text = fixture_text("cas.jsonl");
    for line in text.lines() {
        if line.contains("Infinity") {
            infinite += 1;
            infinity_is_refused(line);
            continue;
        }
        let vector: Value = serde_json::from_str(line).unwrap();
        let bytes = unhex(vector["cbor_hex"].as_str().unwrap());
        let payload = &vector["payload"];
        assert_eq!(cbor::encode(payload).unwrap(), bytes, "{line}");
        let decoded = cbor::decode(&bytes).unwrap();
        assert_eq!(cbor::encode(&decoded).unwrap(), bytes, "{line}");
        let type_hash = vector["type"].as_str().map(hash);
        let found = hash_of(type_hash, payload).unwrap();
        assert_eq!(found.as_str(), vector["hash"], "{line}");
    }
    assert_eq!(text.lines().count(), 415);
    assert_eq!(infinite, 3);
}

/// JavaScript has infinite numbers and JSON does not, so we neither write nor read them.
fn infinity_is_refused(line: &str) {
    let hex = line.split("\"cbor_hex\": \"").nth(1).unwrap();
    let bytes = unhex(&hex[..hex.find('"').unwrap()]);
    assert!(cbor::decode(&bytes).is_err(), "{line}");
}

#[test]
fn the_first_nodes_of_a_store_have_the_hashes_of_the_reference() {
    let bootstrap: Value = serde_json::from_str(&fixture_text("bootstrap.json")).unwrap();
    for (digits, schema) in bootstrap["schemas"].as_object().unwrap() {
        let type_hash = (hash(digits) != META).then_some(META);
        assert_eq!(
            hash_of(type_hash, schema).unwrap().as_str(),
            digits,
            "{schema}"
        );
    }
    let (_dir, store) = store();
    for name in ["workflow", "startNode", "stepNode", "text"] {
        let digits = bootstrap["uwf_schemas"][name].as_str().unwrap();
        assert_eq!(
            store.get(hash(digits)).unwrap().payload,
            bootstrap["schemas"][digits],
            "{name}"
        );
    }
    for name in [
        "schema", "string", "number", "integer", "boolean", "object", "array", "null",
    ] {
        let digits = bootstrap["aliases"][format!("@ocas/{name}")]
            .as_str()
            .unwrap();
        assert_eq!(
            store.get(hash(digits)).unwrap().payload,
            bootstrap["schemas"][digits],
            "{name}"
        );
    }
}

#[test]
fn a_store_of_the_reference_reads_and_verifies() {
    let (_dir, store) = reference_store();
    let nodes = fixture_lines("store/nodes.jsonl");
    for line in &nodes {
        let node = store.get(hash(line["hash"].as_str().unwrap())).unwrap();
        assert_eq!(node.type_hash.as_str(), line["node"]["type"]);
        assert_eq!(node.payload, line["node"]["payload"]);
        assert_eq!(
            node.timestamp_ms,
            line["node"]["timestamp"].as_i64().unwrap()
        );
    }
    let all = store.all().unwrap();
    assert_eq!(all.len(), nodes.len());
    let mut misfits = store.verify(&all).unwrap();
    misfits.retain(|verified| verified.verdict != Verdict::Ok);
    // The reference stores what agents hand in without comparing it with the schema of their role.
    let misfits: Vec<String> = misfits
        .iter()
        .map(|verified| format!("{} {:?}", verified.hash, verified.verdict))
        .collect();
    let expected = [
        r#"3TSMCGWRY9TQ4 Invalid { reason: "`/note` must be a string, and is 5" }"#,
        r#"3VV93KP0NTR7E Invalid { reason: "`/note` must be a string, and is null" }"#,
        r#"5T5Q69D5Q01V9 Invalid { reason: "`/flag` must be a boolean, and is \"yes\"; `/items/1` must be a string, and is 1" }"#,
        r#"7T5T8QMTH7M0H Invalid { reason: "`/$status` must be \"ok\" or \"ask\" or \"bad\", and is \"weird\"" }"#,
        r#"86NGR7K18BQB5 Invalid { reason: "lacks the key `$status`" }"#,
        r#"A40AGMAAJPYDP Invalid { reason: "`/verdict` must be a string, and is 5" }"#,
    ];
    assert_eq!(misfits, expected);
}

#[test]
fn nodes_written_again_have_the_same_files_and_index() {
    let (_dir, reference) = reference_store();
    let (_dir, ours) = store();
    for line in fixture_lines("store/nodes.jsonl") {
        let digits = line["hash"].as_str().unwrap();
        let node = &line["node"];
        if hash(digits) == META || ours.has(hash(digits)).unwrap() {
            continue;
        }
        let type_hash = hash(node["type"].as_str().unwrap());
        let timestamp_ms = node["timestamp"].as_i64().unwrap();
        let stored = ours.put(type_hash, &node["payload"], timestamp_ms).unwrap();
        assert_eq!(stored.as_str(), digits);
        let bytes = fs::read(file(&ours, stored)).unwrap();
        assert_eq!(
            bytes,
            fs::read(file(&reference, stored)).unwrap(),
            "{digits}"
        );
    }
    assert_eq!(
        names(&ours.dir().join("_index")),
        names(&reference.dir().join("_index"))
    );
    let meta = fs::read_to_string(ours.dir().join("_index/_meta")).unwrap();
    assert_eq!(meta, "CTS5P6RD8HMCS\n");
}
