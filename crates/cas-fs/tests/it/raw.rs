//! Nodes that travel between stores.

use std::fs;

use serde_json::json;
use uwf_cas_fs::{RawNode, Store, StoreError};
use uwf_protocol::schemas::{META, TEXT};

use crate::support::{NOW, file, reference_store, store};

/// A store with a node that refers to another one, and both as they travel, the child first.
fn sent() -> (tempfile::TempDir, Store, [RawNode; 3]) {
    let (dir, store) = store();
    let schema = json!({ "type": "object", "properties": { "of": { "type": "string", "format": "ocas_ref" } } });
    let schema = store.put_schema(&schema, NOW).unwrap();
    let child = store.put(TEXT, &json!("child"), NOW + 1).unwrap();
    let parent = store
        .put(schema, &json!({ "of": child, "n": 1.5 }), NOW + 2)
        .unwrap();
    let raw = [schema, child, parent].map(|hash| store.export(hash).unwrap());
    (dir, store, raw)
}

#[test]
fn an_imported_node_is_the_same_node() {
    let (_here, from, raw) = sent();
    let (_there, to) = store();
    let [schema, child, parent] = &raw;
    assert_eq!((schema.type_hash, &schema.refs), (META, &vec![]));
    assert_eq!((child.timestamp_ms, &child.refs), (NOW + 1, &vec![]));
    assert_eq!(parent.refs, [child.hash]);
    for _ in 0..2 {
        to.import(&raw, NOW + 9).unwrap();
    }
    for node in &raw {
        let files = [&from, &to].map(|store| fs::read(file(store, node.hash)).unwrap());
        assert_eq!(files[0], files[1]);
        assert_eq!(to.export(node.hash).unwrap(), *node);
    }
    assert_eq!(to.of_type(schema.hash).unwrap(), [parent.hash]);
}

#[test]
fn every_node_of_a_store_can_travel() {
    let (_here, from) = reference_store();
    let there = tempfile::tempdir().unwrap();
    let to = Store::open(there.path());
    let all = from.all().unwrap();
    let raw: Vec<RawNode> = all.iter().map(|hash| from.export(*hash).unwrap()).collect();
    to.import(&raw, NOW).unwrap();
    assert_eq!(to.all().unwrap(), all);
    for hash in all {
        assert_eq!(to.get(hash).unwrap(), from.get(hash).unwrap());
        assert_eq!(to.refs(hash).unwrap(), from.refs(hash).unwrap());
    }
}

#[test]
fn a_node_with_a_wrong_hash_is_not_imported() {
    let (_here, _from, [schema, child, parent]) = sent();
    let (_there, to) = store();
    let before = to.all().unwrap();
    let changed = |change: &dyn Fn(&mut RawNode)| {
        let mut node = parent.clone();
        change(&mut node);
        node
    };
    let bad = [
        changed(&|node| node.hash = child.hash),
        changed(&|node| node.type_hash = TEXT),
        changed(&|node| node.payload[0] ^= 1),
        changed(&|node| node.payload.push(0)),
        changed(&|node| node.payload.clear()),
        changed(&|node| node.payload.truncate(node.payload.len() - 1)),
    ];
    for node in bad {
        let nodes = [schema.clone(), child.clone(), node];
        let refused = to.import(&nodes, NOW).unwrap_err();
        assert!(
            matches!(&refused, StoreError::NotTheNode { hash, .. } if *hash == nodes[2].hash),
            "{refused}"
        );
        assert_eq!(to.all().unwrap(), before);
    }
}

#[test]
fn an_imported_node_that_is_there_already_keeps_its_time_and_becomes_young() {
    let (_here, _from, [schema, child, parent]) = sent();
    let (_there, to) = store();
    let nodes = [schema, child, parent];
    to.import(&nodes, NOW).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    let path = file(&to, nodes[1].hash);
    fs::File::open(&path).unwrap().set_modified(old).unwrap();
    let later = RawNode {
        timestamp_ms: 7,
        ..nodes[1].clone()
    };
    to.import(&[later], NOW).unwrap();
    assert_eq!(to.get(nodes[1].hash).unwrap().timestamp_ms, NOW + 1);
    let used = to.used_ms(nodes[1].hash).unwrap().unwrap();
    assert!(used > 1000, "{used}");
}
